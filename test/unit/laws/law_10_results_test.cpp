// Law 10, lifetimes by type: what is taken out of a result that is a temporary outlives it. So
// `for (auto& line : *co_await timeout(lines(here), 1s))` goes through lines that are alive.
#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using lines = std::vector<std::string>;

template <typename Result>
using content = decltype(*std::declval<Result>());
template <typename Result>
using value = decltype(std::declval<Result>().value());

static_assert(std::is_same_v<content<coflux::limited<lines>>, lines>);
static_assert(std::is_same_v<value<coflux::limited<lines>>, lines>);
static_assert(std::is_same_v<content<coflux::outcome<lines>>, lines>);
static_assert(std::is_same_v<value<coflux::outcome<lines>>, lines>);
static_assert(std::is_same_v<content<coflux::io_result<lines>>, lines>);
static_assert(std::is_same_v<value<coflux::io_result<lines>>, lines>);
static_assert(std::is_same_v<content<coflux::broadcast_message<lines>>, lines>);
static_assert(std::is_same_v<value<coflux::indexed<lines>>, lines>);
static_assert(std::is_same_v<decltype(std::declval<coflux::select_result<int, lines>>().get<1>()), lines>);
static_assert(std::is_same_v<decltype(coflux::get<1>(std::declval<coflux::select_result<int, lines>>())), lines>);

// A referent of the operation is elsewhere.
static_assert(std::is_same_v<content<coflux::limited<lines&>>, lines&>);
static_assert(std::is_same_v<content<coflux::outcome<lines&>>, lines&>);
static_assert(std::is_same_v<value<coflux::indexed<lines&>>, lines&>);

// A result that has a name keeps its value.
static_assert(std::is_same_v<content<coflux::limited<lines>&>, lines&>);
static_assert(std::is_same_v<content<const coflux::limited<lines>&>, const lines&>);
static_assert(std::is_same_v<content<coflux::io_result<lines>&>, lines&>);
static_assert(std::is_same_v<content<const coflux::io_result<lines>&>, const lines&>);
static_assert(std::is_same_v<content<coflux::broadcast_message<lines>&>, lines&>);

coflux::call<lines> reads(coflux::environment&) {
    co_await coflux::yield();
    co_return lines{"a line that is too long to lie in a string itself", "and another one that is, too"};
}

coflux::task<std::size_t, coflux::worker_executor> counts(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::size_t all = 0;
    for (const std::string& line : *co_await coflux::timeout(reads(here), std::chrono::hours(1))) all += line.size();
    for (const std::string& line : *co_await coflux::as_result(reads(here))) all += line.size();
    for (const std::string& line : *co_await coflux::as_outcome(reads(here))) all += line.size();
    auto&& [first, second] =
        *co_await coflux::timeout(coflux::when_all(reads(here), reads(here)), std::chrono::hours(1));
    for (const lines& read : {first, second}) {
        for (const std::string& line : read) all += line.size();
    }
    for (const std::string& line :
         coflux::get<0>(co_await coflux::select(reads(here), coflux::sleep_for(std::chrono::hours(1)))))
        all += line.size();
    co_return all;
}

TEST(law_10_results, are_alive_as_long_as_what_is_taken_out_of_them) {
    coflux::worker_executor on;
    auto env = coflux::make_environment(on);
    EXPECT_EQ(counts(env).get(), 6 * (49U + 28U));
}

}  // namespace
