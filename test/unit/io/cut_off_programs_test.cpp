// output_of(), cut off by whatever may ask, alone and through any combinator: the result says so, and no child is left.
#include <coflux/io/output_of.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <coflux/coflux.hpp>

#include "children.hpp"
#include "support/limits.hpp"

namespace {

using namespace std::chrono_literals;
using coflux_test::combinator;
using coflux_test::limit;
using coflux_test::operation;
using coflux_test::words;
using task = coflux_test::worker_task;

/// At last: that this process has no child. It does not take the end of one from those that wait for it.
coflux::call<bool> none_is_left(coflux::environment&) {
    for (int i = 0; i != 10'000; ++i) {
        siginfo_t end{};
        if (::waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) != 0) co_return errno == ECHILD;
        co_await 1ms;
    }
    co_return false;
}

/// Takes the stop of what it is given as an outcome: that says it.
bool gives_outcome(std::size_t through) {
    const auto c = static_cast<combinator>(through);
    return c == combinator::as_outcome || c == combinator::when_all_outcomes;
}

/// output_of() of `command`, which `by` cuts off after a while; `through` a combinator, or alone where none has that
/// number.
coflux::call<bool> finishes(coflux::environment&, words command, limit by, std::size_t through,
                            std::chrono::nanoseconds after) {
    auto&& here = co_await coflux::context();
    operation o = operation::of([&] { return coflux::output_of(here, command); });
    if (through != coflux_test::combinators)
        o = coflux_test::combined(static_cast<combinator>(through), std::move(o), false);
    co_return co_await coflux_test::finishes<coflux::worker_executor>(here, std::move(o), by, after);
}

template <typename F>
coflux::call<void> each(coflux::environment&, F expect) {
    auto&& here = co_await coflux::context();
    for (std::size_t by = 0; by != coflux_test::limits; ++by) {
        for (std::size_t through = 0; through <= coflux_test::combinators; ++through) {
            std::string name = std::string(", by ") + coflux_test::name_of(static_cast<limit>(by));
            if (through != coflux_test::combinators)
                name = std::string(", ") + coflux_test::name_of(static_cast<combinator>(through)) + name;
            co_await expect(here, static_cast<limit>(by), through, name);
        }
    }
}

task are_cut_off(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await each(here,
                  [](coflux::environment&, limit by, std::size_t through, std::string name) -> coflux::call<void> {
                      auto&& in = co_await coflux::context();
                      // Mostly before there is a program, and when there is one.
                      for (const std::chrono::nanoseconds after : {0ms, 10ms}) {
                          const bool finished = co_await finishes(in, words{"sleep", "1000"}, by, through, after);
                          EXPECT_TRUE(!finished || gives_outcome(through)) << "output_of" << name;
                          const bool none = co_await none_is_left(in);
                          EXPECT_TRUE(none) << "output_of" << name;
                      }
                  });
}
TEST(cut_off_programs, say_so_and_leave_no_child_through_any_combinator) {
    coflux_test::on_a_worker(are_cut_off);
}

task end_in_time(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await each(here,
                  [](coflux::environment&, limit by, std::size_t through, std::string name) -> coflux::call<void> {
                      auto&& in = co_await coflux::context();
                      if (by == limit::owner) co_return;  // it waits until its request
                      const bool finished = co_await finishes(in, words{"true"}, by, through, 1h);
                      EXPECT_TRUE(finished) << "output_of" << name;
                  });
}
TEST(cut_off_programs, are_finished_where_the_limit_comes_later) {
    coflux_test::on_a_worker(end_in_time);
}

}  // namespace
