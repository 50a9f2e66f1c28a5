// The common part of the workloads on Seastar: the reactors, one a shard, and passes that are coroutines.
#pragma once

#include "harness.hpp"

#include <seastar/core/coroutine.hh>
#include <seastar/core/future.hh>

#include <cstdint>
#include <functional>
#include <utility>

namespace lab {

namespace ss = seastar;

// How a reactor waits for work: the dresses differ in it.
enum class waiting {
    sleeps,  // --overprovisioned: it sleeps at once, and its thread has no CPU of its own
    polls,   // its thread has a CPU, and it looks for work for 200 us before it sleeps
};

// Makes the reactors, runs `root` on shard 0 to its end and rethrows what it throws. Once in a process. Seastar's
// memory is fixed when it starts: `tasks` is how many are alive at once, where they are many.
[[nodiscard]] harness::measured on_shards(unsigned shards, waiting how,
                                          const std::function<ss::future<harness::measured>()>& root,
                                          std::uint64_t tasks = 0);

// The warm-ups and passes of a request; `pass(watch)` is a coroutine that returns the answer.
template <typename Pass>
ss::future<harness::measured> passes_of(const harness::request& r, Pass pass) {
    harness::passes all{r};
    while (all.more()) {
        harness::stopwatch watch;
        const std::uint64_t answer = co_await pass(watch);
        all.add(watch.result(answer));
    }
    co_return all.result();
}

template <typename Pass>
[[nodiscard]] harness::measured measure_on(unsigned shards, waiting how, const harness::request& r, Pass pass,
                                           std::uint64_t tasks = 0) {
    return on_shards(shards, how, [&r, &pass] { return passes_of(r, pass); }, tasks);
}

}  // namespace lab
