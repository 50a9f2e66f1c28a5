#include <coflux/core/detail/join/callbacks.hpp>

#include <exception>
#include <memory>
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

}  // namespace
