// Law 8: a step has an end. An await that need not suspend spends the tick budget, so a coroutine that finds all ready
// lets the others run. Judged by counts of awaits.
#include <coflux/coflux.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coflux/testing/chooser.hpp"
#include "coflux/testing/manual_executor.hpp"
#include "coflux/testing/sim_executor.hpp"
#include "coflux/testing/simulation.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::call;
using coflux::environment;
using coflux::testing::manual_executor;
using coflux::testing::sim_executor;
using pool = coflux::thread_pool_executor;

/// A round has 61 steps at most, and 32 awaits that need not suspend are one; what waits is served in one of two
/// rounds.
constexpr std::size_t stated_bound = 2 * 61 * 32;
constexpr std::size_t give_up = 1'000'000;

/// A source whose bytes are always there.
struct zeros {
    call<std::size_t> read_some(environment&, std::span<std::byte> into) { co_return into.size(); }
};
/// A sink that has always room.
struct nowhere {
    call<std::size_t> write_some(environment&, std::span<const std::byte> from) { co_return from.size(); }
};

/// Where each operation finds all ready.
struct things {
    coflux::channel<int[4]> channel;
    coflux::mutex mutex;
    coflux::shared_mutex shared_mutex;
    coflux::semaphore permits{1};
    coflux::latch open{0};
    coflux::manual_reset_event is_set{true};
    coflux::manual_reset_event is_never_set;
    coflux::auto_reset_event once_more;
    coflux::barrier<> alone{1};
    coflux::once done;
    coflux::condition_variable condition;
    coflux::timer fired{0s};
    coflux::rate_limiter limiter{1'000'000'000, 1ns, 1};
    coflux::delay_queue<int> due;
    zeros source;
    nowhere sink;
    coflux::buffered_reader<zeros> reader{source};
    coflux::buffered_writer<nowhere> writer{sink};
};

coflux::async_generator<int> numbers(environment&) {
    for (int i = 0;; ++i) co_yield i;
}
coflux::async_generator<int> none(environment&) {
    co_return;
}

using operation = call<void> (*)(environment&, things&);
struct named {
    std::string_view name;
    operation run;
};

/// One await that need not suspend, or a few.
constexpr named operations[] = {
    {"send and receive",
     [](environment&, things& t) -> call<void> {
         EXPECT_TRUE(co_await t.channel.send(7));
         EXPECT_EQ(co_await t.channel.receive(), 7);
     }},
    {"reserve", [](environment&, things& t) -> call<void> { EXPECT_TRUE((co_await t.channel.reserve()).has_value()); }},
    {"select",
     [](environment&, things& t) -> call<void> {
         EXPECT_EQ((co_await coflux::select(t.channel.receive(), t.channel.send(7))).index(), 1U);
         EXPECT_EQ((co_await coflux::select(t.channel.receive(), coflux::otherwise)).index(), 0U);
     }},
    {"mutex",
     [](environment&, things& t) -> call<void> {
         const auto guard = co_await t.mutex.lock();
         EXPECT_TRUE(guard.owns_lock());
     }},
    {"shared_mutex",
     [](environment&, things& t) -> call<void> {
         { const auto reads = co_await t.shared_mutex.lock_shared(); }
         const auto writes = co_await t.shared_mutex.lock();
         EXPECT_TRUE(writes.owns_lock());
     }},
    {"semaphore",
     [](environment&, things& t) -> call<void> {
         { const auto permit = co_await t.permits.acquire_guard(); }
         co_await t.permits.acquire();
         t.permits.release();
     }},
    {"latch", [](environment&, things& t) -> call<void> { co_await t.open.wait(); }},
    {"manual_reset_event", [](environment&, things& t) -> call<void> { co_await t.is_set.wait(); }},
    {"auto_reset_event",
     [](environment&, things& t) -> call<void> {
         t.once_more.set();
         co_await t.once_more.wait();
     }},
    {"barrier", [](environment&, things& t) -> call<void> { co_await t.alone.arrive_and_wait(); }},
    {"once", [](environment&, things& t) -> call<void> { co_await t.done.call([] {}); }},
    {"condition_variable",
     [](environment&, things& t) -> call<void> {
         auto guard = t.mutex.try_lock();
         co_await t.condition.wait(guard, [] { return true; });
     }},
    {"timer", [](environment&, things& t) -> call<void> { EXPECT_TRUE(co_await t.fired.wait()); }},
    {"rate_limiter", [](environment&, things& t) -> call<void> { co_await t.limiter.acquire(0); }},
    {"delay_queue",
     [](environment&, things& t) -> call<void> {
         EXPECT_TRUE(t.due.push(7, 0s));
         EXPECT_EQ(co_await t.due.pop(), 7);
     }},
    {"foreign awaitable", [](environment&, things&) -> call<void> { co_await std::suspend_never(); }},
    {"foreign awaitable that can be stopped",
     [](environment&, things&) -> call<void> {
         co_await coflux::on_stop_request(std::suspend_never(), []() noexcept {});
     }},
    {"as_outcome",
     [](environment&, things& t) -> call<void> {
         EXPECT_TRUE((co_await coflux::as_outcome(t.is_set.wait())).has_value());
         EXPECT_TRUE((co_await coflux::as_outcome(t.mutex.lock())).has_value());
     }},
    {"limit that has passed",
     [](environment&, things& t) -> call<void> { EXPECT_FALSE(co_await coflux::timeout(t.is_never_set.wait(), 0us)); }},
    {"limit",
     [](environment&, things& t) -> call<void> { EXPECT_TRUE(co_await coflux::timeout(t.is_set.wait(), 1h)); }},
    {"sleep that is over", [](environment&, things&) -> call<void> { co_await coflux::sleep_for(0s); }},
    {"buffered reader",
     [](environment& here, things& t) -> call<void> {
         std::array<std::byte, 1> byte{};
         EXPECT_EQ(co_await t.reader.read_some(here, byte), 1U);
         co_await t.reader.read_exactly(here, byte);
         EXPECT_FALSE((co_await t.reader.peek(here)).empty());
     }},
    {"buffered writer",
     [](environment& here, things& t) -> call<void> {
         const std::array<std::byte, 1> byte{};
         EXPECT_EQ(co_await t.writer.write_some(here, byte), 1U);
         co_await t.writer.write_all(here, byte);
         co_await t.writer.flush(here);
     }},
};

template <typename E>
coflux::fork<void, E> marks(environment&, borrowed<bool> mark) {
    co_await coflux::yield();  // in a pool: from now on it is ready, and no fork
    *mark = true;
}

/// Awaits of `once` until another coroutine, which is ready, has had its turn.
template <typename E, typename F>
call<std::size_t> count(environment&, F once) {
    auto&& here = co_await coflux::context();
    bool served = false;
    auto other = marks<E>(here, borrowed(served));
    co_await coflux::yield();
    std::size_t awaits = 0;
    for (; !served && awaits < give_up; ++awaits) co_await once(here);
    co_await std::move(other);
    co_return awaits;
}

template <typename E>
coflux::task<void, E> tries_all(environment&) {
    auto&& here = co_await coflux::context();
    things t;
    co_await t.done.call([] {});
    for (const named& o : operations) {
        const auto run = [&](environment& in) { return o.run(in, t); };
        EXPECT_LE(co_await count<E>(here, run), stated_bound) << o.name;
    }
    t.writer.discard();
}

template <typename E>
coflux::fork<int, E> seven(environment&) {
    co_return 7;
}

/// The objects outside of `things`.
template <typename E>
coflux::task<void, E> tries_ends_of_channels(environment&) {
    auto&& here = co_await coflux::context();
    auto [a, b] = coflux::make_spsc<int>(4);
    auto [c, d] = coflux::make_mpsc<int>(4);
    auto [e, f] = coflux::make_unbounded_mpsc<int>();
    auto [g, h] = coflux::make_broadcast<int>(4);
    auto [i, j] = coflux::make_watch<int>(0);
    auto [k, l] = coflux::make_oneshot<int>();
    (void)k.send(1);
    EXPECT_EQ(co_await l, 1);
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    EXPECT_TRUE(co_await a.send(7));
                                    EXPECT_EQ(co_await b.receive(), 7);
                                }),
              stated_bound)
        << "spsc";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    EXPECT_TRUE(co_await c.send(7));
                                    EXPECT_EQ(co_await d.receive(), 7);
                                }),
              stated_bound)
        << "mpsc";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    const auto slot = co_await c.reserve();
                                    EXPECT_TRUE(slot.has_value());
                                }),
              stated_bound)
        << "a slot of an mpsc";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    EXPECT_TRUE(e.send(7));
                                    EXPECT_EQ(co_await f.receive(), 7);
                                }),
              stated_bound)
        << "unbounded mpsc";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    (void)g.send(7);
                                    const auto got = co_await h.receive();
                                    EXPECT_TRUE(got.has_value());
                                }),
              stated_bound)
        << "broadcast";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    (void)i.send(7);
                                    (void)co_await j.changed();
                                }),
              stated_bound)
        << "watch";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    const auto got = co_await l;
                                    EXPECT_FALSE(got.has_value());
                                }),
              stated_bound)
        << "oneshot";
}

template <typename E>
coflux::task<void, E> tries_coroutines(environment&) {
    auto&& here = co_await coflux::context();
    auto child = seven<E>(here);
    const auto view = child.view();
    EXPECT_EQ(co_await view, 7);
    EXPECT_LE(co_await count<E>(here, [&](environment&) -> call<void> { EXPECT_EQ(co_await view, 7); }), stated_bound)
        << "view";
    EXPECT_LE(co_await count<E>(here,
                                [&](environment&) -> call<void> {
                                    const auto end = co_await coflux::as_outcome(view);
                                    EXPECT_EQ(*end, 7);
                                }),
              stated_bound)
        << "outcome of a view";
    EXPECT_EQ(co_await std::move(child), 7);
    auto all = numbers(here);
    int next = 0;
    EXPECT_LE(co_await count<E>(here, [&](environment&) -> call<void> { EXPECT_EQ(*co_await all.next(), next++); }),
              stated_bound)
        << "async_generator";
    auto ended = none(here);
    EXPECT_LE(co_await count<E>(here, [&](environment&) -> call<void> { EXPECT_EQ(co_await ended.next(), nullptr); }),
              stated_bound)
        << "async_generator at its end";
}

template <typename Start>
void on_each_executor(Start start) {
    {
        SCOPED_TRACE("pool");
        pool p(1);
        auto env = coflux::make_environment(p);
        start(env, p).get();
    }
    {
        SCOPED_TRACE("worker");
        coflux::worker_executor w;
        auto env = coflux::make_environment(w);
        start(env, w).get();
    }
    {
        SCOPED_TRACE("strand");
        pool p(1);
        coflux::strand<pool> s(p);
        auto env = coflux::make_environment(s);
        start(env, s).get();
    }
    {
        SCOPED_TRACE("run_loop");
        coflux::run_loop loop;
        auto env = coflux::make_environment(loop);
        loop.run(start(env, loop));
    }
    {
        SCOPED_TRACE("an executor of a user");
        manual_executor queue;
        auto env = coflux::make_environment(queue);
        queue.run(start(env, queue));
    }
    {
        SCOPED_TRACE("simulation");
        coflux::testing::fifo_chooser fifo;
        coflux::testing::simulation world(fifo);
        sim_executor sim;
        auto env = coflux::make_environment(sim);
        start(env, sim).get();
    }
}

TEST(law_08_ready_awaits, a_coroutine_that_finds_all_ready_lets_the_others_run) {
    on_each_executor([]<typename E>(environment& env, E&) { return tries_all<E>(env); });
}
TEST(law_08_ready_awaits, the_ends_of_queues_do_the_same) {
    on_each_executor([]<typename E>(environment& env, E&) { return tries_ends_of_channels<E>(env); });
}
TEST(law_08_ready_awaits, views_and_generators_do_the_same) {
    on_each_executor([]<typename E>(environment& env, E&) { return tries_coroutines<E>(env); });
}

// --- what it must not change -----------------------------------------------------------------------------------------

/// Sends to itself, and checks that what it is given is what it sent.
template <typename E>
coflux::fork<void, E> sends_to_itself(environment&, borrowed<coflux::mutex> m, borrowed<int> inside) {
    coflux::channel<int[1]> ch;
    for (int i = 0; i < 5000; ++i) {
        const auto guard = co_await m->lock();
        EXPECT_EQ(++*inside, 1);
        EXPECT_TRUE(co_await ch.send(i));
        EXPECT_EQ(co_await ch.receive(), i);
        --*inside;
    }
}
template <typename E>
coflux::task<void, E> two_beside_each_other(environment&) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    int inside = 0;
    auto a = sends_to_itself<E>(here, borrowed(m), borrowed(inside));
    auto b = sends_to_itself<E>(here, borrowed(m), borrowed(inside));
    co_await coflux::when_all(std::move(a), std::move(b));
}
TEST(law_08_ready_awaits, keep_what_they_were_given_while_others_run) {
    on_each_executor([]<typename E>(environment& env, E&) { return two_beside_each_other<E>(env); });
}

struct progress {
    coflux::mutex mutex;
    int done = 0;
};
constexpr int in_all = 10'000;
template <typename E>
coflux::fork<void, E> does_what_is_ready(environment&, borrowed<progress> p) {
    coflux::channel<int[1]> ch;
    for (; p->done < in_all; ++p->done) {
        const auto guard = co_await p->mutex.lock();
        EXPECT_TRUE(co_await ch.send(1));
        EXPECT_EQ(co_await ch.receive(), 1);
    }
    (void)co_await ch.receive();
    ADD_FAILURE() << "it was not stopped where it waits";
}
template <typename E>
coflux::task<void, E> stops_one(environment&) {
    auto&& here = co_await coflux::context();
    progress p;
    auto worker = does_what_is_ready<E>(here, borrowed(p));
    while (p.done == 0) co_await coflux::yield();
    EXPECT_LT(p.done, in_all) << "it lets others run";
    worker.request_stop();
    const coflux::outcome<void> end = co_await coflux::as_outcome(std::move(worker));
    EXPECT_TRUE(end.is_stopped());
    EXPECT_EQ(p.done, in_all) << "what need not wait is no stop point";
}
TEST(law_08_ready_awaits, are_no_stop_points) {
    on_each_executor([]<typename E>(environment& env, E&) { return stops_one<E>(env); });
}

coflux::task<void, coflux::noop_executor> alone(environment&, borrowed<std::size_t> done) {
    coflux::mutex m;
    for (; *done < give_up; ++*done) const auto guard = co_await m.lock();
}
TEST(law_08_ready_awaits, go_on_where_no_executor_runs_the_coroutine) {
    coflux::noop_executor noop;
    auto env = coflux::make_environment(noop);
    std::size_t done = 0;
    alone(env, borrowed(done)).get();
    EXPECT_EQ(done, give_up);
}

/// Takes turns at a lock that each task wants again as soon as it has given it up.
template <typename E, typename Take>
coflux::fork<void, E> takes_turns(environment&, Take take, int self, borrowed<std::vector<int>> turns) {
    while (turns->size() < 30'000) {
        const auto guard = co_await take();
        turns->push_back(self);
        // All wait for it then, and it is handed from each to the next.
        for (int i = 0; turns->size() == 1 && i < 10; ++i) co_await coflux::yield();
    }
}
template <typename E, typename Take>
call<void> keep_their_places(environment& here, Take take) {
    std::vector<int> turns;
    turns.reserve(30'003);
    auto a = takes_turns<E>(here, take, 0, borrowed(turns));
    auto b = takes_turns<E>(here, take, 1, borrowed(turns));
    auto c = takes_turns<E>(here, take, 2, borrowed(turns));
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    std::size_t out_of_turn = 0;
    for (std::size_t i = 10; i < 30'000; ++i) out_of_turn += turns[i] == turns[i - 3] ? 0 : 1;
    EXPECT_EQ(out_of_turn, 0U);
}
template <typename E>
coflux::task<void, E> all_keep_their_places(environment&) {
    auto&& here = co_await coflux::context();
    coflux::mutex mutex;
    co_await keep_their_places<E>(here, [&mutex] { return mutex.lock(); });
    coflux::shared_mutex shared;
    co_await keep_their_places<E>(here, [&shared] { return shared.lock(); });
    coflux::semaphore permits{1};
    co_await keep_their_places<E>(here, [&permits] { return permits.acquire_guard(); });
}
TEST(law_08_ready_awaits, keep_their_places_at_a_lock_that_others_wait_for) {
    on_each_executor([]<typename E>(environment& env, E&) { return all_keep_their_places<E>(env); });
}

// --- time ------------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> sleeps(environment&, borrowed<bool> served) {
    co_await coflux::sleep_for(1us);
    *served = true;
}
/// The timer is due before the awaits begin.
template <typename E>
coflux::task<bool, E> serves_a_timer(environment&) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    bool served = false;
    auto sleeper = sleeps<E>(here, borrowed(served));
    co_await coflux::yield();
    const auto begin = coflux::clock::now();
    while (coflux::clock::now() - begin < 1ms) {}
    constexpr std::size_t many = 10'000'000;  // in any case more than a worker's looks at the clock are apart
    for (std::size_t i = 0; !served && i < many; ++i) const auto guard = co_await m.lock();
    const bool in_time = served;
    co_await std::move(sleeper);
    co_return in_time;
}
TEST(law_08_ready_awaits, let_a_timer_come) {
    pool p(1);
    coflux::worker_executor w;
    auto env = coflux::make_environment(p, w);
    EXPECT_TRUE(serves_a_timer<pool>(env).get());
    EXPECT_TRUE(serves_a_timer<coflux::worker_executor>(env).get());
}

// --- counts ----------------------------------------------------------------------------------------------------------

TEST(law_08_ready_awaits, are_no_resumptions_of_a_run_loop) {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    auto root = [](environment&) -> coflux::task<void, coflux::run_loop> {
        coflux::mutex m;
        for (int i = 0; i < 100; ++i) const auto guard = co_await m.lock();
    }(env);
    EXPECT_EQ(loop.poll(), 1U);
    EXPECT_TRUE(root.done());
}

}  // namespace
