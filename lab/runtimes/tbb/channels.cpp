// Channels: concurrent_bounded_queue between threads. A TBB task that waits in a queue keeps its thread, so tasks of an
// arena that send to each other may wait for ever.
#include "crew.hpp"
#include "definitions.hpp"
#include "workloads.hpp"

#include <tbb/concurrent_queue.h>

#include <atomic>
#include <vector>

namespace lab {
namespace {

using numbers = tbb::concurrent_bounded_queue<std::uint64_t>;

// The queue cannot be closed while a task waits for its numbers, which start with 1.
constexpr std::uint64_t end = 0;

}  // namespace

harness::measured channel_spsc(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const auto capacity = static_cast<numbers::size_type>(r.integer("capacity"));
    return harness::measure(r, [=](harness::stopwatch& watch) {
        numbers queue;
        queue.set_capacity(capacity);
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&queue, count] {
            for (std::uint64_t i = 1; i <= count; ++i) {
                queue.push(i);
            }
        });
        threads.add([&queue, &sum, count] {
            for (std::uint64_t i = 0; i < count; ++i) {
                std::uint64_t value = 0;
                queue.pop(value);
                sum.add(value);
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

harness::measured channel_mpmc(const harness::request& r) {
    const auto capacity = static_cast<numbers::size_type>(r.integer("capacity"));
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        numbers queue;
        queue.set_capacity(capacity);
        std::atomic<std::uint64_t> sending{shares.size()};
        std::atomic<std::uint64_t> sum{0};
        harness::crew threads{shares.size() + consumers};
        for (const harness::share mine : shares) {
            threads.add([&queue, &sending, consumers, mine] {
                for (std::uint64_t i = mine.first; i <= mine.last; ++i) {
                    queue.push(i);
                }
                if (sending.fetch_sub(1) == 1) {
                    for (std::uint64_t c = 0; c < consumers; ++c) {
                        queue.push(end);
                    }
                }
            });
        }
        for (std::uint64_t c = 0; c < consumers; ++c) {
            threads.add([&queue, &sum] {
                std::uint64_t mine = 0;
                for (std::uint64_t value = 0; queue.pop(value), value != end;) {
                    mine += value;
                }
                sum.fetch_add(mine);
            });
        }
        threads.run(watch);
        return sum.load();
    });
}

harness::measured mpsc_batches(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    return harness::measure(r, [=](harness::stopwatch& watch) {
        tbb::concurrent_bounded_queue<std::vector<std::uint64_t>> queue;
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&queue, batches, batch] {
            for (std::uint64_t b = 0; b < batches; ++b) {
                queue.push(harness::batch_of(b, batch));
            }
        });
        threads.add([&queue, &sum, batches] {
            for (std::uint64_t b = 0; b < batches; ++b) {
                std::vector<std::uint64_t> received;
                queue.pop(received);
                sum.add(harness::sum_of(received));
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

}  // namespace lab
