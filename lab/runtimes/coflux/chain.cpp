// Stages in a row, each of which waits at its channel for the one before it.
// Idioms: docs/tour/00-if-you-know.md
#include "workloads.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace lab {
namespace {

using pool = coflux::thread_pool_executor;
using sender = coflux::spsc_sender<std::uint64_t>;
using receiver = coflux::spsc_receiver<std::uint64_t>;

coflux::fork<void, pool> stage(auto&&, receiver from, sender to) {
    while (const auto value = co_await from.receive()) {
        (void)co_await to.send(*value + 1);
    }
    to.close();
}

/// One value at a time, so that each stage waits when its value comes.
coflux::fork<std::uint64_t, pool> chain(auto&&, std::uint64_t depth, std::uint64_t values) {
    auto&& here = co_await coflux::context();
    auto [first, last] = coflux::make_spsc<std::uint64_t>(1);
    std::vector<coflux::fork<void, pool>> stages;
    stages.reserve(depth);
    for (std::uint64_t d = 0; d < depth; ++d) {
        auto [to, from] = coflux::make_spsc<std::uint64_t>(1);
        stages.push_back(stage(here, std::move(last), std::move(to)));
        last = std::move(from);
    }
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < values; ++i) {
        (void)co_await first.send(i);
        const auto value = co_await last.receive();
        sum += value.value_or(0);
    }
    first.close();
    co_await coflux::when_all(std::move(stages));
    co_return sum;
}

coflux::task<std::uint64_t, pool> run_chains(auto&&, std::uint64_t chains, std::uint64_t depth, std::uint64_t values,
                                             coflux::borrowed<harness::stopwatch> watch) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, pool>> all;
    all.reserve(chains);
    watch->start();
    for (std::uint64_t c = 0; c < chains; ++c) {
        all.push_back(chain(here, depth, values));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t s : co_await coflux::when_all(std::move(all))) {
        sum += s;
    }
    watch->stop();
    co_return sum;
}

}  // namespace

harness::measured suspend_chain(const harness::request& r) {
    const std::uint64_t chains = r.integer("chains");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t values = r.integer("values");
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_chains(env, chains, depth, values, coflux::borrowed(watch)).get();
    });
}

}  // namespace lab
