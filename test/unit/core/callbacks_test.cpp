#include <coflux/core/detail/join/callbacks.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "by_hand.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::by_hand;
using coflux_test::foreign_event;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::root_by_hand;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

enum class ending { value, error, stop };

template <typename E>
coflux::fork<int, E> ends_as(coflux::environment&, foreign_event* go, ending how) {
    co_await *go;
    if (how == ending::error) throw std::runtime_error("error");
    if (how == ending::stop) co_await coflux::this_coroutine::stop();
    co_return 5;
}

void attach_all(coflux::fork<int, manual_executor>& f, journal* j) {
    f.on_value([j](const int& v) { j->write("value " + std::to_string(v)); })
        .on_error([j](const std::exception_ptr& e) { j->write(e != nullptr ? "error" : "nothing"); })
        .on_stopped([j] { j->write("stopped"); });
}

lines called_for(ending how, bool after_the_end) {
    by_hand s;
    if (after_the_end) s.go.set();
    auto f = ends_as<manual_executor>(s.env, &s.go, how);
    s.executor.run_all();
    attach_all(f, &s.log);
    s.go.set();
    s.executor.run_all();
    EXPECT_TRUE(f.done());
    return s.log.lines();
}

TEST(callbacks, the_one_for_the_way_it_ended_is_called_and_no_other) {
    for (const bool late : {false, true}) {
        EXPECT_EQ(called_for(ending::value, late), lines{"value 5"});
        EXPECT_EQ(called_for(ending::error, late), lines{"error"});
        EXPECT_EQ(called_for(ending::stop, late), lines{"stopped"});
    }
}

TEST(callbacks, are_called_in_the_order_in_which_they_were_attached_and_before_the_waiter_is_woken) {
    by_hand s;
    auto root = [](coflux::environment&, foreign_event* e, journal* log) -> root_by_hand {
        auto&& here = co_await coflux::context();
        auto f = ends_as<manual_executor>(here, e, ending::value);
        f.on_value([log](int) { log->write("first"); });
        f.on_value([log](int) { log->write("second"); });
        (void)co_await std::move(f);
        log->write("awaiter");
    }(s.env, &s.go, &s.log);
    s.play();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(s.log.lines(), (lines{"first", "second", "awaiter"}));
}

TEST(callbacks, of_an_rvalue_handle_give_the_handle_back) {
    auto env = coflux::make_environment();
    journal j;
    [](coflux::environment&, journal* log) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        constexpr auto give = [](coflux::environment&) -> coflux::fork<int, noop> { co_return 6; };
        auto f = give(here).on_value([log](int) { log->write("called"); }).on_stopped([] {});
        EXPECT_EQ(co_await std::move(f), 6);
    }(env, &j)
                                                  .get();
    EXPECT_EQ(j.lines(), lines{"called"});
}

TEST(callbacks, may_own_what_cannot_be_copied) {
    by_hand s;
    auto alive = std::make_shared<int>(0);
    {
        auto f = ends_as<manual_executor>(s.env, &s.go, ending::value);
        f.on_value([log = &s.log, owned = std::make_unique<int>(3)](int v) { log->write(std::to_string(v + *owned)); });
        f.on_stopped([alive] {});
        EXPECT_EQ(alive.use_count(), 2);
        s.play();
    }
    EXPECT_EQ(s.log.lines(), lines{"8"});
    EXPECT_EQ(alive.use_count(), 1);  // one that was not called dies too
}

TEST(callbacks, on_void_and_reference_results_get_nothing_and_the_referent) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        int target = 1;
        bool called = false;
        int* seen = nullptr;
        auto v = [](coflux::environment&) -> coflux::fork<void, noop> { co_return; }(here);
        v.on_value([&called] { called = true; });
        auto r = [](coflux::environment&, int* t) -> coflux::fork<int&, noop> { co_return *t; }(here, &target);
        r.on_value([&seen](int& referred) { seen = &referred; });
        EXPECT_TRUE(called);
        EXPECT_EQ(seen, &target);
    }(env)
                                    .get();
}

TEST(callbacks, stay_when_the_handle_dies) {
    by_hand s;
    {
        auto f = ends_as<manual_executor>(s.env, &s.go, ending::value);
        f.on_value([log = &s.log](int) { log->write("called"); });
    }
    s.play();
    EXPECT_EQ(s.log.lines(), lines{"called"});
}

TEST(callbacks, that_throw_after_the_end_throw_where_they_are_attached) {
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, noop> { co_return 6; }(here);
        EXPECT_THROW(f.on_value([](int) { throw std::runtime_error("at once"); }), std::runtime_error);
        EXPECT_EQ(co_await std::move(f), 6);
    }(env)
                                    .get();
}

TEST(callbacks, that_throw_on_a_task_fail_the_environment) {
    static int handled;
    handled = 0;
    {
        by_hand s;
        s.env.on_unobserved_error([](const std::exception_ptr&) noexcept { ++handled; });
        auto t = [](coflux::environment&, foreign_event* e) -> coflux::task<int, manual_executor> {
            co_await *e;
            co_return 3;
        }(s.env, &s.go);
        t.on_value([](int) { throw std::runtime_error("from a callback"); });
        s.play();
        EXPECT_EQ(t.get(), 3);
    }
    EXPECT_EQ(handled, 1);
}

TEST(callbacks, cost_one_allocation_from_the_frames_resource_and_none_after_the_end) {
    manual_executor by_hand;
    coflux::counting_resource frames;
    {
        auto env = coflux::make_environment(&frames, by_hand);
        foreign_event go;
        auto f = ends_as<manual_executor>(env, &go, ending::value);
        EXPECT_EQ(frames.allocations(), 1U);
        f.on_value([](int) {});
        EXPECT_EQ(frames.allocations(), 2U);
        by_hand.run_all();
        go.set();
        by_hand.run_all();
        EXPECT_EQ(frames.live(), 1U);
        f.on_value([](int) {});
        EXPECT_EQ(frames.allocations(), 2U);
    }
    EXPECT_EQ(frames.live(), 0U);
}

/// Throws in the n-th of its copies and moves.
struct fragile {
    static inline int left = 0;
    static void transfer() {
        if (left != 0 && --left == 0) throw std::runtime_error("transfer");
    }
    fragile() = default;
    fragile(const fragile&) { transfer(); }
    fragile(fragile&&) { transfer(); }
    fragile& operator=(const fragile&) = delete;
    ~fragile() = default;

    template <typename... Args>
    void operator()(const Args&...) const {}
};

TEST(callbacks, whose_copy_or_move_throws_leave_nothing_behind) {
    using handle = coflux::fork<int, manual_executor>;
    void (*const attach[])(handle&) = {
        [](handle& f) { f.on_value(fragile()); },
        [](handle& f) { f.on_error(fragile()); },
        [](handle& f) { f.on_stopped(fragile()); },
        [](handle& f) {
            const fragile named;
            f.on_value(named);
        },
    };
    for (const auto attaches : attach) {
        int throws = 0;
        for (int n = 1; n < 8; ++n) {
            coflux::counting_resource frames;
            {
                manual_executor by_hand;
                auto env = coflux::make_environment(&frames, by_hand);
                foreign_event go;
                auto f = ends_as<manual_executor>(env, &go, ending::value);
                by_hand.run_all();
                fragile::left = n;
                try {
                    attaches(f);
                } catch (const std::runtime_error&) {
                    ++throws;
                }
                fragile::left = 0;
                go.set();
                by_hand.run_all();
                EXPECT_TRUE(f.done());
            }
            EXPECT_EQ(frames.live(), 0U) << "throws at " << n;
        }
        EXPECT_GE(throws, 2);
        EXPECT_LT(throws, 7);
    }
}

// --- while they run --------------------------------------------------------------------------------------------------

using pool = coflux::thread_pool_executor;

/// A callback that is being called, and goes on when a party that awaits the coroutine is about to.
struct lasting {
    std::atomic<bool> attached{false};
    std::atomic<bool> called{false};
    std::atomic<bool> awaited{false};
    bool returned = false;  // no atomic: what awaits the coroutine must see it without

    void operator()() {
        called.store(true);
        while (!awaited.load()) coflux::detail::cpu_pause();
        for (int i = 0; i < 20'000; ++i) coflux::detail::cpu_pause();  // the party has come, or will find it returned
        returned = true;
    }
    /// From now on the coroutine may end, on another thread.
    void wait_until_called() {
        attached.store(true);
        while (!called.load()) coflux::detail::cpu_pause();
    }
};

coflux::fork<std::unique_ptr<int>, pool> owned(coflux::environment&, coflux::borrowed<lasting> l) {
    while (!l->attached.load()) co_await coflux::yield();
    co_return std::make_unique<int>(5);
}
coflux::fork<int, pool> plain(coflux::environment&, coflux::borrowed<lasting> l) {
    while (!l->attached.load()) co_await coflux::yield();
    co_return 5;
}

TEST(callbacks, have_returned_when_an_await_that_came_meanwhile_goes_on) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        lasting one;
        int seen = 0;
        auto moved = owned(here, coflux::borrowed(one));  // the callback looks at what the await moves out
        moved.on_value([&](const std::unique_ptr<int>& v) {
            one();
            seen = *v;
        });
        one.wait_until_called();
        EXPECT_TRUE(moved.done());
        one.awaited.store(true);
        EXPECT_EQ(*co_await std::move(moved), 5);
        EXPECT_TRUE(one.returned);
        EXPECT_EQ(seen, 5);
    }(env)
                                    .get();
}

TEST(callbacks, have_returned_when_an_await_of_several_a_view_an_outcome_or_a_limit_goes_on) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int way = 0; way < 5; ++way) {
            lasting one;
            auto f = plain(here, coflux::borrowed(one));
            f.on_value([&one](int) { one(); });
            const auto view = f.view();
            one.wait_until_called();
            EXPECT_TRUE(view.done());
            one.awaited.store(true);
            if (way == 0) {
                EXPECT_EQ(get<0>(co_await coflux::when_all(std::move(f), plain(here, coflux::borrowed(one)))), 5);
            } else if (way == 1) {
                EXPECT_EQ(co_await view, 5);
            } else if (way == 2) {
                EXPECT_EQ(*co_await coflux::as_outcome(std::move(f)), 5);
            } else if (way == 3) {
                EXPECT_EQ(co_await coflux::timeout(std::move(f), std::chrono::hours(1)), 5);
            } else {
                const auto first = co_await coflux::when_any(std::move(f), coflux::sleep_for(std::chrono::hours(1)));
                EXPECT_EQ(first.index(), 0U);
            }
            EXPECT_TRUE(one.returned) << way;
        }
    }(env)
                                    .get();
}

TEST(callbacks, have_returned_when_a_thread_that_blocks_goes_on) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    lasting one;
    auto root = [](coflux::environment&, lasting* l) -> coflux::task<int, pool> {
        while (!l->attached.load()) co_await coflux::yield();
        co_return 5;
    }(env, &one);
    root.on_value([&one](int) { one(); });
    one.wait_until_called();
    EXPECT_TRUE(root.done());
    one.awaited.store(true);
    EXPECT_EQ(root.get(), 5);
    EXPECT_TRUE(one.returned);
}

TEST(callbacks, that_come_while_others_run_are_called_at_once) {
    by_hand s;
    auto f = ends_as<manual_executor>(s.env, &s.go, ending::value);
    f.on_value([&](int) {
        s.log.write("first");
        EXPECT_TRUE(f.done());
        f.on_value([&](int) { s.log.write("inside"); });
        s.log.write("first returns");
    });
    f.on_value([&](int) { s.log.write("second"); });
    s.play();
    EXPECT_EQ(s.log.lines(), (lines{"first", "inside", "first returns", "second"}));
}

TEST(callbacks, may_destroy_the_handle_of_the_task_that_has_ended) {
    for (const std::size_t threads : {0, 1}) {  // on its own thread, and on a pool's
        std::atomic<bool> destroyed{false};
        {
            std::optional<pool> workers;
            std::atomic<bool> attached{false};
            const auto fire = [&](auto& env, auto root) {
                using handle = decltype(root(env, &attached));
                auto t = std::make_unique<handle>(root(env, &attached));
                handle& task = *t;
                task.on_value([t = std::move(t), &destroyed]() mutable {
                    t.reset();
                    destroyed.store(true);
                });
                attached.store(true);
            };
            if (threads == 0) {
                by_hand s;
                fire(s.env, [](coflux::environment&, const std::atomic<bool>* go) -> root_by_hand {
                    while (!go->load()) co_await coflux::yield();
                });
                s.play();
            } else {
                workers.emplace(threads);
                auto env = coflux::make_environment(*workers);
                fire(env, [](coflux::environment&, const std::atomic<bool>* go) -> coflux::task<void, pool> {
                    while (!go->load()) co_await coflux::yield();
                });
                while (!destroyed.load()) coflux::detail::cpu_pause();
            }
        }
        EXPECT_TRUE(destroyed.load());
    }
}

coflux::fork<int, noop> waits_for(coflux::environment&, foreign_event* e) {
    co_await *e;
    co_return 5;
}
coflux::task<int, noop> reads(coflux::environment&, coflux::fork_view<int> v) {
    co_return co_await v;
}

// The reader goes on when the callback has returned.
TEST(callbacks_death, that_block_for_what_awaits_the_coroutine_that_has_ended_are_refused) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto hangs = [] {
        auto env = coflux::make_environment();
        foreign_event go;
        auto root = [](coflux::environment& outer, foreign_event* e) -> coflux::task<void, noop> {
            auto&& here = co_await coflux::context();
            auto f = waits_for(here, e);
            auto v = f.view();
            f.on_value([&outer, v](int) { (void)reads(outer, v).get(); });
            (void)co_await std::move(f);
        }(env, &go);
        go.set();
        root.get();
    };
    EXPECT_DEATH(hangs(), "a blocking wait for .*reads.* on a thread that runs coroutines, in the end of .*waits_for");
}

}  // namespace
