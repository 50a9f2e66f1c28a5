// EvaluateIPC's programs for Folly, as its authors wrote them: coroutines or futures of the global pool, and for each
// round a strand over it for the cache.
#include "cachecalc.hpp"

#include "adapter.hpp"
#include "workloads.hpp"

#include <folly/Unit.h>
#include <folly/coro/Invoke.h>
#include <folly/coro/Sleep.h>
#include <folly/executors/GlobalExecutor.h>
#include <folly/executors/StrandExecutor.h>
#include <folly/futures/Future.h>

#include <cstdint>
#include <string>

namespace lab {
namespace {

using strand = folly::Executor::KeepAlive<folly::StrandExecutor>;

strand new_strand(const folly::Executor::KeepAlive<>& pool) {
    return folly::StrandExecutor::create(folly::StrandContext::create(), pool);
}

void futures_round(const folly::Executor::KeepAlive<>& pool, harness::cache& values, const harness::cache_work& work) {
    const strand turns = new_strand(pool);
    std::vector<folly::Future<folly::Unit>> all;
    all.reserve(work.tasks);
    for (std::uint64_t i = 0; i < work.tasks; ++i) {
        all.push_back(folly::via(turns, [&values] { values.calc(); })
                          .thenValue([&work](folly::Unit) { return folly::futures::sleep(work.wait); })
                          .via(turns)
                          .thenValue([&values](folly::Unit) { values.calc(); }));
    }
    folly::collectAll(std::move(all)).wait();
}

task<void> calc_wait_calc(const strand& turns, harness::cache& values, const harness::cache_work& work) {
    const auto calc = [&values]() -> task<void> {
        values.calc();
        co_return;
    };
    co_await coro::co_withExecutor(turns, coro::co_invoke(calc));
    co_await coro::sleep(work.wait);
    co_await coro::co_withExecutor(turns, coro::co_invoke(calc));
}

void coroutines_round(const folly::Executor::KeepAlive<>& pool, harness::cache& values,
                      const harness::cache_work& work) {
    const strand turns = new_strand(pool);
    std::vector<task<void>> all;
    all.reserve(work.tasks);
    for (std::uint64_t i = 0; i < work.tasks; ++i) {
        all.push_back(calc_wait_calc(turns, values, work));
    }
    coro::blockingWait(coro::co_withExecutor(pool, coro::collectAllRange(std::move(all))));
}

template <typename Round>
harness::measured measure_variant(const harness::request& r, Round round) {
    const harness::cache_work work{r};
    const folly::Executor::KeepAlive<> pool = folly::getGlobalCPUExecutor();
    return harness::measure(r, [&] {
        std::uint64_t sum = 0;
        for (std::uint64_t n = 0; n < work.rounds; ++n) {
            harness::cache values;
            round(pool, values, work);
            sum += values.answer();
        }
        return sum;
    });
}

}  // namespace

harness::measured cachecalc_variants(const harness::request& r) {
    const std::string variant = r.text("variant");
    if (variant == "folly_future") {
        return measure_variant(r, futures_round);
    }
    if (variant == "folly_coroutine") {
        return measure_variant(r, coroutines_round);
    }
    (void)r.choice("variant", {"serial", "mutex", "async", "simple_threadpool", "boost_threadpool", "boost_coroutine",
                               "boost_coroutine_strand", "boost_coroutine_io_context", "seastar_hash"});
    throw harness::unsupported_params("a program for the standard library, for Boost.Asio or for Seastar");
}

}  // namespace lab
