// The queues that are made for one receiver.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/01-first-program.md
#include "definitions.hpp"
#include "one_to_one.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using numbers = std::vector<std::uint64_t>;

/// Gives way now and then: else, on one worker, nothing is received before all has been sent.
template <typename On>
sending<On> send_batches(auto&&, coflux::unbounded_mpsc_sender<numbers> to, std::uint64_t batches,
                         std::uint64_t batch) {
    constexpr std::uint64_t sent_in_a_row = 64;
    for (std::uint64_t b = 0; b < batches; ++b) {
        (void)to.send(harness::batch_of(b, batch));
        if (b % sent_in_a_row == sent_in_a_row - 1) {
            co_await coflux::yield();
        }
    }
}

template <typename On>
receiving<On> receive_batches(auto&&, coflux::mpsc_receiver<numbers> from) {
    harness::ordered_sum sum;
    while (const auto received = co_await from.receive()) {
        sum.add(harness::sum_of(*received));
    }
    co_return sum.value();
}

template <typename On>
coflux::task<std::uint64_t, On> run_batches(auto&&, std::uint64_t batches, std::uint64_t batch, watch_ref watch) {
    auto&& here = co_await coflux::context();
    auto [to, from] = coflux::make_unbounded_mpsc<numbers>();
    watch->start();
    auto producer = send_batches<On>(here, std::move(to), batches, batch);
    auto consumer = receive_batches<On>(here, std::move(from));
    co_await std::move(producer);
    const std::uint64_t sum = co_await std::move(consumer);
    watch->stop();
    co_return sum;
}

template <typename On>
harness::measured one_to_one(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::uint64_t capacity = r.integer("capacity");
    auto threads = make_executor<On>(r);
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        auto [to, from] = coflux::make_spsc<std::uint64_t>(capacity);
        const coflux::borrowed sender(to);
        const coflux::borrowed receiver(from);
        return run_one_to_one<On>(env, sender, receiver, count, coflux::borrowed(watch)).get();
    });
}

template <typename On>
harness::measured in_batches(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    auto threads = make_executor<On>(r);
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_batches<On>(env, batches, batch, coflux::borrowed(watch)).get();
    });
}

}  // namespace

harness::measured channel_spsc(const harness::request& r) {
    return one_to_one<pool>(r);
}

harness::measured channel_spsc_expert(const harness::request& r) {
    return one_to_one<serial>(r);
}

harness::measured mpsc_batches(const harness::request& r) {
    return in_batches<pool>(r);
}

harness::measured mpsc_batches_expert(const harness::request& r) {
    return in_batches<serial>(r);
}

}  // namespace lab
