// The seam for atomics, light half: the lock-free files name std's atomics through here, so that a model checker can
// take
// their place without a change to the algorithms.
#pragma once

#include <atomic>

namespace coflux::detail {

template <typename T>
using atomic = std::atomic<T>;
template <typename T>
using atomic_ref = std::atomic_ref<T>;

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

}  // namespace coflux::detail
