// Batches and records on their way: a coordinator, partitions and their receivers.
#include "adapter.hpp"
#include "definitions.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <folly/coro/BoundedQueue.h>
#include <folly/coro/CurrentExecutor.h>
#include <folly/coro/Mutex.h>
#include <folly/coro/Sleep.h>
#include <folly/coro/UnboundedQueue.h>

#include <cstddef>
#include <memory>
#include <string>

namespace lab {
namespace {

using dispatched = harness::dispatched;
using how = harness::partition_work::receiver;
using dispatch_queue = coro::UnboundedQueue<dispatched, true, true>;

task<std::uint64_t> dispatch_batches(dispatch_queue& to, const harness::partition_work& work) {
    for (std::uint64_t number = 1; number <= work.batches; ++number) {
        if (work.gap.count() != 0) {
            co_await coro::sleep(work.gap);
        } else {
            co_await coro::co_reschedule_on_current_executor;
        }
        to.enqueue(harness::dispatch_now(number));
    }
    co_return 0;
}

task<std::uint64_t> receive_batches(dispatch_queue& from, const harness::partition_work& work,
                                    harness::stopwatch& watch) {
    harness::ordered_sum sum;
    for (std::uint64_t received = 0; received < work.batches;) {
        dispatched batch{};
        const bool there = from.try_dequeue(batch);
        if (!there && work.how == how::polls) {
            co_await coro::co_reschedule_on_current_executor;
            continue;
        }
        if (!there) {
            batch = co_await from.dequeue();
        }
        harness::arrived(watch, batch);
        for (std::uint64_t y = 0; y < work.yields; ++y) {
            co_await coro::co_reschedule_on_current_executor;
        }
        sum.add(batch.number);
        ++received;
    }
    co_return sum.value();
}

task<std::uint64_t> run_partition(pool& threads, const harness::partition_work& work, harness::stopwatch& watch) {
    dispatch_queue batches;
    watch.start();
    const auto [sent, sum] = co_await coro::collectAll(fork_to(threads, dispatch_batches(batches, work)),
                                                       fork_to(threads, receive_batches(batches, work, watch)));
    watch.stop();
    co_return sent + sum;
}

// Batches that a receiver has not begun with hold their reader up.
constexpr std::uint32_t most_batches_waiting = 16;

using record_queue = coro::BoundedQueue<harness::record_batch, true, true>;
using record_queues = std::vector<std::unique_ptr<record_queue>>;

// An empty batch is the end: a queue cannot be closed.
task<std::uint64_t> route(const record_queues& to, const harness::record_work& work) {
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        auto parts = harness::routed(work.read(b), to.size());
        for (std::size_t p = 0; p < to.size(); ++p) {
            if (!parts[p].empty()) {
                co_await to[p]->enqueue(std::move(parts[p]));
            }
        }
    }
    for (const auto& each : to) {
        co_await each->enqueue(harness::record_batch{});
    }
    co_return 0;
}

// Several engines are the receivers' own; a shared one has a lock.
struct shared_engine {
    harness::engine engine;
    coro::Mutex lock{};
};

task<std::uint64_t> process_batches(record_queue& from, const harness::record_work& work, shared_engine* shared) {
    harness::engine own{work};
    for (;;) {
        const harness::record_batch batch = co_await from.dequeue();
        if (batch.empty()) {
            co_return own.answer();
        }
        if (shared == nullptr) {
            own.process(batch);
            continue;
        }
        for (const harness::record each : batch) {
            const auto guard = co_await shared->lock.co_scoped_lock();
            shared->engine.process(each);
        }
    }
}

task<std::uint64_t> run_plain(const harness::record_work& work, harness::stopwatch& watch) {
    watch.start();
    harness::engine own{work};
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        own.process(work.read(b));
    }
    watch.stop();
    co_return own.answer();
}

task<std::uint64_t> run_partitions(pool& threads, const harness::record_work& work, std::uint64_t partitions,
                                   bool shares, harness::stopwatch& watch) {
    watch.start();
    shared_engine shared{harness::engine{work}};
    record_queues queues;
    std::vector<forked<std::uint64_t>> all;
    all.reserve(partitions + 1);
    for (std::uint64_t p = 0; p < partitions; ++p) {
        auto& mine = *queues.emplace_back(std::make_unique<record_queue>(most_batches_waiting));
        all.push_back(fork_to(threads, process_batches(mine, work, shares ? &shared : nullptr)));
    }
    all.push_back(fork_to(threads, route(queues, work)));
    const std::uint64_t sum = sum_of_all(co_await coro::collectAllRange(std::move(all)));
    watch.stop();
    co_return sum + shared.engine.answer();
}

}  // namespace

harness::measured partition_receiver(const harness::request& r) {
    const harness::partition_work work{r};
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_partition(threads, work, watch)); });
}

harness::measured record_path(const harness::request& r) {
    const harness::record_work work{r};
    const std::string path = r.choice("path", {"plain", "direct", "coordinator", "shared"});
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        if (path == "plain") {
            return run(threads, run_plain(work, watch));
        }
        return run(threads,
                   run_partitions(threads, work, path == "direct" ? 1 : work.partitions, path == "shared", watch));
    });
}

}  // namespace lab
