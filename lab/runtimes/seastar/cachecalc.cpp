// Tasks of one shard, or of all; the document's two programs for Seastar are the variant and the sharded one.
#include "cachecalc.hpp"

#include "workloads.hpp"

#include <seastar/core/loop.hh>
#include <seastar/core/sharded.hh>
#include <seastar/core/sleep.hh>
#include <seastar/core/smp.hh>

#include <algorithm>
#include <functional>
#include <ranges>
#include <string>

namespace lab {
namespace {

ss::future<> calc_wait_calc(harness::cache& values, std::chrono::microseconds wait) {
    values.calc();
    co_await ss::sleep(wait);
    values.calc();
}

// All tasks at once on this shard, which nothing excludes from each other.
ss::future<std::uint64_t> round_here(const harness::cache_work& work) {
    harness::cache values;
    co_await ss::parallel_for_each(std::views::iota(std::uint64_t{0}, work.tasks),
                                   [&](std::uint64_t) { return calc_wait_calc(values, work.wait); });
    co_return values.answer();
}

// BM_SeastarHash: one cache, on shard 0; the waits are on all shards in turn. It has eight of them at most.
ss::future<std::uint64_t> round_of_hash(const harness::cache_work& work) {
    constexpr unsigned most_shards = 8;
    const unsigned shards = std::min(most_shards, ss::smp::count);
    harness::cache values;
    const auto calc = [&values] { values.calc(); };
    co_await ss::parallel_for_each(std::views::iota(std::uint64_t{0}, work.tasks), [&](std::uint64_t task) {
        return ss::smp::submit_to(0, calc)
            .then([&work, shards, task] {
                return ss::smp::submit_to(static_cast<unsigned>(task % shards),
                                          [&work] { return ss::sleep(work.wait); });
            })
            .then([&calc] { return ss::smp::submit_to(0, calc); });
    });
    co_return values.answer();
}

// A shard's part of BM_SeastarShardedCacheParallel.
class cache_service {
public:
    ss::future<std::uint64_t> round(const harness::cache_work& work) { return round_here(work); }
    ss::future<> stop() { return ss::make_ready_future<>(); }
};

// The service is made and stopped in each round, as in the document.
ss::future<std::uint64_t> round_of_shards(const harness::cache_work& work) {
    ss::sharded<cache_service> caches;
    co_await caches.start();
    const std::uint64_t sum = co_await caches.map_reduce0([&work](cache_service& shard) { return shard.round(work); },
                                                          std::uint64_t{0}, std::plus<std::uint64_t>{});
    co_await caches.stop();
    co_return sum;
}

using round = ss::future<std::uint64_t> (*)(const harness::cache_work&);

ss::future<std::uint64_t> run_rounds(const harness::cache_work& work, round next, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < work.rounds; ++i) {
        sum += co_await next(work);
    }
    watch.stop();
    co_return sum;
}

harness::measured measure_rounds(const harness::request& r, unsigned shards, waiting how, round next) {
    const harness::cache_work work{r};
    return measure_on(shards, how, r,
                      [&work, next](harness::stopwatch& watch) { return run_rounds(work, next, watch); });
}

}  // namespace

harness::measured cachecalc(const harness::request& r, waiting how) {
    const std::string idiom = r.choice("idiom", {"compute", "worker", "strand", "mutex"});
    if (idiom == "worker") {
        return measure_rounds(r, 1, how, round_here);
    }
    if (idiom != "compute") {
        throw harness::unsupported_params("shards share nothing: what is of one shard needs no strand and no lock");
    }
    if (how != waiting::sleeps) {
        throw harness::unsupported_params("no reactor is in it: plain has it");
    }
    // The floor of this adapter's compiler.
    const harness::cache_work work{r};
    return harness::measure(r, [&work] { return work.compute_alone(); });
}

harness::measured cachecalc_sharded(const harness::request& r, waiting how) {
    return measure_rounds(r, static_cast<unsigned>(r.integer("shards")), how, round_of_shards);
}

harness::measured cachecalc_variants(const harness::request& r, waiting how) {
    if (r.text("variant") != "seastar_hash") {
        (void)r.choice("variant",
                       {"serial", "mutex", "async", "simple_threadpool", "boost_threadpool", "boost_coroutine",
                        "boost_coroutine_strand", "boost_coroutine_io_context", "folly_future", "folly_coroutine"});
        throw harness::unsupported_params("a program for the standard library, for Boost.Asio or for Folly");
    }
    return measure_rounds(r, r.threads(), how, round_of_hash);
}

}  // namespace lab
