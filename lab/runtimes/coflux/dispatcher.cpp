// The programs of the document on Tokio's dispatcher.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/01-first-program.md
#include "dispatcher.hpp"

#include "definitions.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using forked = coflux::fork<std::uint64_t, pool>;
using running = coflux::task<std::uint64_t, pool>;
using watch_ref = coflux::borrowed<harness::stopwatch>;
using parts_ref = coflux::borrowed<harness::parts>;
using clock = harness::wait_clock;
using program = harness::dispatcher_work::program;
using numbers = std::vector<std::uint64_t>;

forked number(auto&&, std::uint64_t i) {
    co_return i;
}

running spawn_and_join(auto&&, harness::dispatcher_work work, watch_ref watch) {
    auto&& here = co_await coflux::context();
    harness::parts parts;
    std::vector<forked> all;
    watch->start();
    const auto began = clock::now();
    for (std::uint64_t i = 0; i < work.count; ++i) {
        all.push_back(number(here, i));
        if (work.yields_after(i)) {
            co_await coflux::yield();
        }
    }
    parts.first_took(began);
    const auto joins = clock::now();
    std::uint64_t sum = 0;
    for (const std::uint64_t value : co_await coflux::when_all(std::move(all))) {
        sum += value;
    }
    parts.second_took(joins);
    watch->stop();
    parts.tell_phases(*watch, work.count);
    co_return sum;
}

forked send_batches(auto&&, coflux::unbounded_mpsc_sender<numbers> to, harness::dispatcher_work work, parts_ref parts) {
    const auto began = clock::now();
    for (std::uint64_t b = 0; b < work.records.batches(); ++b) {
        (void)to.send(harness::batch_of(b, work.batch));
    }
    parts->first_took(began);
    co_return 0;
}

forked receive_batches(auto&&, coflux::mpsc_receiver<numbers> from, parts_ref parts) {
    const auto began = clock::now();
    harness::ordered_sum sum;
    while (const auto batch = co_await from.receive()) {
        sum.add(harness::sum_of(*batch));
    }
    parts->second_took(began);
    co_return sum.value();
}

running through_a_channel(auto&&, harness::dispatcher_work work, watch_ref watch) {
    auto&& here = co_await coflux::context();
    harness::parts parts;
    auto [to, from] = coflux::make_unbounded_mpsc<numbers>();
    watch->start();
    auto sender = send_batches(here, std::move(to), work, coflux::borrowed(parts));
    auto receiver = receive_batches(here, std::move(from), coflux::borrowed(parts));
    co_await std::move(sender);
    const std::uint64_t sum = co_await std::move(receiver);
    watch->stop();
    parts.tell_ends(*watch, work);
    co_return sum;
}

running yield_often(auto&&, harness::dispatcher_work work, watch_ref watch) {
    watch->start();
    harness::engine own{work.records};
    for (std::uint64_t b = 0; b < work.records.batches(); ++b) {
        for (const harness::record each : work.records.read(b)) {
            own.process(each);
            for (std::uint64_t y = 0; y < work.yields; ++y) {
                co_await coflux::yield();
            }
        }
    }
    watch->stop();
    co_return own.answer();
}

forked coordinate(auto&&, coflux::unbounded_mpsc_sender<harness::record_batch> to, harness::dispatcher_work work) {
    for (std::uint64_t b = 0; b < work.records.batches(); ++b) {
        co_await coflux::sleep_for(harness::dispatcher_gap);
        (void)to.send(work.records.read(b));
    }
    co_return 0;
}

forked park(auto&&, coflux::mpsc_receiver<harness::record_batch> from, harness::dispatcher_work work) {
    harness::engine own{work.records};
    while (const auto batch = co_await from.receive()) {
        own.process(*batch);
        for (std::uint64_t y = 0; y < work.yields; ++y) {
            co_await coflux::yield();
        }
    }
    co_return own.answer();
}

// Looks into the queue, and while that is empty spins or sleeps.
forked look(auto&&, coflux::mpsc_receiver<harness::record_batch> from, harness::dispatcher_work work) {
    harness::engine own{work.records};
    for (std::uint64_t received = 0; received < work.records.batches();) {
        if (const auto batch = from.try_receive()) {
            own.process(*batch);
            ++received;
        } else if (work.what == program::spins) {
            harness::spin_once();
        } else {
            co_await coflux::sleep_for(harness::dispatcher_nap);
        }
    }
    co_return own.answer();
}

running receive_records(auto&&, harness::dispatcher_work work, watch_ref watch) {
    auto&& here = co_await coflux::context();
    auto [to, from] = coflux::make_unbounded_mpsc<harness::record_batch>();
    watch->start();
    auto coordinator = coordinate(here, std::move(to), work);
    auto receiver =
        work.what == program::partition ? park(here, std::move(from), work) : look(here, std::move(from), work);
    co_await std::move(coordinator);
    const std::uint64_t sum = co_await std::move(receiver);
    watch->stop();
    co_return sum;
}

}  // namespace

harness::measured dispatcher(const harness::request& r) {
    const harness::dispatcher_work work{r};
    if (work.what == program::clone) {
        throw harness::unsupported_params{"nothing of Coflux is in it: bare has it"};
    }
    if (work.what == program::spins && r.threads() < 2) {
        throw harness::unsupported_params{"who spins on the only thread keeps the coordinator from it"};
    }
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        const coflux::borrowed clock(watch);
        switch (work.what) {
        case program::spawn:
        case program::throughput: return spawn_and_join(env, work, clock).get();
        case program::channel: return through_a_channel(env, work, clock).get();
        case program::yields: return yield_often(env, work, clock).get();
        default: return receive_records(env, work, clock).get();
        }
    });
}

}  // namespace lab
