// Law 11 for each combinator: a handle that names no coroutine, or is given twice, is a checked error that names the
// argument.
#include <chrono>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using namespace std::chrono_literals;
using noop = coflux::noop_executor;
using number = coflux::fork<int, noop>;
using forks = std::vector<number>;

number one(coflux::environment&) {
    co_return 1;
}
/// One that has ended, in a handle, and one that was moved from.
struct handles {
    number full;
    number empty;

    explicit handles(coflux::environment& here) : full(one(here)), empty(one(here)) {
        number(std::move(empty)).attach();
    }
    forks range() && {
        forks both;
        both.push_back(std::move(full));
        both.push_back(std::move(empty));
        return both;
    }
};

/// Never ends.
number waits(coflux::environment&) {
    coflux::manual_reset_event never;
    co_await never.wait();
    co_return 1;
}

template <typename F>
coflux::task<void, noop> root(coflux::environment&, F f) {
    auto&& here = co_await coflux::context();
    co_await f(here, handles(here));
}
template <typename F>
void consumes(F f) {
    auto env = coflux::make_environment(noop{});
    root(env, f).get();
}

#define COFLUX_EXPECT_REFUSED(message, ...)                                                \
    EXPECT_DEATH(consumes([](coflux::environment& here, handles h) -> coflux::call<void> { \
                     (void)here;                                                           \
                     __VA_ARGS__;                                                          \
                     co_return;                                                            \
                 }),                                                                       \
                 message)

TEST(empty_handles_matrix_death, each_combinator_names_the_argument) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    COFLUX_EXPECT_REFUSED("when_all: argument 2 is a handle that was awaited, moved from or attached",
                          (void)co_await coflux::when_all(std::move(h.full), std::move(h.empty)));
    COFLUX_EXPECT_REFUSED("when_all_outcomes: argument 1 is a handle",
                          (void)co_await coflux::when_all_outcomes(std::move(h.empty), std::move(h.full)));
    COFLUX_EXPECT_REFUSED("when_any: argument 2 is a handle",
                          (void)co_await coflux::when_any(coflux::yield(), std::move(h.empty)));
    COFLUX_EXPECT_REFUSED("race: argument 1 is a handle", (void)co_await coflux::race(std::move(h.empty)));
    COFLUX_EXPECT_REFUSED("first_success: argument 2 is a handle",
                          (void)co_await coflux::first_success(std::move(h.full), std::move(h.empty)));
    COFLUX_EXPECT_REFUSED("timeout: argument 1 is a handle", (void)co_await coflux::timeout(std::move(h.empty), 1s));
    COFLUX_EXPECT_REFUSED("deadline: argument 1 is a handle",
                          (void)co_await coflux::deadline(std::move(h.empty), coflux::clock::now() + 1s));
    COFLUX_EXPECT_REFUSED("select: argument 2 is a handle",
                          (void)co_await coflux::select(std::move(h.full), std::move(h.empty)));
}

TEST(empty_handles_matrix_death, each_combinator_of_a_range_names_the_element) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    COFLUX_EXPECT_REFUSED("when_all: element 2 is a handle", (void)co_await coflux::when_all(std::move(h).range()));
    COFLUX_EXPECT_REFUSED("when_all_outcomes: element 2 is a handle",
                          (void)co_await coflux::when_all_outcomes(std::move(h).range()));
    COFLUX_EXPECT_REFUSED("when_any: element 2 is a handle", (void)co_await coflux::when_any(std::move(h).range()));
    COFLUX_EXPECT_REFUSED("when_n: element 2 is a handle", (void)co_await coflux::when_n(std::move(h).range(), 1));
    COFLUX_EXPECT_REFUSED(
        "for_each_concurrent: the result for element 2 is a handle",
        co_await coflux::for_each_concurrent(std::move(h).range(), 2, [](number&& f) { return std::move(f); }));
    COFLUX_EXPECT_REFUSED("spawn: the result of argument 1 is a handle", coflux::task_scope scope(here);
                          scope.spawn([&h](coflux::environment&) { return std::move(h.empty); }));
}

TEST(empty_handles_matrix_death, an_empty_element_is_named_before_an_older_one_is_waited_for) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    COFLUX_EXPECT_REFUSED("when_all: element 1 is a handle", forks range; range.push_back(std::move(h.empty));
                          range.push_back(waits(here)); (void)co_await coflux::when_all(std::move(range)));
    COFLUX_EXPECT_REFUSED("when_all_outcomes: element 2 is a handle", forks range; range.push_back(std::move(h.full));
                          range.push_back(std::move(h.empty)); range.push_back(waits(here));
                          (void)co_await coflux::when_all_outcomes(std::move(range)));
}

TEST(empty_handles_matrix_death, the_same_handle_twice_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    COFLUX_EXPECT_REFUSED("when_all: argument 1 is a handle that is given a second time",
                          (void)co_await coflux::when_all(std::move(h.full), std::move(h.full)));
    COFLUX_EXPECT_REFUSED("race: argument 2 is a handle that is given a second time",
                          (void)co_await coflux::race(one(here), std::move(h.full), std::move(h.full)));
}

}  // namespace
