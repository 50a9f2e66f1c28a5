// Batches and records on their way between threads.
#include "crew.hpp"
#include "definitions.hpp"
#include "queue.hpp"
#include "seed_work.hpp"
#include "threads.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace lab {
namespace {

using how = harness::partition_work::receiver;
using dispatch_queue = blocking_queue<harness::dispatched>;
using batch_queue = blocking_queue<harness::record_batch>;

constexpr std::size_t most_batches_waiting = 16;

std::uint64_t receive(dispatch_queue& from, const harness::partition_work& work, harness::stopwatch& watch) {
    harness::ordered_sum sum;
    for (std::uint64_t received = 0; received < work.batches;) {
        const auto batch = work.how == how::polls ? from.try_pop() : from.pop();
        if (!batch) {
            std::this_thread::yield();
            continue;
        }
        harness::arrived(watch, *batch);
        for (std::uint64_t y = 0; y < work.yields; ++y) {
            std::this_thread::yield();
        }
        sum.add(batch->number);
        ++received;
    }
    return sum.value();
}

std::uint64_t process_all(batch_queue& from, harness::engine& own) {
    while (const auto batch = from.pop()) {
        own.process(*batch);
    }
    return own.answer();
}

// As many partitions as there are queues. The deque moves nothing.
void route(const harness::record_work& work, std::deque<batch_queue>& to) {
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        auto parts = harness::routed(work.read(b), to.size());
        for (std::size_t p = 0; p < to.size(); ++p) {
            if (!parts[p].empty()) {
                to[p].push(std::move(parts[p]));
            }
        }
    }
    for (auto& each : to) {
        each.close();
    }
}

std::uint64_t run_plain(const harness::record_work& work, harness::stopwatch& watch) {
    watch.start();
    harness::engine own{work};
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        own.process(work.read(b));
    }
    watch.stop();
    return own.answer();
}

std::uint64_t run_direct(const harness::record_work& work, harness::stopwatch& watch) {
    batch_queue queue{most_batches_waiting};
    harness::engine own{work};
    harness::crew threads{2};
    threads.add([&] {
        for (std::uint64_t b = 0; b < work.batches(); ++b) {
            queue.push(work.read(b));
        }
        queue.close();
    });
    threads.add([&] { process_all(queue, own); });
    threads.run(watch);
    return own.answer();
}

std::uint64_t run_partitions(const harness::record_work& work, bool shares, harness::stopwatch& watch) {
    std::deque<batch_queue> queues;
    std::atomic<std::uint64_t> sum{0};
    harness::engine shared{work};
    std::mutex lock;
    harness::crew threads{work.partitions + 1};
    for (std::uint64_t p = 0; p < work.partitions; ++p) {
        auto& mine = queues.emplace_back(most_batches_waiting);
        threads.add([&, shares] {
            if (!shares) {
                harness::engine own{work};
                sum.fetch_add(process_all(mine, own));
                return;
            }
            while (const auto batch = mine.pop()) {
                for (const harness::record each : *batch) {
                    const std::lock_guard held{lock};
                    shared.process(each);
                }
            }
        });
    }
    threads.add([&] { route(work, queues); });
    threads.run(watch);
    return sum.load() + shared.answer();
}

}  // namespace

harness::measured partition_receiver(const harness::request& r) {
    const harness::partition_work work{r};
    return harness::measure(r, [&work](harness::stopwatch& watch) {
        dispatch_queue queue{dispatch_queue::unbounded};
        std::uint64_t sum = 0;
        harness::crew threads{2};
        threads.add([&] {
            for (std::uint64_t number = 1; number <= work.batches; ++number) {
                if (work.gap.count() != 0) {
                    std::this_thread::sleep_for(work.gap);
                } else {
                    std::this_thread::yield();
                }
                queue.push(harness::dispatch_now(number));
            }
        });
        threads.add([&] { sum = receive(queue, work, watch); });
        threads.run(watch);
        return sum;
    });
}

harness::measured record_path(const harness::request& r) {
    const harness::record_work work{r};
    const std::string path = r.choice("path", {"plain", "direct", "coordinator", "shared"});
    return harness::measure(r, [&](harness::stopwatch& watch) {
        if (path == "plain") {
            return run_plain(work, watch);
        }
        return path == "direct" ? run_direct(work, watch) : run_partitions(work, path == "shared", watch);
    });
}

}  // namespace lab
