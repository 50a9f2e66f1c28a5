// Batches and records on their way: a coordinator, partitions and their receivers.
#include "adapter.hpp"
#include "definitions.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lab {
namespace {

using boost::system::error_code;
using dispatched = harness::dispatched;
using how = harness::partition_work::receiver;
template <typename Executor>
using timer_on = asio::basic_waitable_timer<harness::wait_clock, asio::wait_traits<harness::wait_clock>, Executor>;

// channel takes no lock and is for one thread; concurrent_channel is for several.
template <typename T>
using one_thread = asio::experimental::channel<pool_executor, void(error_code, T)>;
template <typename T>
using on_a_loop = asio::experimental::channel<loop_executor, void(error_code, T)>;
template <typename T>
using many_threads = asio::experimental::concurrent_channel<pool_executor, void(error_code, T)>;

template <typename Channel>
using executor_of = typename Channel::executor_type;
template <typename Channel>
using task_of = asio::awaitable<std::uint64_t, executor_of<Channel>>;

template <typename Channel>
task_of<Channel> dispatch_batches(Channel& to, const harness::partition_work& work) {
    const executor_of<Channel> on = co_await to_the_queue_of<executor_of<Channel>>();
    timer_on<executor_of<Channel>> alarm{on};
    for (std::uint64_t number = 1; number <= work.batches; ++number) {
        if (work.gap.count() != 0) {
            alarm.expires_after(work.gap);
            co_await alarm.async_wait(asio::deferred);
        } else {
            co_await asio::defer(asio::deferred);
        }
        to.try_send(error_code{}, harness::dispatch_now(number));
    }
    co_return 0;
}

template <typename Channel>
task_of<Channel> receive_batches(Channel& from, const harness::partition_work& work, harness::stopwatch& watch) {
    co_await to_the_queue_of<executor_of<Channel>>();
    harness::ordered_sum sum;
    for (std::uint64_t received = 0; received < work.batches;) {
        dispatched batch{};
        bool there = from.try_receive([&batch](error_code, dispatched each) { batch = each; });
        if (!there && work.how == how::polls) {
            co_await asio::defer(asio::deferred);
            continue;
        }
        if (!there) {
            batch = co_await from.async_receive(asio::deferred);
        }
        harness::arrived(watch, batch);
        for (std::uint64_t y = 0; y < work.yields; ++y) {
            co_await asio::defer(asio::deferred);
        }
        sum.add(batch.number);
        ++received;
    }
    co_return sum.value();
}

template <typename Channel>
task_of<Channel> run_partition(const harness::partition_work& work, harness::stopwatch& watch) {
    const executor_of<Channel> on = co_await asio::this_coro::executor;
    Channel batches{on, std::numeric_limits<std::size_t>::max()};
    sum_of_children_on<executor_of<Channel>> both{2};
    watch.start();
    asio::co_spawn(on, dispatch_batches(batches, work), both.delivery());
    asio::co_spawn(on, receive_batches(batches, work, watch), both.delivery());
    const std::uint64_t sum = co_await both.wait();
    watch.stop();
    co_return sum;
}

// Batches that a receiver has not begun with hold their reader up.
constexpr std::size_t most_batches_waiting = 16;

template <typename Channel>
using channels = std::vector<std::unique_ptr<Channel>>;

// An empty batch is the end: close() of Boost 1.81 throws away what the buffer holds.
template <typename Channel>
task_of<Channel> route(const channels<Channel>& to, const harness::record_work& work) {
    co_await to_the_queue_of<executor_of<Channel>>();
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        auto parts = harness::routed(work.read(b), to.size());
        for (std::size_t p = 0; p < to.size(); ++p) {
            if (!parts[p].empty()) {
                co_await to[p]->async_send(error_code{}, std::move(parts[p]), asio::deferred);
            }
        }
    }
    for (const auto& each : to) {
        co_await each->async_send(error_code{}, harness::record_batch{}, asio::deferred);
    }
    co_return 0;
}

// Several engines are the receivers' own; a shared one has a lock, which no receiver keeps over a wait.
struct shared_engine {
    harness::engine engine;
    std::mutex lock{};

    void process(harness::record each) {
        const std::lock_guard held{lock};
        engine.process(each);
    }
};

template <typename Channel>
task_of<Channel> process_batches(Channel& from, const harness::record_work& work, shared_engine* shared) {
    co_await to_the_queue_of<executor_of<Channel>>();
    harness::engine own{work};
    for (;;) {
        const harness::record_batch batch = co_await from.async_receive(asio::deferred);
        if (batch.empty()) {
            co_return own.answer();
        }
        if (shared == nullptr) {
            own.process(batch);
            continue;
        }
        for (const harness::record each : batch) {
            shared->process(each);
        }
    }
}

template <typename Executor>
asio::awaitable<std::uint64_t, Executor> run_plain(const harness::record_work& work, harness::stopwatch& watch) {
    watch.start();
    harness::engine own{work};
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        own.process(work.read(b));
    }
    watch.stop();
    co_return own.answer();
}

template <typename Channel>
task_of<Channel> run_partitions(const harness::record_work& work, std::uint64_t partitions, bool shares,
                                harness::stopwatch& watch) {
    const executor_of<Channel> on = co_await asio::this_coro::executor;
    watch.start();
    shared_engine shared{harness::engine{work}};
    channels<Channel> queues;
    sum_of_children_on<executor_of<Channel>> all{partitions + 1};
    for (std::uint64_t p = 0; p < partitions; ++p) {
        auto& mine = *queues.emplace_back(std::make_unique<Channel>(on, most_batches_waiting));
        asio::co_spawn(on, process_batches(mine, work, shares ? &shared : nullptr), all.delivery());
    }
    asio::co_spawn(on, route(queues, work), all.delivery());
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum + shared.engine.answer();
}

}  // namespace

harness::measured partition_receiver(const harness::request& r) {
    const harness::partition_work work{r};
    const auto root =
        r.threads() == 1 ? run_partition<one_thread<dispatched>> : run_partition<many_threads<dispatched>>;
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, root(work, watch)); });
}

harness::measured record_path(const harness::request& r) {
    const harness::record_work work{r};
    const std::string path = r.choice("path", {"plain", "direct", "coordinator", "shared"});
    const auto root = r.threads() == 1 ? run_partitions<one_thread<harness::record_batch>>
                                       : run_partitions<many_threads<harness::record_batch>>;
    asio::thread_pool pool{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        if (path == "plain") {
            return run(pool, run_plain<pool_executor>(work, watch));
        }
        return run(pool, root(work, path == "direct" ? 1 : work.partitions, path == "shared", watch));
    });
}

harness::measured partition_receiver_expert(const harness::request& r) {
    const harness::partition_work work{r};
    return measure_on_one_thread(
        r, [&](harness::stopwatch& watch) { return run_partition<on_a_loop<dispatched>>(work, watch); });
}

harness::measured record_path_expert(const harness::request& r) {
    const harness::record_work work{r};
    const std::string path = r.choice("path", {"plain", "direct", "coordinator", "shared"});
    return measure_on_one_thread(r, [&](harness::stopwatch& watch) {
        if (path == "plain") {
            return run_plain<loop_executor>(work, watch);
        }
        return run_partitions<on_a_loop<harness::record_batch>>(work, path == "direct" ? 1 : work.partitions,
                                                                path == "shared", watch);
    });
}

}  // namespace lab
