#include <coflux/scope/with_scope.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/failing_resource.hpp>

#include "../combine/contenders.hpp"
#include "../core/stage.hpp"
#include "support/gate.hpp"

namespace {

using namespace coflux_test;
using coflux::borrowed;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;

coflux::fork<void, hand> adds_after(coflux::environment&, int yields, borrowed<int> sum, int n) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    *sum += n;
}

/// No stop point.
struct foreign_pause {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const { h.resume(); }
    void await_resume() const noexcept {}
};

/// Looks at what it borrows until it is stopped, and once more while its locals die.
coflux::fork<void, hand> looks_until_stopped(coflux::environment&, borrowed<std::unique_ptr<int>> at) {
    struct last_look {
        std::unique_ptr<int>& at;
        ~last_look() { ++*at; }
    } const local{*at};
    for (;;) {
        ++**at;
        co_await coflux::yield();
    }
}

TEST(with_scope, gives_what_the_block_gives_after_all_children_have_ended) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        int sum = 0;
        const std::string given = co_await coflux::with_scope(here, [&](auto& scope) -> coflux::call<std::string> {
            scope.spawn(adds_after, 5, borrowed(sum), 1);
            adds_after(scope, 3, borrowed(sum), 10).attach();
            auto kept = adds_after(scope, 4, borrowed(sum), 100);
            co_await adds_after(scope, 0, borrowed(sum), 1000);
            co_return "given";
        });
        EXPECT_EQ(given, "given");
        EXPECT_EQ(sum, 1111);
    }(s.env));
}

coflux::call<int> block_with_a_name(coflux::task_scope&) {
    co_return 9;
}

TEST(with_scope, takes_any_form_of_block_and_gives_any_kind_of_value) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        int sum = 0;
        auto named = [&, owned = std::make_unique<int>(7)](coflux::task_scope& scope) -> coflux::call<int> {
            scope.spawn(adds_after, 1, borrowed(sum), *owned);
            co_return *owned;
        };
        EXPECT_EQ(co_await coflux::with_scope(here, named), 7);
        EXPECT_EQ(co_await coflux::with_scope(here, std::as_const(named)), 7);
        EXPECT_EQ(sum, 14);
        const int eight = co_await coflux::with_scope(
            here, [owned = std::make_unique<int>(8)](auto&&) -> coflux::call<int> { co_return *owned; });
        EXPECT_EQ(eight, 8);
        EXPECT_EQ(co_await coflux::with_scope(here, block_with_a_name), 9);
        int& same = co_await coflux::with_scope(here, [&](coflux::environment& scope) -> coflux::call<int&> {
            co_await adds_after(scope, 1, borrowed(sum), 1);
            co_return sum;
        });
        EXPECT_EQ(&same, &sum);
        auto moved = co_await coflux::with_scope(
            here, [](auto&&) -> coflux::call<std::unique_ptr<int>> { co_return std::make_unique<int>(3); });
        EXPECT_EQ(*moved, 3);
        const auto plain = [&](coflux::task_scope& scope) {
            return [](coflux::environment&, int n) -> coflux::call<int> { co_return n; }(scope, sum);
        };
        EXPECT_EQ(co_await coflux::with_scope(here, plain), 15);
    }(s.env));
}

TEST(with_scope, stops_and_joins_its_children_before_an_exception_of_the_block_goes_on) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        auto outside = std::make_unique<int>(0);
        bool waited = false;
        try {
            co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
                auto kept = looks_until_stopped(scope, borrowed(outside));
                scope.spawn(looks_until_stopped, borrowed(outside));
                scope.spawn(fails_when_stopped, "other");
                co_await coflux::yield();
                waited = true;
                throw std::runtime_error("parse error");
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "parse error");
            EXPECT_EQ(coflux::other_errors().size(), 1U);
        }
        EXPECT_TRUE(waited);
        EXPECT_FALSE(here.stop_requested());
        outside.reset();
        co_await coflux::yield();
    }(s.env));
}

TEST(with_scope, stops_block_and_children_at_the_first_error_of_a_child) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        try {
            co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<int> {
                const mortal local(*log, "block");
                scope.spawn(runs_until_stopped, log, "child");
                scope.spawn(fails_after, 2, "first");
                for (;;) co_await coflux::yield();
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
        }
        log->write("after");
        co_await coflux::yield();
        log->write("not stopped");
    }(s.env, &j));
    ASSERT_EQ(j.lines().size(), 4U);
    EXPECT_EQ(j.lines()[2], "after");
    EXPECT_EQ(j.lines()[3], "not stopped");
}

coflux::fork<int, hand> throws_after(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    throw std::runtime_error("failed");
}
/// All handles of when_all and when_all_outcomes are awaited, whichever of them they have come to.
TEST(with_scope, is_not_stopped_by_an_error_that_a_combinator_waits_for_in_any_order) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        for (const bool fails_first : {true, false}) {
            co_await coflux::with_scope(here, [fails_first](coflux::task_scope& in) -> coflux::call<void> {
                std::vector<coflux::fork<int, hand>> both;
                both.push_back(fails_first ? throws_after(in, 2) : gives_after(in, 9, 9));
                both.push_back(fails_first ? gives_after(in, 9, 9) : throws_after(in, 2));
                auto outcomes = co_await coflux::when_all_outcomes(std::move(both));
                EXPECT_TRUE(outcomes[fails_first ? 0 : 1].has_error());
                EXPECT_EQ(outcomes[fails_first ? 1 : 0].value(), 9);
            });
            int sum = 0;
            try {
                co_await coflux::with_scope(here, [&, fails_first](coflux::task_scope& in) -> coflux::call<void> {
                    auto adds = adds_after(in, 9, borrowed(sum), 1);
                    if (fails_first) {
                        co_await coflux::when_all(throws_after(in, 2), std::move(adds));
                    } else {
                        co_await coflux::when_all(std::move(adds), throws_after(in, 2));
                    }
                });
                ADD_FAILURE() << "no error";
            } catch (const std::runtime_error&) {
                EXPECT_EQ(coflux::other_errors().size(), 0U);
            }
            EXPECT_EQ(sum, 1);
        }
    }(s.env));
}

TEST(with_scope, throws_the_errors_in_the_order_in_which_they_came) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        try {
            co_await coflux::with_scope(here, [](coflux::task_scope& scope) -> coflux::call<int> {
                scope.spawn(fails_after, 0, "child");
                const auto token = co_await coflux::this_coroutine::stop_token();
                while (!token.stop_requested()) co_await foreign_pause();
                throw std::runtime_error("block");
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "child");
        }
    }(s.env));
}

TEST(with_scope, gives_up_when_the_block_handled_the_error_that_stopped_it_and_says_which) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        try {
            co_await coflux::with_scope(here, [](coflux::task_scope& scope) -> coflux::call<int> {
                auto failing = fails_after(scope, 0, "handled late");
                co_await ends_after(scope, 3);
                ADD_FAILURE() << "goes on";
                co_return co_await std::move(failing);
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "handled late");
        }
        bool requested = false;
        try {
            co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
                auto failing = fails_after(scope, 0, "handled");
                const auto token = co_await coflux::this_coroutine::stop_token();
                while (!failing.done()) co_await foreign_pause();
                EXPECT_TRUE(token.stop_requested());
                EXPECT_TRUE((co_await coflux::as_outcome(std::move(failing))).has_error());
                requested = true;
                co_await coflux::yield();
                ADD_FAILURE() << "not stopped";
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "handled");
        }
        EXPECT_TRUE(requested);
    }(s.env));
}

TEST(with_scope, that_collects_is_stopped_by_no_child_but_by_its_block) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        try {
            co_await coflux::with_scope(here, coflux::collect_all,
                                        [&](coflux::task_scope& scope) -> coflux::call<void> {
                                            scope.spawn(fails_after, 0, "child");
                                            co_await ends_after(scope, 3);
                                            log->write("block ends");
                                        });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "child");
        }
        try {
            co_await coflux::with_scope(here, coflux::collect_all,
                                        [&](coflux::task_scope& scope) -> coflux::call<void> {
                                            scope.spawn(runs_until_stopped, log, "child");
                                            co_await coflux::yield();
                                            throw std::runtime_error("block");
                                        });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "block");
        }
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"block ends", "child dies"}));
}

TEST(with_scope, unwinds_when_it_is_stopped_after_its_children_have_ended) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto fork = [](coflux::environment&, journal* to) -> coflux::fork<void, hand> {
            auto&& self = co_await coflux::context();
            const mortal outside(*to, "outside");
            co_await coflux::with_scope(self, [&](coflux::task_scope& scope) -> coflux::call<void> {
                const mortal inside(*to, "block");
                scope.spawn(runs_until_stopped, to, "child");
                for (;;) co_await coflux::yield();
            });
            ADD_FAILURE() << "goes on";
        }(here, log);
        for (int i = 0; i < 5; ++i) co_await coflux::yield();
        fork.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(fork))).is_stopped());
    }(s.env, &j));
    ASSERT_EQ(j.lines().size(), 3U);
    EXPECT_EQ(j.lines()[2], "outside dies");
}

TEST(with_scope, whose_block_stops_stops_its_children_and_can_be_had_as_an_outcome) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        const auto stops_itself = [&](coflux::task_scope& scope) -> coflux::call<int> {
            scope.spawn(runs_until_stopped, log, "child");
            co_await coflux::yield();
            co_await coflux::this_coroutine::stop();
            co_return 0;
        };
        const auto ended = co_await coflux::as_outcome(coflux::with_scope(here, stops_itself));
        EXPECT_TRUE(ended.is_stopped());
        const int given = co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<int> {
            scope.spawn(runs_until_stopped, log, "other");
            co_await coflux::yield();
            scope.request_stop();
            co_return 5;
        });
        EXPECT_EQ(given, 5);
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"child dies", "other dies"}));
}

TEST(with_scope, is_stopped_by_what_it_is_given_to) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        const auto for_ever = [&](coflux::task_scope& scope) -> coflux::call<int> {
            scope.spawn(runs_until_stopped, log, "child");
            for (;;) co_await coflux::yield();
        };
        const auto winner = co_await coflux::when_any(coflux::with_scope(here, for_ever), gives_after(here, 3, 1));
        EXPECT_EQ(winner.index(), 1U);
        log->write("decided");
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"child dies", "decided"}));
}

TEST(with_scope, nests) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        int sum = 0;
        try {
            co_await coflux::with_scope(here, [&](auto& outer) -> coflux::call<void> {
                outer.spawn(adds_after, 2, borrowed(sum), 1);
                co_await coflux::with_scope(outer, [&](auto& inner) -> coflux::call<void> {
                    outer.spawn(adds_after, 9, borrowed(sum), 100);
                    inner.spawn(adds_after, 3, borrowed(sum), 10);
                    co_return;
                });
                EXPECT_EQ(sum, 11);
                throw std::runtime_error("outer");
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error&) {
            EXPECT_EQ(sum, 11);
        }
    }(s.env));
}

TEST(with_scope, takes_two_frames_and_leaves_nothing_where_one_cannot_be_had) {
    for (std::size_t fails = 0; fails < 3; ++fails) {
        coflux::counting_resource frames;
        coflux::testing::failing_resource memory(&frames);
        hand ex;
        auto env = coflux::make_environment(&memory, ex);
        auto task = [](coflux::environment&, coflux::testing::failing_resource* from, std::size_t at) -> root {
            auto&& here = co_await coflux::context();
            const std::size_t before = from->requests();
            from->fail_at(at);
            bool begun = false;
            try {
                co_await coflux::with_scope(here, [&](auto&) -> coflux::call<void> {
                    begun = true;
                    co_return;
                });
                EXPECT_EQ(at, 0U);
                EXPECT_EQ(from->requests() - before, 2U);
            } catch (const std::bad_alloc&) {
                EXPECT_EQ(from->requests() - before, at);
                EXPECT_FALSE(begun);
            }
        }(env, &memory, fails);
        ex.run_all();
        task.get();
    }
}

}  // namespace
