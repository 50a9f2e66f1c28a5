// Results whose type says that it can be copied, and cannot: a container of what only moves, and a class that has one.
#include <coflux/core/detail/promise/end.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using owners = std::vector<std::unique_ptr<int>>;

struct page {
    std::string name;
    owners parts;
};
static_assert(std::is_copy_constructible_v<owners> && std::is_copy_constructible_v<page>);

owners one_owner() {
    owners made;
    made.push_back(std::make_unique<int>(7));
    return made;
}
template <typename T>
T made() {
    if constexpr (std::is_same_v<T, page>) {
        return page{"a name that is too long to be kept in place", one_owner()};
    } else {
        return one_owner();
    }
}
bool is_whole(const owners& x) {
    return x.size() == 1 && *x[0] == 7;
}
bool is_whole(const page& x) {
    return x.name.size() > 20 && is_whole(x.parts);
}

template <typename T>
coflux::fork<T, pool> forked(coflux::environment&) {
    co_await coflux::yield();
    co_return made<T>();
}
template <typename T>
coflux::call<T> called(coflux::environment&) {
    co_return made<T>();
}

template <typename T>
coflux::task<T, pool> takes_it_in_every_way(coflux::environment&) {
    auto&& here = co_await coflux::context();
    T plain = co_await forked<T>(here);
    EXPECT_TRUE(is_whole(plain));
    auto outcome = co_await coflux::as_outcome(forked<T>(here));
    EXPECT_TRUE(is_whole(std::move(outcome).value()));
    auto [all, of_a_call] = co_await coflux::when_all(forked<T>(here), called<T>(here));
    EXPECT_TRUE(is_whole(all) && is_whole(of_a_call));
    auto outcomes = co_await coflux::when_all_outcomes(forked<T>(here));
    EXPECT_TRUE(is_whole(std::get<0>(std::move(outcomes)).value()));
    auto any = co_await coflux::when_any(forked<T>(here), coflux::sleep_for(1h));
    EXPECT_TRUE(is_whole(std::get<0>(any)));
    std::vector<coflux::fork<T, pool>> forks;
    forks.push_back(forked<T>(here));
    auto first = co_await coflux::timeout(coflux::when_n(std::move(forks), 1), 1h);
    EXPECT_TRUE(first && is_whole((*first)[0].value()));
    auto limited = co_await coflux::timeout(forked<T>(here), 1h);
    EXPECT_TRUE(limited && is_whole(*limited));
    auto chosen = co_await coflux::select(forked<T>(here), coflux::sleep_for(1h));
    EXPECT_TRUE(is_whole(get<0>(chosen)));
    co_return plain;
}

TEST(copied_result, is_not_copied_where_there_are_neither_views_nor_callbacks) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    EXPECT_TRUE(is_whole(takes_it_in_every_way<owners>(env).get()));
    EXPECT_TRUE(is_whole(takes_it_in_every_way<page>(env).get()));
}

coflux::fork<std::string, pool> text(coflux::environment&) {
    co_return "a text that is too long to be kept in place";
}

TEST(copied_result, stays_with_its_views) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto one = text(here);
        const auto view = one.view();
        const std::string copy = co_await std::move(one);
        auto two = text(here);
        const auto other = two.view();
        auto outcome = co_await coflux::as_outcome(std::move(two));
        EXPECT_EQ(copy, std::move(outcome).value());
        EXPECT_EQ(co_await view, copy);
        EXPECT_EQ(co_await other, copy);
    }(env)
                                    .get();
}

}  // namespace
