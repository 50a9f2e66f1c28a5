// Channels for any number of senders and receivers.
// Idioms: docs/tour/00-if-you-know.md
#include "definitions.hpp"
#include "one_to_one.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

template <typename On>
receiving<On> receive_to_the_end(auto&&, auto from) {
    std::uint64_t sum = 0;
    while (const auto value = co_await from->receive()) {
        sum += *value;
    }
    co_return sum;
}

template <typename On>
coflux::task<std::uint64_t, On> run_many_to_many(auto&&, std::uint64_t capacity, std::vector<harness::share> shares,
                                                 std::uint64_t consumers, watch_ref watch) {
    auto&& here = co_await coflux::context();
    coflux::dynamic_channel<std::uint64_t> channel{capacity};
    std::vector<sending<On>> senders;
    std::vector<receiving<On>> receivers;
    senders.reserve(shares.size());
    receivers.reserve(consumers);
    watch->start();
    for (const harness::share& mine : shares) {
        senders.push_back(send_numbers<On>(here, coflux::borrowed(channel), mine.first, mine.last));
    }
    for (std::uint64_t c = 0; c < consumers; ++c) {
        receivers.push_back(receive_to_the_end<On>(here, coflux::borrowed(channel)));
    }
    co_await coflux::when_all(std::move(senders));
    channel.close();
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(receivers))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

template <typename On>
harness::measured many_to_many(const harness::request& r) {
    const std::uint64_t capacity = r.integer("capacity");
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    auto threads = make_executor<On>(r);
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_many_to_many<On>(env, capacity, shares, consumers, coflux::borrowed(watch)).get();
    });
}

}  // namespace

harness::measured channel_mpmc(const harness::request& r) {
    return many_to_many<pool>(r);
}

harness::measured channel_mpmc_expert(const harness::request& r) {
    return many_to_many<serial>(r);
}

harness::measured oversubscribed(const harness::request& r) {
    const harness::crowd crowd{r};
    if (!crowd.sends()) {
        return forks_of_a_crowd(r);
    }
    pool threads{crowd.workers()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_many_to_many<pool>(env, crowd.capacity, crowd.shares(), crowd.receivers, coflux::borrowed(watch))
            .get();
    });
}

harness::measured channel_rendezvous(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        coflux::channel<std::uint64_t[]> channel;
        const coflux::borrowed end(channel);
        return run_one_to_one<pool>(env, end, end, count, coflux::borrowed(watch)).get();
    });
}

}  // namespace lab
