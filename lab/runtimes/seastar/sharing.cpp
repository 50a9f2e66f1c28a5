// Two coroutines of one shard share a queue, or a lock.
#include "definitions.hpp"
#include "workloads.hpp"

#include <seastar/core/loop.hh>
#include <seastar/core/queue.hh>
#include <seastar/core/semaphore.hh>
#include <seastar/core/when_all.hh>
#include <seastar/util/later.hh>

#include <ranges>
#include <vector>

namespace lab {
namespace {

using numbers = std::vector<std::uint64_t>;

ss::future<> send_numbers(ss::queue<std::uint64_t>& to, std::uint64_t count) {
    for (std::uint64_t i = 1; i <= count; ++i) {
        co_await to.push_eventually(std::uint64_t{i});
    }
}

ss::future<> receive_in_order(ss::queue<std::uint64_t>& from, std::uint64_t count, harness::ordered_sum& sum) {
    for (std::uint64_t i = 0; i < count; ++i) {
        sum.add(co_await from.pop_eventually());
    }
}

ss::future<std::uint64_t> run_one_to_one(std::uint64_t capacity, std::uint64_t count, harness::stopwatch& watch) {
    ss::queue<std::uint64_t> values{capacity};
    harness::ordered_sum sum;
    watch.start();
    co_await ss::when_all_succeed(send_numbers(values, count), receive_in_order(values, count, sum)).discard_result();
    watch.stop();
    co_return sum.value();
}

ss::future<> send_batches(ss::queue<numbers>& to, std::uint64_t batches, std::uint64_t batch) {
    for (std::uint64_t b = 0; b < batches; ++b) {
        co_await to.push_eventually(harness::batch_of(b, batch));
    }
}

ss::future<> receive_batches(ss::queue<numbers>& from, std::uint64_t batches, harness::ordered_sum& sum) {
    for (std::uint64_t b = 0; b < batches; ++b) {
        sum.add(harness::sum_of(co_await from.pop_eventually()));
    }
}

// A queue has a bound, and this one is never full.
ss::future<std::uint64_t> run_batches(std::uint64_t batches, std::uint64_t batch, harness::stopwatch& watch) {
    ss::queue<numbers> values{batches};
    harness::ordered_sum sum;
    watch.start();
    co_await ss::when_all_succeed(send_batches(values, batches, batch), receive_batches(values, batches, sum))
        .discard_result();
    watch.stop();
    co_return sum.value();
}

struct contest {
    std::uint64_t tasks;
    std::uint64_t locks;
    ss::semaphore lock{1};
    std::uint64_t counter = 0;
    std::uint64_t present = 0;
};

ss::future<> count_under_lock(contest& shared) {
    ++shared.present;
    for (std::uint64_t i = 0; i < shared.locks; ++i) {
        const auto unit = co_await ss::get_units(shared.lock, 1);
        const std::uint64_t before = shared.counter;
        // The first time, until all have come for the lock: a queue that is never empty keeps itself up.
        while (i == 0 && shared.present < shared.tasks) {
            co_await ss::yield();
        }
        shared.counter = before + 1;
    }
}

ss::future<std::uint64_t> run_handoff(std::uint64_t tasks, std::uint64_t locks, harness::stopwatch& watch) {
    contest shared{.tasks = tasks, .locks = locks};
    watch.start();
    co_await ss::parallel_for_each(std::views::iota(std::uint64_t{0}, tasks),
                                   [&shared](std::uint64_t) { return count_under_lock(shared); });
    watch.stop();
    co_return shared.counter;
}

}  // namespace

harness::measured channel_spsc(const harness::request& r, waiting how) {
    const std::uint64_t count = r.integer("count");
    const std::uint64_t capacity = r.integer("capacity");
    return measure_on(1, how, r,
                      [count, capacity](harness::stopwatch& watch) { return run_one_to_one(capacity, count, watch); });
}

harness::measured mpsc_batches(const harness::request& r, waiting how) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    return measure_on(1, how, r,
                      [batches, batch](harness::stopwatch& watch) { return run_batches(batches, batch, watch); });
}

harness::measured mutex_handoff(const harness::request& r, waiting how) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t locks = r.integer("locks");
    return measure_on(1, how, r,
                      [tasks, locks](harness::stopwatch& watch) { return run_handoff(tasks, locks, watch); });
}

}  // namespace lab
