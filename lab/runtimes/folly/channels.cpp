// Folly's queues for coroutines: bounded ones with a place for each number, and one without a bound for batches.
#include "adapter.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

#include <folly/coro/BoundedQueue.h>
#include <folly/coro/UnboundedQueue.h>

namespace lab {
namespace {

using numbers = std::vector<std::uint64_t>;
using one_to_one = coro::BoundedQueue<std::uint64_t, true, true>;
using many_to_many = coro::BoundedQueue<std::uint64_t>;
using many_to_one = coro::UnboundedQueue<numbers, false, true>;

// A queue cannot be closed, so the end is a value of its own; the numbers start with 1.
constexpr std::uint64_t end = 0;

// enqueue() and dequeue() are coroutines, also where they need not wait: an expert tries first.
enum class access { waits, tries_first };

template <access How, typename Queue>
task<std::uint64_t> send_numbers(Queue& to, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i <= last; ++i) {
        if (How == access::waits || !to.try_enqueue(i)) {
            co_await to.enqueue(i);
        }
    }
    co_return 0;
}

template <access How, typename Queue>
task<std::uint64_t> receive_in_order(Queue& from, std::uint64_t count) {
    harness::ordered_sum sum;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t value = 0;
        if (How == access::waits || !from.try_dequeue(value)) {
            value = co_await from.dequeue();
        }
        sum.add(value);
    }
    co_return sum.value();
}

template <access How, typename Queue>
task<std::uint64_t> receive_to_the_end(Queue& from) {
    for (std::uint64_t sum = 0;;) {
        std::uint64_t value = 0;
        if (How == access::waits || !from.try_dequeue(value)) {
            value = co_await from.dequeue();
        }
        if (value == end) {
            co_return sum;
        }
        sum += value;
    }
}

template <access How>
task<std::uint64_t> run_one_to_one(pool& threads, std::uint64_t capacity, std::uint64_t count,
                                   harness::stopwatch& watch) {
    one_to_one values{static_cast<std::uint32_t>(capacity)};
    watch.start();
    const auto [sent, sum] = co_await coro::collectAll(fork_to(threads, send_numbers<How>(values, 1, count)),
                                                       fork_to(threads, receive_in_order<How>(values, count)));
    watch.stop();
    co_return sent + sum;
}

template <access How>
task<std::uint64_t> run_many_to_many(pool& threads, std::uint64_t capacity, const std::vector<harness::share>& shares,
                                     std::uint64_t consumers, harness::stopwatch& watch) {
    many_to_many values{static_cast<std::uint32_t>(capacity)};
    std::vector<forked<std::uint64_t>> senders;
    std::vector<forked<std::uint64_t>> receivers;
    senders.reserve(shares.size());
    receivers.reserve(consumers);
    watch.start();
    for (const harness::share& mine : shares) {
        senders.push_back(fork_to(threads, send_numbers<How>(values, mine.first, mine.last)));
    }
    for (std::uint64_t c = 0; c < consumers; ++c) {
        receivers.push_back(fork_to(threads, receive_to_the_end<How>(values)));
    }
    const auto send_all = [&]() -> task<std::uint64_t> {
        co_await coro::collectAllRange(std::move(senders));
        for (std::uint64_t c = 0; c < consumers; ++c) {
            co_await values.enqueue(end);
        }
        co_return 0;
    };
    const auto [received, sent] = co_await coro::collectAll(coro::collectAllRange(std::move(receivers)), send_all());
    watch.stop();
    co_return sent + sum_of_all(received);
}

task<std::uint64_t> send_batches(many_to_one& to, std::uint64_t batches, std::uint64_t batch) {
    for (std::uint64_t b = 0; b < batches; ++b) {
        to.enqueue(harness::batch_of(b, batch));
    }
    co_return 0;
}

template <access How>
task<std::uint64_t> receive_batches(many_to_one& from, std::uint64_t batches) {
    harness::ordered_sum sum;
    for (std::uint64_t b = 0; b < batches; ++b) {
        numbers received;
        if (How == access::waits || !from.try_dequeue(received)) {
            received = co_await from.dequeue();
        }
        sum.add(harness::sum_of(received));
    }
    co_return sum.value();
}

template <access How>
task<std::uint64_t> run_batches(pool& threads, std::uint64_t batches, std::uint64_t batch, harness::stopwatch& watch) {
    many_to_one values;
    watch.start();
    const auto [sent, sum] = co_await coro::collectAll(fork_to(threads, send_batches(values, batches, batch)),
                                                       fork_to(threads, receive_batches<How>(values, batches)));
    watch.stop();
    co_return sent + sum;
}

template <access How>
harness::measured measure_spsc(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::uint64_t capacity = r.integer("capacity");
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(threads, run_one_to_one<How>(threads, capacity, count, watch));
    });
}

template <access How>
harness::measured measure_mpmc(const harness::request& r) {
    const std::uint64_t capacity = r.integer("capacity");
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    pool threads{r.threads()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(threads, run_many_to_many<How>(threads, capacity, shares, consumers, watch));
    });
}

template <access How>
harness::measured measure_batches(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    pool threads{r.threads()};
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run(threads, run_batches<How>(threads, batches, batch, watch)); });
}

}  // namespace

harness::measured channel_spsc(const harness::request& r) {
    return measure_spsc<access::waits>(r);
}

harness::measured channel_spsc_expert(const harness::request& r) {
    return measure_spsc<access::tries_first>(r);
}

harness::measured channel_mpmc(const harness::request& r) {
    return measure_mpmc<access::waits>(r);
}

harness::measured channel_mpmc_expert(const harness::request& r) {
    return measure_mpmc<access::tries_first>(r);
}

harness::measured mpsc_batches(const harness::request& r) {
    return measure_batches<access::waits>(r);
}

harness::measured mpsc_batches_expert(const harness::request& r) {
    return measure_batches<access::tries_first>(r);
}

harness::measured oversubscribed(const harness::request& r) {
    const harness::crowd crowd{r};
    if (!crowd.sends()) {
        return forks_of_a_crowd(r);
    }
    const std::vector<harness::share> shares = crowd.shares();
    pool threads{crowd.workers()};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run(threads,
                   run_many_to_many<access::tries_first>(threads, crowd.capacity, shares, crowd.receivers, watch));
    });
}

}  // namespace lab
