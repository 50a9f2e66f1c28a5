// Batches and records on their way: a coordinator, partitions and their receivers.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/01-first-program.md
#include "definitions.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;
using dispatched = harness::dispatched;
using how = harness::partition_work::receiver;

coflux::fork<void, pool> dispatch(auto&&, coflux::unbounded_mpsc_sender<dispatched> to, harness::partition_work work) {
    for (std::uint64_t number = 1; number <= work.batches; ++number) {
        if (work.gap.count() != 0) {
            co_await coflux::sleep_for(work.gap);
        } else {
            co_await coflux::yield();
        }
        (void)to.send(harness::dispatch_now(number));
    }
}

coflux::fork<std::uint64_t, pool> receive(auto&&, coflux::mpsc_receiver<dispatched> from, harness::partition_work work,
                                          watch_ref watch) {
    harness::ordered_sum sum;
    while (const auto batch = co_await from.receive()) {
        harness::arrived(*watch, *batch);
        for (std::uint64_t y = 0; y < work.yields; ++y) {
            co_await coflux::yield();
        }
        sum.add(batch->number);
    }
    co_return sum.value();
}

coflux::fork<std::uint64_t, pool> poll(auto&&, coflux::mpsc_receiver<dispatched> from, harness::partition_work work,
                                       watch_ref watch) {
    harness::ordered_sum sum;
    for (std::uint64_t received = 0; received < work.batches;) {
        if (const auto batch = from.try_receive()) {
            harness::arrived(*watch, *batch);
            sum.add(batch->number);
            ++received;
        } else {
            co_await coflux::yield();
        }
    }
    co_return sum.value();
}

coflux::task<std::uint64_t, pool> run_partition(auto&&, harness::partition_work work, watch_ref watch) {
    auto&& here = co_await coflux::context();
    auto [to, from] = coflux::make_unbounded_mpsc<dispatched>();
    watch->start();
    auto coordinator = dispatch(here, std::move(to), work);
    auto receiver =
        work.how == how::polls ? poll(here, std::move(from), work, watch) : receive(here, std::move(from), work, watch);
    co_await std::move(coordinator);
    const std::uint64_t sum = co_await std::move(receiver);
    watch->stop();
    co_return sum;
}

using batches_to = coflux::spsc_sender<harness::record_batch>;
using batches_from = coflux::spsc_receiver<harness::record_batch>;

// Batches that a receiver has not begun with hold their reader up.
constexpr std::size_t most_batches_waiting = 16;

coflux::fork<void, pool> send_to_one(auto&&, batches_to to, harness::record_work work) {
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        (void)co_await to.send(work.read(b));
    }
}

coflux::fork<void, pool> send_routed(auto&&, std::vector<batches_to> to, harness::record_work work) {
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        auto parts = harness::routed(work.read(b), to.size());
        for (std::size_t p = 0; p < to.size(); ++p) {
            if (!parts[p].empty()) {
                (void)co_await to[p].send(std::move(parts[p]));
            }
        }
    }
}

coflux::fork<std::uint64_t, pool> process_own(auto&&, batches_from from, harness::record_work work) {
    harness::engine own{work};
    while (const auto batch = co_await from.receive()) {
        own.process(*batch);
    }
    co_return own.answer();
}

struct shared_engine {
    harness::engine engine;
    coflux::mutex lock{};
};

coflux::fork<std::uint64_t, pool> process_shared(auto&&, batches_from from, coflux::borrowed<shared_engine> shared) {
    while (const auto batch = co_await from.receive()) {
        for (const harness::record each : *batch) {
            const auto guard = co_await shared->lock.lock();
            shared->engine.process(each);
        }
    }
    co_return 0;
}

coflux::task<std::uint64_t, pool> run_plain(auto&&, harness::record_work work, watch_ref watch) {
    watch->start();
    harness::engine own{work};
    for (std::uint64_t b = 0; b < work.batches(); ++b) {
        own.process(work.read(b));
    }
    watch->stop();
    co_return own.answer();
}

coflux::task<std::uint64_t, pool> run_direct(auto&&, harness::record_work work, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    auto [to, from] = coflux::make_spsc<harness::record_batch>(most_batches_waiting);
    auto reader = send_to_one(here, std::move(to), work);
    auto receiver = process_own(here, std::move(from), work);
    co_await std::move(reader);
    const std::uint64_t sum = co_await std::move(receiver);
    watch->stop();
    co_return sum;
}

coflux::task<std::uint64_t, pool> run_partitions(auto&&, harness::record_work work, bool shares, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    shared_engine shared{harness::engine{work}};
    std::vector<batches_to> senders;
    std::vector<coflux::fork<std::uint64_t, pool>> receivers;
    for (std::uint64_t p = 0; p < work.partitions; ++p) {
        auto [to, from] = coflux::make_spsc<harness::record_batch>(most_batches_waiting);
        senders.push_back(std::move(to));
        receivers.push_back(shares ? process_shared(here, std::move(from), coflux::borrowed(shared))
                                   : process_own(here, std::move(from), work));
    }
    co_await send_routed(here, std::move(senders), work);
    std::uint64_t sum = 0;
    for (const std::uint64_t own : co_await coflux::when_all(std::move(receivers))) {
        sum += own;
    }
    watch->stop();
    co_return sum + shared.engine.answer();
}

}  // namespace

harness::measured partition_receiver(const harness::request& r) {
    const harness::partition_work work{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return run_partition(env, work, coflux::borrowed(watch)).get(); });
}

harness::measured record_path(const harness::request& r) {
    const harness::record_work work{r};
    const std::string path = r.choice("path", {"plain", "direct", "coordinator", "shared"});
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        const coflux::borrowed clock(watch);
        if (path == "plain") {
            return run_plain(env, work, clock).get();
        }
        return path == "direct" ? run_direct(env, work, clock).get()
                                : run_partitions(env, work, path == "shared", clock).get();
    });
}

}  // namespace lab
