// The places of a bounded mpsc channel: a count of permits, and the senders that wait for one, first come, first served.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/spin_lock.hpp>
#include <coflux/channel/detail/other_side.hpp>
#include <coflux/core/wait.hpp>
#include <coflux/core/wait_queue.hpp>

namespace coflux::detail {

class permits {
public:
    enum class answer : std::uint8_t { granted, none, closed };

    explicit permits(std::size_t capacity) noexcept : all_(static_cast<std::uint64_t>(capacity) * one), word_(all_) {}

    /// One permit, unless there is none or others wait.
    [[nodiscard]] COFLUX_INLINE answer try_acquire() noexcept {
        std::uint64_t w = word_.load(memory_order_relaxed);
        for (;;) {
            if ((w & closed) != 0) [[unlikely]]
                return answer::closed;
            if ((w & waited) != 0 || w < one) [[unlikely]]
                return answer::none;
            // acquire pairs with the release of release(): who gave the permit back is done with the place.
            if (word_.compare_exchange_weak(w, w - one, memory_order_acquire, memory_order_relaxed)) [[likely]]
                return answer::granted;
        }
    }
    /// Gives `n` permits back, first of all to those who wait. True if nothing is or will be on its way any more: closed,
    /// and every permit back. Exactly one call of release() and close() says so.
    [[nodiscard]] COFLUX_INLINE bool release(std::uint64_t n) noexcept {
        const std::uint64_t w = word_.fetch_add(n * one, memory_order_acq_rel);  // pairs with the next acquire of them
        if ((w & (waited | closed)) == 0) [[likely]]
            return false;
        return released(w + n * one);
    }
    /// No more permits; those who wait are woken with none. True as for release(); false if closed already.
    [[nodiscard]] bool close() noexcept;
    [[nodiscard]] bool is_closed() const noexcept {
        return (word_.load(memory_order_relaxed) & closed) != 0;  // relaxed: an answer that may be old at once
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(all_ / one); }

private:
    friend class permit_wait;

    static constexpr std::uint64_t waited = 1;
    static constexpr std::uint64_t closed = 2;
    static constexpr std::uint64_t one = 4;

    [[nodiscard]] COFLUX_NOINLINE bool released(std::uint64_t w) noexcept;
    /// Wakes those in front for whom there is a permit, or all if closed.
    void serve() noexcept;

    const std::uint64_t all_;
    // Free permits * 4 + waited + closed.
    //
    // | state    | meaning                                                                                       |
    // | -------- | --------------------------------------------------------------------------------------------- |
    // | -        | permits go to whoever comes, by CAS                                                            |
    // | waited   | somebody may wait: permits go to the queue only, under the lock. Set by who waits, cleared by who   |
    // |          | serves and leaves nobody, both under the lock; without a permit it may stay behind a stop          |
    // | closed   | no permit is given any more; never cleared                                                    |
    alignas(cache_line) atomic<std::uint64_t> word_;
    alignas(cache_line) spin_lock lock_;
    wait_queue waiters_;  ///< under lock_
    other_side giving_;   ///< who gave permits to those that waited
};

/// Base of awaiters that wait for a permit.
class permit_wait : protected wait_operation {
protected:
    permit_wait(promise_base& p, permits& from) noexcept : wait_operation(p, kind), from_(from) {}

    [[nodiscard]] COFLUX_INLINE bool is_there() noexcept {
        answer_ = from_.try_acquire();
        return answer_ != permits::answer::none || comes_soon();
    }
    /// What await_suspend returns.
    std::coroutine_handle<> wait();
    /// First thing in await_resume: true with a permit, false if closed.
    [[nodiscard]] COFLUX_INLINE bool resumed() noexcept {
        if (waited_) [[unlikely]]
            end();
        return answer_ == permits::answer::granted;
    }

private:
    friend class permits;

    COFLUX_NOINLINE bool comes_soon() noexcept;
    static bool claim(wait_operation& op) noexcept;
    static constexpr wait_kind kind{&claim, &stop_claimed, "a place in a channel"};

    permits& from_;
    permits::answer answer_ = permits::answer::none;  ///< while it waits, under the lock
    bool waited_ = false;
};

}  // namespace coflux::detail
