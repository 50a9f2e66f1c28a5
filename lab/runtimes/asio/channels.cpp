// Channels: Asio's experimental ones, and a strand as the lock that goes from coroutine to coroutine.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/strand.hpp>

#include <limits>
#include <thread>
#include <utility>
#include <vector>

namespace lab {
namespace {

using boost::system::error_code;
using numbers = std::vector<std::uint64_t>;

// channel takes no lock and is for one thread; concurrent_channel is for several.
template <typename T>
using channel = asio::experimental::channel<pool_executor, void(error_code, T)>;
template <typename T>
using concurrent_channel = asio::experimental::concurrent_channel<pool_executor, void(error_code, T)>;
template <typename T>
using one_thread_channel = asio::experimental::channel<loop_executor, void(error_code, T)>;

template <typename Channel>
using executor_of = typename Channel::executor_type;
template <typename Channel>
using task_of = asio::awaitable<std::uint64_t, executor_of<Channel>>;

// close() of Boost 1.81 throws away what the buffer holds, so the end is a value of its own; the numbers start with 1.
constexpr std::uint64_t end = 0;

// The asynchronous operations alone would go through the executor each time, also where they need not wait.
template <typename Channel>
task_of<Channel> send_numbers(Channel& to, std::uint64_t first, std::uint64_t last) {
    co_await to_the_queue_of<executor_of<Channel>>();
    for (std::uint64_t i = first; i <= last; ++i) {
        if (!to.try_send(error_code{}, i)) {
            co_await to.async_send(error_code{}, i, asio::deferred);
        }
    }
    co_return 0;
}

template <typename Channel>
task_of<Channel> receive_in_order(Channel& from, std::uint64_t count) {
    co_await to_the_queue_of<executor_of<Channel>>();
    harness::ordered_sum sum;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t value = 0;
        if (!from.try_receive([&value](error_code, std::uint64_t received) { value = received; })) {
            value = co_await from.async_receive(asio::deferred);
        }
        sum.add(value);
    }
    co_return sum.value();
}

template <typename Channel>
task_of<Channel> receive_to_the_end(Channel& from) {
    co_await to_the_queue_of<executor_of<Channel>>();
    for (std::uint64_t sum = 0;;) {
        std::uint64_t value = 0;
        if (!from.try_receive([&value](error_code, std::uint64_t received) { value = received; })) {
            value = co_await from.async_receive(asio::deferred);
        }
        if (value == end) {
            co_return sum;
        }
        sum += value;
    }
}

template <typename Channel>
task_of<Channel> send_batches(Channel& to, std::uint64_t batches, std::uint64_t batch) {
    co_await to_the_queue_of<executor_of<Channel>>();
    for (std::uint64_t b = 0; b < batches; ++b) {
        to.try_send(error_code{}, harness::batch_of(b, batch));  // there is room for all
        // As the other adapters whose send does not wait: the queue stays short, and the vectors warm.
        if (b % 64 == 63) {
            co_await asio::defer(asio::deferred);
        }
    }
    co_return 0;
}

template <typename Channel>
task_of<Channel> receive_batches(Channel& from, std::uint64_t batches) {
    co_await to_the_queue_of<executor_of<Channel>>();
    harness::ordered_sum sum;
    for (std::uint64_t b = 0; b < batches; ++b) {
        numbers received;
        if (!from.try_receive([&received](error_code, numbers batch) { received = std::move(batch); })) {
            received = co_await from.async_receive(asio::deferred);
        }
        sum.add(harness::sum_of(received));
    }
    co_return sum.value();
}

template <typename Channel>
task_of<Channel> run_one_to_one(std::uint64_t capacity, std::uint64_t count, harness::stopwatch& watch) {
    const executor_of<Channel> on = co_await asio::this_coro::executor;
    Channel values{on, capacity};
    sum_of_children_on<executor_of<Channel>> both{2};
    watch.start();
    asio::co_spawn(on, send_numbers(values, 1, count), both.delivery());
    asio::co_spawn(on, receive_in_order(values, count), both.delivery());
    const std::uint64_t sum = co_await both.wait();
    watch.stop();
    co_return sum;
}

template <typename Channel>
task_of<Channel> run_many_to_many(std::uint64_t capacity, const std::vector<harness::share>& shares,
                                  std::uint64_t consumers, harness::stopwatch& watch) {
    const executor_of<Channel> on = co_await asio::this_coro::executor;
    Channel values{on, capacity};
    sum_of_children_on<executor_of<Channel>> producers{shares.size()};
    sum_of_children_on<executor_of<Channel>> receivers{consumers};
    watch.start();
    for (const harness::share& mine : shares) {
        asio::co_spawn(on, send_numbers(values, mine.first, mine.last), producers.delivery());
    }
    for (std::uint64_t c = 0; c < consumers; ++c) {
        asio::co_spawn(on, receive_to_the_end(values), receivers.delivery());
    }
    co_await producers.wait();
    for (std::uint64_t c = 0; c < consumers; ++c) {
        co_await values.async_send(error_code{}, end, asio::deferred);
    }
    const std::uint64_t sum = co_await receivers.wait();
    watch.stop();
    co_return sum;
}

template <typename Channel>
task_of<Channel> run_batches(std::uint64_t batches, std::uint64_t batch, harness::stopwatch& watch) {
    const executor_of<Channel> on = co_await asio::this_coro::executor;
    Channel values{on, std::numeric_limits<std::size_t>::max()};
    sum_of_children_on<executor_of<Channel>> both{2};
    watch.start();
    asio::co_spawn(on, send_batches(values, batches, batch), both.delivery());
    asio::co_spawn(on, receive_batches(values, batches), both.delivery());
    const std::uint64_t sum = co_await both.wait();
    watch.stop();
    co_return sum;
}

// A post to the strand gives the strand up and queues behind all that wait for it: unlock and lock in one.
template <typename Executor>
asio::awaitable<std::uint64_t, Executor> count_in(asio::strand<Executor> lock, std::uint64_t& counter,
                                                  std::uint64_t locks) {
    co_await to_the_queue_of<Executor>();
    for (std::uint64_t i = 0; i < locks; ++i) {
        co_await asio::post(lock, asio::deferred);
        const std::uint64_t before = counter;
        if (i == 0) {
            // A suspension would give the strand up, so the thread waits a moment for one that it should keep out.
            std::this_thread::yield();
        }
        counter = before + 1;
    }
    co_return locks;
}

template <typename Executor>
asio::awaitable<std::uint64_t, Executor> run_handoff(std::uint64_t tasks, std::uint64_t locks,
                                                     harness::stopwatch& watch) {
    const Executor on = co_await asio::this_coro::executor;
    asio::strand<Executor> lock{on};
    std::uint64_t counter = 0;
    sum_of_children_on<Executor> all{tasks};
    watch.start();
    for (std::uint64_t t = 0; t < tasks; ++t) {
        asio::co_spawn(on, count_in(lock, counter, locks), all.delivery());
    }
    co_await all.wait();
    watch.stop();
    co_return counter;
}

harness::measured one_to_one(const harness::request& r, std::uint64_t capacity) {
    const std::uint64_t count = r.integer("count");
    const auto root =
        r.threads() == 1 ? run_one_to_one<channel<std::uint64_t>> : run_one_to_one<concurrent_channel<std::uint64_t>>;
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, root(capacity, count, watch)); });
}

harness::measured one_to_one_on_one_thread(const harness::request& r, std::uint64_t capacity) {
    const std::uint64_t count = r.integer("count");
    return measure_on_one_thread(r, [=](harness::stopwatch& watch) {
        return run_one_to_one<one_thread_channel<std::uint64_t>>(capacity, count, watch);
    });
}

}  // namespace

harness::measured channel_spsc(const harness::request& r) {
    return one_to_one(r, r.integer("capacity"));
}

harness::measured channel_spsc_expert(const harness::request& r) {
    return one_to_one_on_one_thread(r, r.integer("capacity"));
}

harness::measured channel_rendezvous(const harness::request& r) {
    return one_to_one(r, 0);
}

harness::measured channel_rendezvous_expert(const harness::request& r) {
    return one_to_one_on_one_thread(r, 0);
}

harness::measured channel_mpmc_expert(const harness::request& r) {
    const std::uint64_t capacity = r.integer("capacity");
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    return measure_on_one_thread(r, [&](harness::stopwatch& watch) {
        return run_many_to_many<one_thread_channel<std::uint64_t>>(capacity, shares, consumers, watch);
    });
}

harness::measured mpsc_batches_expert(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    return measure_on_one_thread(
        r, [=](harness::stopwatch& watch) { return run_batches<one_thread_channel<numbers>>(batches, batch, watch); });
}

harness::measured mutex_handoff_expert(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t locks = r.integer("locks");
    return measure_on_one_thread(
        r, [=](harness::stopwatch& watch) { return run_handoff<loop_executor>(tasks, locks, watch); });
}

harness::measured channel_mpmc(const harness::request& r) {
    const std::uint64_t capacity = r.integer("capacity");
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    const auto root = r.threads() == 1 ? run_many_to_many<channel<std::uint64_t>>
                                       : run_many_to_many<concurrent_channel<std::uint64_t>>;
    asio::thread_pool pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, root(capacity, shares, consumers, watch)); });
}

harness::measured oversubscribed(const harness::request& r) {
    const harness::crowd crowd{r};
    if (!crowd.sends()) {
        return forks_of_a_crowd(r);
    }
    const std::vector<harness::share> shares = crowd.shares();
    asio::thread_pool pool{crowd.workers()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(pool,
                   run_many_to_many<concurrent_channel<std::uint64_t>>(crowd.capacity, shares, crowd.receivers, watch));
    });
}

harness::measured mpsc_batches(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    const auto root = r.threads() == 1 ? run_batches<channel<numbers>> : run_batches<concurrent_channel<numbers>>;
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, root(batches, batch, watch)); });
}

harness::measured mutex_handoff(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t locks = r.integer("locks");
    asio::thread_pool pool{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(pool, run_handoff<pool_executor>(tasks, locks, watch)); });
}

}  // namespace lab
