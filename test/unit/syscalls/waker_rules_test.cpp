// A ring learns of wake-ups by one request for many events. The system may end that after any of them.
#include <chrono>
#include <cstddef>
#include <span>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::run_loop;
using coflux_test::always;
using coflux_test::system_call;
using coflux_test::system_rules;
using worker = coflux::worker_executor;

template <typename E>
coflux::task<void, E> waits_for(environment&, coflux::manual_reset_event* e) {
    co_await e->wait();
}
/// The waiting operation makes the thread sleep in its ring. One that does not hear of its wake-ups sleeps until the
/// time is up: false.
template <typename E>
coflux::task<bool, E> reads_last(environment&, coflux::unix_stream* from) {
    std::byte one{};
    const auto got = co_await coflux::timeout(from->read_some(std::span(&one, 1)), 20s);
    co_return got.has_value();
}
template <typename T>
T result_of(worker&, coflux::task<T, worker> t) {
    return t.get();
}
template <typename T>
T result_of(run_loop& loop, coflux::task<T, run_loop> t) {
    return loop.run(std::move(t));
}

/// Another thread sets the event when this one has entered the ring, so that it sleeps there, mostly.
template <typename E>
void is_woken(E& on, environment& env, const system_rules& rules, const coflux::task<bool, E>& reader) {
    coflux::manual_reset_event event;
    const std::size_t before = rules.calls(system_call::enter);
    std::thread waker([&] {
        while (rules.calls(system_call::enter) == before && !reader.done()) std::this_thread::yield();
        std::this_thread::sleep_for(50us);
        event.set();
    });
    result_of(on, waits_for<E>(env, &event));
    waker.join();
}

/// Wakes the thread until its ring has been asked `watches` times.
template <typename E>
void wakes(E& on, const system_rules& rules, std::size_t watches) {
    auto env = coflux::make_environment(on);
    auto [near, far] = coflux::unix_stream::pair();
    auto reader = reads_last<E>(env, &near);
    for (int i = 0; i < 5'000 && rules.calls(system_call::watch) < watches && !reader.done(); ++i)
        is_woken(on, env, rules, reader);
    EXPECT_GE(rules.calls(system_call::watch), watches);
    for (int i = 0; i < 5; ++i) is_woken(on, env, rules, reader);
    EXPECT_EQ(send(far.native_handle(), "x", 1, 0), 1);
    EXPECT_TRUE(result_of(on, std::move(reader)));
}
template <typename E>
void wakes_after_each_end() {
    if (!system_rules::are_on_a_ring()) GTEST_SKIP() << "there is no ring";
    const system_rules rules{{.on = system_call::watch, .times = always}};
    E on;
    wakes(on, rules, 50);
    EXPECT_EQ(rules.followed(), rules.calls(system_call::watch));
}
TEST(waker_rules, a_worker_is_woken_however_often_the_request_for_its_wake_ups_ends) {
    wakes_after_each_end<worker>();
}
TEST(waker_rules, a_run_loop_is_woken_however_often_the_request_for_its_wake_ups_ends) {
    wakes_after_each_end<run_loop>();
}

template <typename E>
void asks_once() {
    if (!system_rules::are_on_a_ring()) GTEST_SKIP() << "there is no ring";
    const system_rules rules{{.on = system_call::watch}};  // the first one ends, the next one does not
    E on;
    wakes(on, rules, 2);
    EXPECT_EQ(rules.calls(system_call::watch), 2U);
}
TEST(waker_rules, the_request_for_wake_ups_is_made_again_only_after_it_has_ended) {
    asks_once<worker>();
    asks_once<run_loop>();
}

}  // namespace
