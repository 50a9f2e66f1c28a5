// A call that names no environment: it runs in that of the coroutine that awaits it.
#include <coflux/core/call.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "by_hand.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux_test::by_hand;
using coflux_test::foreign_event;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::over_aligned;
using coflux_test::root_by_hand;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;

// --- its environment is its awaiter's

struct seen {
    std::pmr::memory_resource* memory;
    std::optional<std::chrono::steady_clock::time_point> deadline;
    coflux::executor_ref executor;
};

coflux::call<seen> looks() {
    auto&& here = co_await coflux::context();
    co_return seen{here.memory_resource(), here.deadline(), co_await coflux::this_coroutine::executor()};
}
/// Asks without a context of its own.
coflux::call<std::pmr::memory_resource*> asks() {
    co_return co_await coflux::this_coroutine::memory_resource();
}

coflux::fork<void, pool> compares_with_itself(coflux::environment&) {
    const seen s = co_await looks();
    auto&& here = co_await coflux::context();
    EXPECT_EQ(s.memory, here.memory_resource());
    EXPECT_EQ(s.deadline, here.deadline());
    EXPECT_TRUE(s.executor == co_await coflux::this_coroutine::executor());
    EXPECT_EQ(co_await asks(), here.memory_resource());
}

coflux::task<void, pool> compares_in_derived_environments(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await compares_with_itself(here);
    coflux::counting_resource memory;
    auto sub = coflux::make_environment(here, &memory, coflux::clock::now() + 1h);
    co_await compares_with_itself(sub);
    co_await sub.join();
}

TEST(call_without_environment, has_the_memory_the_deadline_and_the_executor_of_its_awaiter) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    compares_in_derived_environments(env).join();
}

coflux::call<int> gives(int x) {
    co_return x;
}
coflux::call<int> gives_in(coflux::environment&, int x) {
    co_return x;
}

root_by_hand counts_frames(coflux::environment&, coflux::counting_resource* frames) {
    auto&& here = co_await coflux::context();
    const std::size_t before = frames->allocations();
    EXPECT_EQ(co_await gives(3), 3);
    EXPECT_EQ(frames->allocations(), before);
    EXPECT_EQ(co_await gives_in(here, 4), 4);
    EXPECT_EQ(frames->allocations(), before + 1);
}

TEST(call_without_environment, has_its_frame_from_the_pool_and_with_the_parameter_it_is_the_environments) {
    by_hand s;
    coflux::counting_resource frames;
    auto env = coflux::make_environment(s.env, &frames);
    s.play(counts_frames(env, &frames));
    EXPECT_EQ(frames.live(), 0U);
}

coflux::fork<void, manual_executor> marks(coflux::environment&, journal* j, const char* line) {
    co_await coflux::yield();
    j->write(line);
}
coflux::call<void> leaves_a_child(journal* j) {
    auto&& here = co_await coflux::context();
    marks(here, j, "child").attach();
    j->write("body");
}
root_by_hand awaits_one_with_a_child(coflux::environment&, coflux::counting_resource* frames, journal* j) {
    const std::size_t before = frames->allocations();
    co_await leaves_a_child(j);
    EXPECT_EQ(frames->allocations(), before + 1);  // the child's
    j->write("after");
}

TEST(call_without_environment, is_the_environment_of_its_children_and_ends_after_them) {
    by_hand s;
    coflux::counting_resource frames;
    auto env = coflux::make_environment(s.env, &frames);
    s.play(awaits_one_with_a_child(env, &frames, &s.log));
    EXPECT_EQ(s.log.lines(), (lines{"body", "child", "after"}));
    EXPECT_EQ(frames.live(), 0U);
}

coflux::fork<void, manual_executor> fails_as_a_child(coflux::environment&) {
    co_await coflux::yield();
    throw std::domain_error("a child's");
}
coflux::call<void> leaves_a_child_that_fails() {
    auto&& here = co_await coflux::context();
    fails_as_a_child(here).attach();
}
root_by_hand catches_a_childs_error(coflux::environment&) {
    EXPECT_THROW(co_await leaves_a_child_that_fails(), std::domain_error);
}

TEST(call_without_environment, fails_with_the_error_of_a_child_that_nothing_observes) {
    by_hand s;
    s.play(catches_a_childs_error(s.env));
}

// --- every form of a coroutine

coflux::call<void> appends(std::string& to, std::string_view what) {
    co_await coflux::yield();
    to += what;
}
coflux::call<move_only> gives_move_only(move_only m) {
    co_return std::move(m);
}
coflux::call<int&> gives_reference(int& r) {
    co_return r;
}
coflux::call<over_aligned> gives_over_aligned(over_aligned parameter) {
    over_aligned local(parameter.value);
    EXPECT_TRUE(parameter.is_aligned());
    EXPECT_TRUE(local.is_aligned());
    co_await coflux::yield();
    co_return over_aligned(local.value + 1);
}
coflux::call<std::string> gives_a_name() {
    co_return "a name that has no room in a word of the thread";
}
struct counter {
    int value = 0;
    coflux::call<int> next() { co_return ++value; }
    coflux::call<int> twice() const {
        co_await coflux::yield();
        co_return 2 * value;
    }
    static coflux::call<int> one() { co_return 1; }
};
template <typename T>
coflux::call<T> same(const T& x) {
    co_return x;
}

root_by_hand takes_all_kinds(coflux::environment&) {
    std::string text = "a";
    co_await appends(text, "bc");
    EXPECT_EQ(text, "abc");
    const move_only got = co_await gives_move_only(move_only(4));
    EXPECT_EQ(*got.value, 4);
    int target = 0;
    int& referred = co_await gives_reference(target);
    EXPECT_EQ(&referred, &target);
    const over_aligned aligned = co_await gives_over_aligned(over_aligned(6));
    EXPECT_EQ(aligned.value, 7);
    const std::string name = co_await gives_a_name();
    EXPECT_EQ(name.size(), 47U);
    const double generic = co_await same(1.5);
    EXPECT_EQ(generic, 1.5);
}

TEST(call_without_environment, takes_references_and_views_and_gives_every_kind_of_result) {
    by_hand s;
    s.play(takes_all_kinds(s.env));
}

root_by_hand calls_members_and_lambdas(coflux::environment&) {
    counter c;
    EXPECT_EQ(co_await c.next(), 1);
    EXPECT_EQ(co_await c.next(), 2);
    EXPECT_EQ(co_await c.twice(), 4);
    EXPECT_EQ(co_await counter::one(), 1);
    int sum = 0;
    const auto add = [&sum](int x) -> coflux::call<void> {
        co_await coflux::yield();
        sum += x;
    };
    co_await add(2);
    co_await add(3);
    EXPECT_EQ(sum, 5);
    const auto generic = [&sum](auto x) -> coflux::call<int> { co_return sum + x; };
    EXPECT_EQ(co_await generic(1), 6);
    EXPECT_EQ(co_await []() -> coflux::call<int> { co_return 7; }(), 7);
}

TEST(call_without_environment, may_be_a_member_function_or_a_lambda) {
    by_hand s;
    s.play(calls_members_and_lambdas(s.env));
}

coflux::call<std::size_t> depth_of(std::size_t left) {
    if (left == 0) {
        co_await coflux::yield();
        co_return 0;
    }
    co_return 1 + co_await depth_of(left - 1);
}
coflux::call<std::size_t> depth_in(coflux::environment&, std::size_t left);
/// Every second one names its environment.
coflux::call<std::size_t> mixed_depth_of(std::size_t left) {
    if (left == 0) co_return 0;
    auto&& here = co_await coflux::context();
    co_return 1 + co_await depth_in(here, left - 1);
}
coflux::call<std::size_t> depth_in(coflux::environment& env, std::size_t left) {
    if (left == 0) co_return 0;
    if (left % 4 == 0) co_return 1 + co_await depth_in(env, left - 1);
    co_return 1 + co_await mixed_depth_of(left - 1);
}
root_by_hand calls_itself(coflux::environment&) {
    EXPECT_EQ(co_await depth_of(3), 3U);
    EXPECT_EQ(co_await depth_of(10'000), 10'000U);
    EXPECT_EQ(co_await mixed_depth_of(3), 3U);
    EXPECT_EQ(co_await mixed_depth_of(1'000), 1'000U);
}

TEST(call_without_environment, calls_itself_and_calls_with_an_environment_to_any_depth) {
    by_hand s;
    s.play(calls_itself(s.env));
}

coflux::async_generator<int> counts_to(coflux::environment&, int last) {
    for (int i = 1; i <= last; ++i) co_yield co_await gives(i);
}
root_by_hand sums_a_generator(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto numbers = counts_to(here, 4);
    int sum = 0;
    while (auto x = co_await numbers.next()) sum += *x;
    EXPECT_EQ(sum, 10);
}

TEST(call_without_environment, may_be_awaited_by_a_generator) {
    by_hand s;
    s.play(sums_a_generator(s.env));
}

coflux::task<int, pool> program(coflux::environment&) {
    const std::string name = co_await gives_a_name();
    co_return static_cast<int>(name.size()) + co_await gives(3);
}

TEST(call_without_environment, may_be_awaited_by_the_root_of_run) {
    EXPECT_EQ(coflux::run(program), 50);
}

// --- its end

coflux::call<int> fails(bool late) {
    if (late) co_await coflux::yield();
    throw std::domain_error("called");
}
root_by_hand catches(coflux::environment&) {
    for (const bool late : {false, true}) {
        EXPECT_THROW((void)co_await fails(late), std::domain_error);
        const auto end = co_await coflux::as_outcome(fails(late));
        EXPECT_TRUE(end.has_error());
    }
}

TEST(call_without_environment, throws_to_its_awaiter) {
    by_hand s;
    s.play(catches(s.env));
}

coflux::call<void> writes(journal* j) {
    j->write("never");
    co_return;
}

TEST(call_without_environment, that_is_not_awaited_never_begins_and_needs_no_coroutine_to_be_made_in) {
    journal j;
    (void)writes(&j);
    EXPECT_EQ(j.lines(), lines{});
}

coflux::call<void> waits(foreign_event* event) {
    co_await *event;
}
coflux::call<void> waits_deeper(foreign_event* event) {
    co_await waits(event);
}
root_by_hand waits_in_calls(coflux::environment&, foreign_event* event) {
    co_await waits_deeper(event);
}

TEST(call_without_environment, that_suspends_suspends_its_awaiter) {
    by_hand s;
    auto t = waits_in_calls(s.env, &s.go);
    s.executor.run_all();
    EXPECT_FALSE(t.done());
    s.go.set();
    EXPECT_EQ(s.executor.pending(), 1U);  // the callee alone is queued; the callers follow by transfer
    EXPECT_EQ(s.executor.run_all(), 1U);
    EXPECT_TRUE(t.done());
}

coflux::call<int> stops_itself() {
    co_await coflux::this_coroutine::stop();
    co_return 1;
}
root_by_hand asks_for_the_stop(coflux::environment&) {
    const auto end = co_await coflux::as_outcome(stops_itself());
    EXPECT_TRUE(end.is_stopped());
}

TEST(call_without_environment, that_was_stopped_is_an_outcome) {
    by_hand s;
    s.play(asks_for_the_stop(s.env));
}

// --- stop: what waits in it is in the record of its awaiter, which need not have asked for its context

struct mortal {
    journal* log;
    const char* line;
    ~mortal() { log->write(line); }
};
coflux::call<void> waits_for_ever(coflux::manual_reset_event& never, journal* j) {
    const mortal local{j, "callee dies"};
    co_await never.wait();
}
coflux::call<void> passes_on(coflux::manual_reset_event& never, journal* j) {
    const mortal local{j, "passer dies"};
    co_await waits_for_ever(never, j);
}
coflux::fork<void, manual_executor> waits_in_a_call(coflux::environment&, borrowed<coflux::manual_reset_event> never,
                                                    journal* j) {
    const mortal local{j, "awaiter dies"};
    co_await passes_on(*never, j);
}
root_by_hand stops_its_child(coflux::environment&, foreign_event* go, journal* j) {
    auto&& here = co_await coflux::context();
    coflux::manual_reset_event never;
    auto child = waits_in_a_call(here, borrowed(never), j);
    co_await *go;
    child.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(child));
    EXPECT_TRUE(end.is_stopped());
}

TEST(call_without_environment, is_stopped_with_its_awaiter) {
    by_hand s;
    s.play(stops_its_child(s.env, &s.go, &s.log));
    EXPECT_EQ(s.log.lines(), (lines{"callee dies", "passer dies", "awaiter dies"}));
}

/// A child of the call waits, and so has a record below that of the call's awaiter, which has not suspended by then.
coflux::call<void> has_a_child_that_waits(coflux::manual_reset_event& e) {
    auto&& here = co_await coflux::context();
    auto child = [](coflux::environment&, borrowed<coflux::manual_reset_event> event) -> coflux::fork<void, noop> {
        co_await event->wait();
    }(here, borrowed(e));
    e.set();
    co_await std::move(child);
}
coflux::call<void> between(coflux::manual_reset_event& e) {
    co_await has_a_child_that_waits(e);
}
coflux::task<void, manual_executor> awaits_between(coflux::environment&) {
    coflux::manual_reset_event e;
    co_await between(e);
}

TEST(call_without_environment, leaves_no_record_of_a_wait_behind_in_its_awaiter) {
    by_hand s;
    auto root = awaits_between(s.env);
    s.executor.run_all();
    ASSERT_TRUE(root.done());
    root.join();
}

coflux::call<void> naps(std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
}
coflux::call<void> naps_twice(std::chrono::nanoseconds d) {
    co_await naps(d);
    co_await naps(d);
}
coflux::task<void, sim_executor> naps_in_a_world(coflux::environment&) {
    co_await naps_twice(2ms);
}

TEST(call_without_environment, waits_in_virtual_time) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    naps_in_a_world(env).get();
    EXPECT_EQ(world.elapsed(), 4ms);
}

// --- made in one place, awaited in another

coflux::fork<void, manual_executor> awaits_a_given(coflux::environment&, borrowed<coflux::call<seen>> given) {
    auto&& here = co_await coflux::context();
    const seen s = co_await std::move(*given);
    EXPECT_EQ(s.memory, here.memory_resource());
    EXPECT_EQ(s.deadline, here.deadline());
}
root_by_hand gives_a_call_away(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::counting_resource memory;
    auto sub = coflux::make_environment(here, &memory, coflux::clock::now() + 1h);
    auto made_here = looks();
    co_await awaits_a_given(sub, borrowed(made_here));
    co_await sub.join();
}

TEST(call_without_environment, that_was_made_in_one_coroutine_and_is_awaited_in_another_runs_in_the_other) {
    by_hand s;
    s.play(gives_a_call_away(s.env));
}

coflux::call<int> yields_and_gives(int x) {
    co_await coflux::yield();
    co_return x;
}
coflux::fork<int, pool> awaits_on_the_pool(coflux::environment&, borrowed<coflux::call<int>> given) {
    co_return co_await std::move(*given);
}
coflux::task<int, pool> makes_and_gives_away(coflux::environment&, int rounds) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 0; i != rounds; ++i) {
        auto one = yields_and_gives(1);
        auto other = gives(2);
        auto a = awaits_on_the_pool(here, borrowed(one));
        auto b = awaits_on_the_pool(here, borrowed(other));
        sum += co_await std::move(a);
        sum += co_await std::move(b);
    }
    co_return sum;
}

coflux::task<int, pool> awaits_as_a_root(coflux::environment&, borrowed<coflux::call<int>> given) {
    co_return co_await std::move(*given);
}

TEST(call_without_environment, may_go_to_another_thread_before_it_is_awaited) {
    pool threads{4};
    auto env = coflux::make_environment(threads);
    auto made_by_main = yields_and_gives(5);
    EXPECT_EQ(awaits_as_a_root(env, borrowed(made_by_main)).get(), 5);
    EXPECT_EQ(makes_and_gives_away(env, 200).get(), 600);
}

root_by_hand changes_its_executor(coflux::environment&, foreign_event* go, borrowed<manual_executor> other) {
    co_await coflux::resume_on(*other);
    auto&& here = co_await coflux::context();
    const seen s = co_await looks();
    EXPECT_TRUE(s.executor.is(*other));
    EXPECT_EQ(s.memory, here.memory_resource());
    co_await waits(go);
    EXPECT_TRUE((co_await coflux::this_coroutine::executor()).is(*other));
}

TEST(call_without_environment, runs_on_the_executor_that_its_awaiter_has_gone_to) {
    by_hand s;
    manual_executor other;
    auto env = coflux::make_environment(s.executor, other);
    auto root = changes_its_executor(env, &s.go, borrowed(other));
    s.executor.run_all();
    other.run_all();
    s.go.set();
    other.run_all();
    ASSERT_TRUE(root.done());
    root.join();
}

}  // namespace
