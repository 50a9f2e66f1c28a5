#include <coflux/core/fork_view.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "by_hand.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::by_hand;
using coflux_test::foreign_event;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::root_by_hand;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

static_assert(std::is_copy_constructible_v<coflux::fork_view<int>>);

template <typename F>
concept can_be_viewed = requires(const F& f) { f.view(); };
static_assert(can_be_viewed<coflux::fork<int, noop>>);
static_assert(can_be_viewed<coflux::fork<void, noop>>);
static_assert(can_be_viewed<coflux::fork<int&, noop>>);
static_assert(!can_be_viewed<coflux::fork<move_only, noop>>);

coflux::fork<std::string, manual_executor> text_after(coflux::environment&, foreign_event* go) {
    co_await *go;
    co_return std::string(100, 'x');
}

coflux::fork<const std::string*, manual_executor> reads(coflux::environment&, coflux::fork_view<std::string> v,
                                                        journal* j, const char* name) {
    const std::string& text = co_await v;
    EXPECT_EQ(text.size(), 100U);
    j->write(name);
    co_return &text;
}

TEST(fork_view, several_readers_see_the_same_object_in_the_order_in_which_they_waited) {
    by_hand s;
    s.play([](coflux::environment&, foreign_event* e, journal* log) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = text_after(here, e);
        auto view = f.view();
        auto a = reads(here, view, log, "a");
        auto b = reads(here, view, log, "b");
        auto c = reads(here, view, log, "c");
        auto [x, y, z] = co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
        EXPECT_EQ(x, y);
        EXPECT_EQ(y, z);
        EXPECT_TRUE(view.done());
    }(s.env, &s.go, &s.log));
    EXPECT_EQ(s.log.lines(), (lines{"a", "b", "c"}));
}

TEST(fork_view, still_has_the_value_after_the_handle_was_awaited) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        constexpr auto give = [](coflux::environment&) -> coflux::fork<std::string, noop> {
            co_return std::string(100, 'x');
        };
        auto f = give(here);
        const auto view = f.view();
        const std::string taken = co_await std::move(f);
        EXPECT_EQ(taken.size(), 100U);
        EXPECT_EQ((co_await view).size(), 100U);

        auto g = give(here);
        const auto other = g.view();
        auto o = co_await coflux::as_outcome(std::move(g));
        EXPECT_EQ(std::move(o).value().size(), 100U);
        EXPECT_EQ((co_await other).size(), 100U);
    }(env)
                                    .get();
}

TEST(fork_view, the_handle_may_be_awaited_while_views_wait) {
    by_hand s;
    s.play([](coflux::environment&, foreign_event* e, journal* log) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = text_after(here, e);
        auto a = reads(here, f.view(), log, "a");
        const std::string text = co_await std::move(f);
        EXPECT_EQ(text.size(), 100U);
        (void)co_await std::move(a);
    }(s.env, &s.go, &s.log));
}

TEST(fork_view, keeps_the_value_after_the_handle_died) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        constexpr auto view_of = [](coflux::environment& e) {
            return [](coflux::environment&) -> coflux::fork<std::string, noop> { co_return "kept"; }(e).view();
        };
        auto view = view_of(here);
        auto copy = view;
        const auto moved = std::move(view);
        EXPECT_EQ(co_await copy, "kept");
        EXPECT_EQ(co_await moved, "kept");
    }(env)
                                    .get();
}

TEST(fork_view, of_a_reference_or_of_nothing_gives_that) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        int target = 1;
        auto r = [](coflux::environment&, int* t) -> coflux::fork<int&, noop> { co_return *t; }(here, &target);
        int& referred = co_await r.view();
        EXPECT_EQ(&referred, &target);
        auto v = [](coflux::environment&) -> coflux::fork<void, noop> { co_return; }(here);
        co_await v.view();
    }(env)
                                    .get();
}

TEST(fork_view, of_a_stopped_fork_stops_each_reader) {
    by_hand s;
    s.play([](coflux::environment&, foreign_event* e, journal* log) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&, foreign_event* event) -> coflux::fork<std::string, manual_executor> {
            co_await *event;
            co_await coflux::this_coroutine::stop();
            co_return "";
        }(here, e);
        auto a = reads(here, f.view(), log, "a went past");
        auto b = reads(here, f.view(), log, "b went past");
        auto x = co_await coflux::as_outcome(std::move(a));
        auto y = co_await coflux::as_outcome(std::move(b));
        auto late = co_await coflux::as_outcome(reads(here, f.view(), log, "late went past"));
        EXPECT_TRUE(x.is_stopped());
        EXPECT_TRUE(y.is_stopped());
        EXPECT_TRUE(late.is_stopped());
    }(s.env, &s.go, &s.log));
    EXPECT_EQ(s.log.lines(), lines{});
}

TEST(fork_view, a_reader_that_is_stopped_before_it_waits_does_not_wait) {
    by_hand s;
    auto root = [](coflux::environment&, foreign_event* e, journal* log) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = text_after(here, e);
        auto reader = reads(here, f.view(), log, "went past");
        reader.request_stop();
        auto o = co_await coflux::as_outcome(std::move(reader));
        EXPECT_TRUE(o.is_stopped());
        log->write("reader ended");
        e->set();
    }(s.env, &s.go, &s.log);
    s.executor.run_all();
    ASSERT_TRUE(root.done());
    root.join();
    EXPECT_EQ(s.log.lines(), lines{"reader ended"});
}

TEST(fork_view, the_error_of_its_fork_is_thrown_at_every_await) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, noop> {
            throw std::range_error("twice");
            co_return 1;
        }(here);
        const auto view = f.view();
        EXPECT_THROW((void)co_await view, std::range_error);
        EXPECT_THROW((void)co_await view, std::range_error);
        EXPECT_THROW((void)co_await std::move(f), std::range_error);
    }(env)
                                    .get();
}

TEST(fork_view, allocates_nothing) {
    coflux::counting_resource frames;
    auto env = coflux::make_environment(&frames);
    [](coflux::environment&, coflux::counting_resource* memory) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, noop> { co_return 1; }(here);
        const std::size_t before = memory->allocations();
        const auto view = f.view();
        const auto copy = view;
        EXPECT_EQ(co_await copy, 1);
        EXPECT_EQ(memory->allocations(), before);
    }(env, &frames)
                                                                       .get();
    EXPECT_EQ(frames.live(), 0U);
}

TEST(fork_view, a_reader_that_waits_is_stopped_and_the_fork_goes_on) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    foreign_event go;
    journal j;
    auto root = [](coflux::environment&, foreign_event* event, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = text_after(here, event);
        auto stopped = reads(here, f.view(), log, "stopped");
        auto other = reads(here, f.view(), log, "other");
        co_await coflux::yield();
        stopped.request_stop();
        const auto o = co_await coflux::as_outcome(std::move(stopped));
        EXPECT_TRUE(o.is_stopped());
        log->write("goes on");
        event->set();
        co_await std::move(other);
        EXPECT_EQ((co_await std::move(f)).size(), 100U);
    }(env, &go, &j);
    by_hand.run_all();
    root.get();
    EXPECT_EQ(j.lines(), (lines{"goes on", "other"}));
}

TEST(fork_view, gives_its_outcome) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    foreign_event go;
    auto root = [](coflux::environment&, foreign_event* event) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = text_after(here, event);
        auto setter = [](coflux::environment&, foreign_event* e) -> coflux::fork<void, manual_executor> {
            e->set();
            co_return;
        }(here, event);
        const auto value = co_await coflux::as_outcome(f.view());
        EXPECT_TRUE(value.has_value());
        co_await std::move(setter);
        auto fails = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
            co_await coflux::yield();
            throw std::runtime_error("no");
        }(here);
        EXPECT_TRUE((co_await coflux::as_outcome(fails.view())).has_error());
        auto stops = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
            co_await coflux::this_coroutine::stop();
            co_return 1;
        }(here);
        EXPECT_TRUE((co_await coflux::as_outcome(stops.view())).is_stopped());
    }(env, &go);
    by_hand.run_all();
    root.get();
}

// A sanitizer sees the request look at the wait of a call that is gone.
TEST(fork_view, a_reader_that_its_fork_stops_leaves_no_wait_behind) {
    by_hand s;
    s.play([](coflux::environment&, foreign_event* e, journal* log) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&, foreign_event* event) -> coflux::fork<int, manual_executor> {
            co_await *event;
            co_await coflux::this_coroutine::stop();
            co_return 1;
        }(here, e);
        auto child = [](coflux::environment&, coflux::fork_view<int> v,
                        journal* j) -> coflux::fork<void, manual_executor> {
            auto&& mine = co_await coflux::context();
            const auto reads_in_a_call = [](coflux::environment&, coflux::fork_view<int> view) -> coflux::call<int> {
                co_return co_await view;
            };
            const auto o = co_await coflux::as_outcome(reads_in_a_call(mine, v));
            EXPECT_TRUE(o.is_stopped());
            j->write("reader ended");
            mine.request_stop();
            co_await coflux::yield();
        }(here, f.view(), log);
        const auto o = co_await coflux::as_outcome(std::move(child));
        EXPECT_TRUE(o.is_stopped());
    }(s.env, &s.go, &s.log));
    EXPECT_EQ(s.log.lines(), lines{"reader ended"});
}

TEST(fork_view, readers_end_and_stop_on_two_threads) {
    using pool = coflux::thread_pool_executor;
    pool p(2);
    auto env = coflux::make_environment(p);
    auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < coflux_test::repetitions(20'000); ++i) {
            auto f = [](coflux::environment&, int yields) -> coflux::fork<int, pool> {
                for (int y = 0; y < yields; ++y) co_await coflux::yield();
                co_return 3;
            }(here, static_cast<int>(i % 4));
            const auto reader = [](coflux::environment&, coflux::fork_view<int> v) -> coflux::fork<int, pool> {
                co_return co_await v;
            };
            auto stopped = reader(here, f.view());
            auto other = reader(here, f.view());
            stopped.request_stop();
            auto o = co_await coflux::as_outcome(std::move(stopped));
            if (o) {
                EXPECT_EQ(std::move(o).value(), 3);
            }
            EXPECT_EQ(co_await std::move(other), 3);
        }
    }(env);
    root.get();
}

}  // namespace
