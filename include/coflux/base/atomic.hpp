// The seam for atomics, light half: the lock-free files name std's atomics through here, so that a model checker can
// take their place without a change to the algorithms.
#pragma once

#include <atomic>

namespace coflux::detail {

template <typename T>
using atomic = std::atomic<T>;
template <typename T>
using atomic_ref = std::atomic_ref<T>;

/// A word that its owner writes and other threads may read: every access is relaxed, and orders nothing. Without a
/// value until it is written.
template <typename T>
class relaxed {
public:
    relaxed() noexcept = default;
    relaxed(T value) noexcept : value_(value) {}
    relaxed(const relaxed&) = delete;
    relaxed& operator=(const relaxed&) = delete;
    relaxed& operator=(T value) noexcept {
        atomic_ref<T>(value_).store(value, std::memory_order_relaxed);
        return *this;
    }
    /// The value for its owner, the only writer; the compiler may know it already.
    [[nodiscard]] T own() const noexcept { return value_; }
    operator T() const noexcept { return atomic_ref<T>(const_cast<T&>(value_)).load(std::memory_order_relaxed); }

private:
    T value_;
};

/// The light side of base/asymmetric_fence.hpp: what the compiler must not move over it, and nothing for the processor.
inline void light_thread_fence() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

}  // namespace coflux::detail
