// The executors that the coroutines of a workload run on. Where a workload has a dress for each, the code is the same.
#pragma once

#include "harness.hpp"

#include <coflux/coflux.hpp>

#include <concepts>

namespace lab {

using pool = coflux::thread_pool_executor;
/// One thread: no two coroutines on it run at the same time, and nothing they share is contended.
using serial = coflux::worker_executor;

/// The pool has the request's threads.
template <typename On>
    requires(std::same_as<On, pool> || std::same_as<On, serial>)
[[nodiscard]] On make_executor(const harness::request& r) {
    if constexpr (std::same_as<On, pool>) {
        return pool{r.threads()};
    } else {
        return serial{};
    }
}

}  // namespace lab
