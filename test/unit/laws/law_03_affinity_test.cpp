// Law 3: a coroutine resumes on its own executor; a notifier never runs a waiter inside its own call.
#include <coflux/coflux.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::foreign_thread;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::thread_executor;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using home = coflux::nth<thread_executor, 0>;
using away = coflux::nth<thread_executor, 1>;

coflux::task<void, thread_executor> visit_a_foreign_thread(auto&&, thread_executor* own, foreign_thread* other) {
    EXPECT_EQ(std::this_thread::get_id(), own->id());
    EXPECT_EQ(co_await *other, 42);
    EXPECT_EQ(std::this_thread::get_id(), own->id());
}

TEST(law_03_affinity, a_coroutine_resumes_on_its_executor_after_a_foreign_thread_resumed_it) {
    foreign_thread other;
    thread_executor own;
    auto env = coflux::make_environment(own);
    visit_a_foreign_thread(env, &own, &other).get();
}

coflux::fork<std::thread::id, away> where_it_runs(auto&&) {
    co_return std::this_thread::get_id();
}

coflux::task<void, home> visit_another_executor(auto&&, thread_executor* own, thread_executor* other) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i < coflux_test::race_rounds / 100; ++i) {
        EXPECT_EQ(co_await where_it_runs(here), other->id());
        EXPECT_EQ(std::this_thread::get_id(), own->id());
        auto a = where_it_runs(here);
        auto b = where_it_runs(here);
        auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
        EXPECT_EQ(x, y);
        EXPECT_EQ(std::this_thread::get_id(), own->id());
    }
}

TEST(law_03_affinity, a_parent_resumes_on_its_executor_after_a_child_on_another) {
    thread_executor own;
    thread_executor other;
    auto env = coflux::make_environment(own, other);
    visit_another_executor(env, &own, &other).get();
}

coflux::fork<void, noop> noop_that_waits(auto&&, foreign_thread* other, thread_executor* nearest) {
    co_await *other;
    EXPECT_EQ(std::this_thread::get_id(), nearest->id());
}

coflux::task<void, away> parent_on_the_second(auto&&, foreign_thread* other, thread_executor* own) {
    auto&& here = co_await coflux::context();
    co_await noop_that_waits(here, other, own);
    EXPECT_EQ(std::this_thread::get_id(), own->id());
}

TEST(law_03_affinity, a_noop_coroutine_that_suspended_resumes_on_the_nearest_executor_above) {
    foreign_thread other;
    thread_executor first;
    thread_executor second;
    auto env = coflux::make_environment(first, second);
    parent_on_the_second(env, &other, &second).get();
}

coflux::task<void, noop> noop_root_that_waits(auto&&, foreign_thread* other, std::thread::id creator,
                                              thread_executor* first) {
    EXPECT_EQ(std::this_thread::get_id(), creator);
    co_await *other;
    EXPECT_EQ(std::this_thread::get_id(), first->id());
}

TEST(law_03_affinity, a_noop_root_that_suspended_resumes_on_the_first_executor_of_its_environment) {
    foreign_thread other;
    thread_executor first;
    auto env = coflux::make_environment(first);
    noop_root_that_waits(env, &other, std::this_thread::get_id(), &first).get();
}

coflux::task<void, manual_executor> wait_for(auto&&, foreign_event* event, journal* j) {
    co_await *event;
    j->write("waiter goes on");
}

TEST(law_03_affinity, a_foreign_notifier_does_not_run_the_waiter_inside_its_call) {
    manual_executor by_hand;
    foreign_event event;
    journal j;
    auto env = coflux::make_environment(by_hand);
    auto t = wait_for(env, &event, &j);
    by_hand.run_all();
    ASSERT_TRUE(event.has_waiter());
    event.set();
    j.write("set has returned");
    by_hand.run_all();
    ASSERT_TRUE(t.done());
    EXPECT_EQ(j.lines(), (std::vector<std::string>{"set has returned", "waiter goes on"}));
}

coflux::fork<void, pool> waiter_in_a_pool(auto&&, foreign_event* event, journal* j) {
    co_await *event;
    j->write("waiter goes on");
}

coflux::task<void, pool> notifier_in_a_pool(auto&&, foreign_event* event, journal* j) {
    auto&& here = co_await coflux::context();
    auto w = waiter_in_a_pool(here, event, j);
    while (!event->has_waiter()) co_await coflux::yield();
    event->set();
    j->write("set has returned");
    co_await std::move(w);
}

TEST(law_03_affinity, a_notifier_on_the_waiters_own_thread_does_not_run_it_either) {
    pool one(1);
    foreign_event event;
    journal j;
    auto env = coflux::make_environment(one);
    notifier_in_a_pool(env, &event, &j).get();
    EXPECT_EQ(j.lines(), (std::vector<std::string>{"set has returned", "waiter goes on"}));
}

coflux::fork<int, manual_executor> waits_then_gives(auto&&, foreign_event* event) {
    co_await *event;
    co_return 1;
}

coflux::fork<void, manual_executor> reads(auto&&, coflux::fork_view<int> v, journal* j) {
    co_await v;
    j->write("reader goes on");
}

coflux::fork<void, thread_executor> reads_elsewhere(auto&&, coflux::fork_view<int> v, thread_executor* own) {
    EXPECT_EQ(std::this_thread::get_id(), own->id());
    co_await v;
    EXPECT_EQ(std::this_thread::get_id(), own->id());
}

TEST(law_03_affinity, each_of_several_that_await_one_fork_resumes_on_its_own_executor) {
    manual_executor by_hand;
    thread_executor other;
    foreign_event event;
    journal j;
    auto env = coflux::make_environment(by_hand, other);
    auto root = [](auto&&, foreign_event* e, journal* log, thread_executor* ex) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = waits_then_gives(here, e);
        auto a = reads(here, f.view(), log);
        auto b = reads_elsewhere(here, f.view(), ex);
        auto c = reads(here, f.view(), log);
        co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
        co_await std::move(f);
    }(env, &event, &j, &other);
    by_hand.run_all();
    event.set();
    while (!root.done()) {
        if (!by_hand.run_one()) std::this_thread::yield();
    }
    EXPECT_EQ(j.lines().size(), 2U);
}

coflux::task<void, home> moves(auto&&, thread_executor* first, thread_executor* second) {
    EXPECT_EQ(std::this_thread::get_id(), first->id());
    co_await coflux::resume_on(*second);
    EXPECT_EQ(std::this_thread::get_id(), second->id());
    co_await coflux::yield();
    EXPECT_EQ(std::this_thread::get_id(), second->id());
    co_await coflux::resume_on(*first);
    EXPECT_EQ(std::this_thread::get_id(), first->id());
}

TEST(law_03_affinity, after_resume_on_the_new_executor_is_the_coroutines_own) {
    thread_executor first;
    thread_executor second;
    auto env = coflux::make_environment(first, second);
    moves(env, &first, &second).get();
}

struct thread_check {
    std::thread::id expected;
    ~thread_check() { EXPECT_EQ(std::this_thread::get_id(), expected); }
};

coflux::fork<void, home> stops_with_locals(auto&&, thread_executor* own) {
    auto&& here = co_await coflux::context();
    const thread_check local{own->id()};
    // The last child ends on the other executor; the locals must still die on this one.
    where_it_runs(here).attach();
    co_await coflux::this_coroutine::stop();
}

TEST(law_03_affinity, the_locals_of_a_stopped_coroutine_die_on_its_own_executor) {
    thread_executor own;
    thread_executor other;
    auto env = coflux::make_environment(own, other);
    [](auto&&, thread_executor* ex) -> coflux::task<void, home> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < coflux_test::race_rounds / 100; ++i) {
            auto o = co_await coflux::as_outcome(stops_with_locals(here, ex));
            EXPECT_TRUE(o.is_stopped());
        }
    }(env, &own)
                                           .get();
}

// --- a creator's call ------------------------------------------------------------------------------------------------

struct inside_call {
    bool now = false;
    int others = 0;
};

coflux::fork<void, coflux::thread_pool_executor> looks_in(coflux::environment&, coflux::borrowed<inside_call> call) {
    for (int i = 0; i < 50; ++i) {
        if (call->now) ++call->others;
        co_await coflux::yield();
    }
}

coflux::fork<void, coflux::noop_executor> waits_inline(coflux::environment&, coflux::borrowed<coflux_test::gate> in) {
    co_await in->wait();
}
coflux::fork<void, coflux::noop_executor> yields_inline(coflux::environment&) {
    co_await coflux::yield();
}

TEST(law_03_affinity, what_starts_inline_and_suspends_lets_no_other_coroutine_run_in_its_creators_call) {
    using pool = coflux::thread_pool_executor;
    pool one(1);
    auto env = coflux::make_environment(one);
    coflux_test::gate g;
    inside_call call;
    auto root = [](coflux::environment&, coflux::borrowed<coflux_test::gate> in,
                   coflux::borrowed<inside_call> mine) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto other = looks_in(here, mine);
        for (int i = 0; i < 20; ++i) {
            co_await coflux::yield();
            mine->now = true;
            auto waiting = waits_inline(here, in);
            auto yielding = yields_inline(here);
            mine->now = false;
            in->let_one();
            co_await std::move(waiting);
            co_await std::move(yielding);
        }
        co_await std::move(other);
    }(env, coflux::borrowed(g), coflux::borrowed(call));
    root.get();
    EXPECT_EQ(call.others, 0);
}

}  // namespace
