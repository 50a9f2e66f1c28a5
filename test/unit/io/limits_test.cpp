// timeout and deadline of operations of I/O.
#include <coflux/io/limits.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "connected.hpp"
#include "simulated.hpp"
#include "support/executors.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::detail::steady_now;  // that of a simulation, too
using coflux_test::await_bytes;
using coflux_test::bytes_of;
using coflux_test::connected;
using coflux_test::own_loopback;
using steady = std::chrono::steady_clock;

template <typename E>
class limits : public testing::Test {};
using executors = testing::Types<coflux::worker_executor, coflux::thread_pool_executor>;
TYPED_TEST_SUITE(limits, executors);

template <typename E, typename Program>
void on_a(Program program) {
    E executor = [] {
        if constexpr (std::is_same_v<E, coflux::worker_executor>) {
            return E();
        } else {
            return E(2);
        }
    }();
    auto env = coflux::make_environment(executor);
    program(env).get();
}

template <typename E>
coflux::task<void, E> ends_each(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::array<std::byte, 2> two{};
    tcp_listener idle(own_loopback());
    tcp_listener full(own_loopback(), {.backlog = 0});
    std::vector<tcp_stream> in_the_backlog;
    in_the_backlog.push_back(co_await tcp_stream::connect(full.local_endpoint()));
    const std::vector<std::byte> much(8'000'000);

    const auto before = steady_now();
    EXPECT_EQ(co_await coflux::timeout(p.near.read_some(two), 2ms), std::nullopt);
    EXPECT_GE(steady_now() - before, 2ms);
    co_await p.far.write_all("a");
    EXPECT_FALSE(co_await coflux::timeout(p.near.read_exactly(two), 2ms));
    EXPECT_FALSE(co_await coflux::timeout(p.near.wait_readable(), 2ms));
    EXPECT_FALSE(co_await coflux::timeout(idle.accept(), 2ms));
    EXPECT_FALSE(co_await coflux::timeout(tcp_stream::connect(full.local_endpoint()), 2ms));
    EXPECT_FALSE(co_await coflux::deadline(p.near.read_some(two), steady_now() + 2ms));
    const auto as_value = co_await coflux::timeout(coflux::as_result(p.near.read_some(two)), 2ms);
    EXPECT_TRUE(as_value.timed_out());
    EXPECT_EQ(as_value.error(), std::errc::timed_out);
    while (co_await coflux::timeout(p.near.write_some(much), 2ms)) {}  // until the buffers of the kernel are full
    EXPECT_FALSE(co_await coflux::timeout(p.near.write_all(much), 2ms));
}
TYPED_TEST(limits, end_each_operation_that_waits) {
    on_a<TypeParam>(ends_each<TypeParam>);
}

template <typename E>
coflux::task<void, E> are_in_time(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::string two(2, ' ');
    co_await p.far.write_all("abcd");
    await_bytes(p.near);
    EXPECT_EQ(co_await coflux::timeout(p.near.read_some(bytes_of(two)), 0ms), 2U);  // tried once
    EXPECT_EQ(two, "ab");
    EXPECT_TRUE(co_await coflux::timeout(p.near.wait_readable(), 10s));
    EXPECT_TRUE(co_await coflux::timeout(p.near.read_exactly(bytes_of(two)), 10s));
    EXPECT_EQ(two, "cd");
    EXPECT_EQ(co_await coflux::timeout(p.near.read_some(bytes_of(two)), 0ms), std::nullopt);
    for (int i = 0; i < 10; ++i) {  // also where a read has waited before
        co_await p.far.write_all("x");
        await_bytes(p.near);
        EXPECT_EQ(co_await coflux::timeout(p.near.read_some(bytes_of(two)), 0ms), 1U);
        EXPECT_EQ(co_await coflux::timeout(p.near.read_some(bytes_of(two)), 1ms), std::nullopt);
    }
    p.far.shutdown_send();
    EXPECT_EQ(co_await coflux::timeout(p.near.read_some(bytes_of(two)), 10s), 0U);
    auto as_value = co_await coflux::timeout(coflux::as_result(p.near.read_exactly(bytes_of(two))), 10s);
    EXPECT_TRUE(!as_value.timed_out() && !as_value);
    EXPECT_THROW((void)co_await coflux::timeout(p.near.read_exactly(bytes_of(two)), 10s), coflux::end_of_stream);
}
TYPED_TEST(limits, leave_what_is_in_time) {
    on_a<TypeParam>(are_in_time<TypeParam>);
}

template <typename E>
coflux::fork<void, E> writes(coflux::environment&, tcp_stream* to, std::chrono::microseconds after) {
    if (after > 0us) co_await coflux::sleep_for(after);
    co_await to->write_all("x");
}
template <typename E>
coflux::fork<void, E> stops(coflux::environment&, coflux::environment* of, std::chrono::microseconds after) {
    if (after > 0us) co_await coflux::sleep_for(after);
    of->request_stop();
}
template <typename E>
coflux::fork<std::optional<std::size_t>, E> reads(coflux::environment&, tcp_stream* from,
                                                  std::chrono::microseconds limit) {
    std::array<std::byte, 1> one{};
    co_return co_await coflux::timeout(from->read_some(one), limit);
}
/// The event, the limit and a stop at about the same time: one of them wins, and no byte is lost.
template <typename E>
coflux::task<void, E> meet(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::array<int, 3> ends{};
    for (int i = 0; i < 600; ++i) {
        const std::chrono::microseconds when(50 + i % 7 * 3);
        auto inside = coflux::make_environment(here);
        auto reader = reads<E>(inside, &p.near, std::chrono::microseconds(50 + i % 5 * 5));
        auto writer = writes<E>(here, &p.far, when);
        auto stopper = stops<E>(here, &inside, std::chrono::microseconds(70 - i % 4 * 5));
        const auto got = co_await coflux::as_outcome(std::move(reader));
        co_await std::move(writer);
        co_await std::move(stopper);
        co_await inside.join();
        EXPECT_FALSE(got.has_error());
        const bool read = got.has_value() && got.value().has_value();
        ++ends[got.is_stopped() ? 2 : read ? 1 : 0];
        if (!read) {
            std::array<std::byte, 1> one{};
            EXPECT_EQ(co_await p.near.read_some(one), 1U);
        }
    }
    EXPECT_GT(ends[0] + ends[1] + ends[2], 0);
}
TYPED_TEST(limits, lose_nothing_beside_the_event_and_a_stop) {
    on_a<TypeParam>(meet<TypeParam>);
}

template <typename E>
coflux::task<void, E> take_part(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = co_await connected(here);
    auto b = co_await connected(here);
    std::array<std::byte, 1> one{};
    std::array<std::byte, 1> other{};
    const auto first = co_await coflux::when_any(coflux::timeout(a.near.read_some(one), 2ms),
                                                 coflux::timeout(b.near.read_some(other), 10s));
    EXPECT_EQ(first.index(), 0U);
    co_await b.far.write_all("b");
    const auto kept = co_await coflux::as_outcome(coflux::timeout(b.near.read_some(other), 10s));
    EXPECT_EQ(kept.value(), 1U);
    auto nested = co_await coflux::timeout(coflux::timeout(a.near.read_some(one), 10s), 2ms);
    EXPECT_FALSE(nested.has_value());
}
TYPED_TEST(limits, take_part_in_choices_and_in_limits) {
    on_a<TypeParam>(take_part<TypeParam>);
}

template <typename E>
coflux::fork<void, E> works_for_ever(coflux::environment&) {
    for (;;) co_await coflux::yield();
}
/// Some of them begin to wait, and end, in one round each.
template <typename E>
coflux::task<void, E> end_beside_work(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    auto work = works_for_ever<E>(inside);
    auto p = co_await connected(here);
    for (int i = 0; i < 20; ++i) {
        const auto before = steady::now();
        EXPECT_EQ(co_await reads<E>(here, &p.near, 2ms), std::nullopt);
        EXPECT_GE(steady::now() - before, 2ms);
        auto reader = reads<E>(here, &p.near, 10s);
        co_await p.far.write_all("x");
        EXPECT_EQ(co_await std::move(reader), 1U);
    }
    inside.request_stop();
    (void)co_await coflux::as_outcome(std::move(work));
    co_await inside.join();
}
TYPED_TEST(limits, end_beside_work_that_does_not) {
    on_a<TypeParam>(end_beside_work<TypeParam>);
}

template <typename E>
coflux::fork<void, E> reads_until(coflux::environment&, tcp_stream* from, std::atomic<bool>* has_ended) {
    std::array<std::byte, 1> one{};
    EXPECT_EQ(co_await coflux::timeout(from->read_some(one), 2ms), std::nullopt);
    has_ended->store(true);
}
template <typename E>
coflux::fork<int, E> gives_one(coflux::environment&) {
    co_return 1;
}
/// Each fork ends in its parent's await, which comes back to no round.
template <typename E>
coflux::task<void, E> end_beside_forks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::atomic<bool> has_ended{false};
    auto reader = reads_until<E>(here, &p.near, &has_ended);
    while (!has_ended.load()) EXPECT_EQ(co_await gives_one<E>(here), 1);
    co_await std::move(reader);
}
TYPED_TEST(limits, end_beside_a_parent_that_forks_for_ever) {
    on_a<TypeParam>(end_beside_forks<TypeParam>);
}

TEST(limits_of_a_loop, are_known_to_the_thread_that_drives_it) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    const auto waits = [](coflux::environment&, bool* has_begun,
                          bool* has_ended) -> coflux::task<void, coflux::run_loop> {
        auto&& here = co_await coflux::context();
        auto p = co_await connected(here);
        *has_begun = true;
        const auto before = steady::now();
        EXPECT_FALSE((co_await reads<coflux::run_loop>(here, &p.near, 2ms)).has_value());
        EXPECT_GE(steady::now() - before, 2ms);
        *has_ended = true;
    };
    bool has_begun = false;
    bool has_ended = false;
    auto t = waits(env, &has_begun, &has_ended);
    while (!has_ended) {
        loop.poll();
        if (!has_begun || has_ended) continue;
        const auto next = loop.next_deadline();
        EXPECT_TRUE(next.has_value() && *next <= steady::now() + 2ms);
    }
    loop.run(std::move(t));
}

TEST(limits_simulated, end_what_waits_and_lose_nothing) {
    using simulated = coflux::testing::sim_executor;
    coflux_test::in_simulations(ends_each<simulated>);
    coflux_test::in_simulations(meet<simulated>);
    coflux_test::in_simulations(take_part<simulated>);
}

/// A user's executor that has the threads of two loops.
struct two_workers {
    coflux::worker_executor one;
    coflux::worker_executor other;
    std::atomic<unsigned> turn{0};
    void execute(std::coroutine_handle<> h) noexcept { (turn.fetch_add(1) % 2 == 0 ? one : other).execute(h); }
};
TEST(limits_elsewhere, end_a_read_on_a_strand_that_goes_from_loop_to_loop) {
    two_workers both;
    coflux::strand<two_workers> line(both);
    auto env = coflux::make_environment(line);
    ends_each<coflux::strand<two_workers>>(env).get();
    meet<coflux::strand<two_workers>>(env).get();
}

/// A user's executor: the process's service keeps the time, and its thread waits for the descriptor.
TEST(limits_elsewhere, end_a_read_on_a_strand) {
    coflux::thread_pool_executor pool(1);
    coflux::strand<coflux::thread_pool_executor> line(pool);
    auto env = coflux::make_environment(line);
    ends_each<coflux::strand<coflux::thread_pool_executor>>(env).get();
    meet<coflux::strand<coflux::thread_pool_executor>>(env).get();
}

/// The process has armed a timer of an executor that has none itself: the first one makes the thread of the timers.
bool has_armed_a_timer() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream name(entry.path() / "comm");
        std::string text;
        if (std::getline(name, text) && text == "coflux-timers") return true;
    }
    return false;
}
coflux::task<bool, coflux_test::thread_executor> arms_only_where_it_waits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await connected(here);
    std::array<std::byte, 1> one{};
    // The last of 60 calls in a row has to wait for its turn.
    for (int i = 0; i < 10; ++i) {
        (void)co_await coflux::timeout(p.far.write_some("x"), 1h);
        (void)co_await coflux::timeout(p.near.read_some(one), 1h);
        (void)co_await coflux::deadline(p.far.write_some("x"), steady::now() + 1h);
        (void)co_await coflux::deadline(p.near.wait_readable(), steady::now() + 1h);
        (void)co_await p.near.read_some(one);
    }
    const bool too_early = has_armed_a_timer();
    (void)co_await coflux::timeout(p.near.read_some(one), 1ms);
    co_return !too_early && has_armed_a_timer();
}
/// In a process of its own, which has no timer yet.
TEST(limits_death, of_an_operation_that_ends_at_once_arm_no_timer) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto arms = [] {
        coflux_test::thread_executor thread;
        auto env = coflux::make_environment(thread);
        std::_Exit(arms_only_where_it_waits(env).get() ? 7 : 1);
    };
    EXPECT_EXIT(arms(), testing::ExitedWithCode(7), "");
}

}  // namespace
