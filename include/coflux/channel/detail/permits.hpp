// The slots of a bounded mpsc channel, and how its senders wait for one.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/channel/detail/peer.hpp>
#include <coflux/core/detail/wait/permit_count.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux::detail {

class permits : private permit_count {
public:
    enum class answer : std::uint8_t { granted, none, closed };

    explicit permits(std::size_t capacity) noexcept : permit_count(capacity), capacity_(capacity) {}

    /// One permit, unless there is none or there are waiters.
    [[nodiscard]] COFLUX_INLINE answer try_acquire() noexcept {
        if (permit_count::try_acquire(1)) [[likely]]
            return answer::granted;
        return is_closed() ? answer::closed : answer::none;
    }
    /// Gives `n` permits back, first of all to the waiters. True if nothing is or will be on its way any more: closed,
    /// and every permit back. Exactly one call of release() and close() says so.
    [[nodiscard]] COFLUX_INLINE bool release(std::uint64_t n) noexcept {
        if (is_awaited()) [[unlikely]]
            giving_.set_here();
        return permit_count::release(n) == closed_with(capacity_);
    }
    /// No more permits; the waiters are woken with none. True as for release(); false if closed already.
    [[nodiscard]] bool close() noexcept { return permit_count::close() == closed_with(capacity_); }
    using permit_count::is_closed;
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

private:
    friend class permit_wait;
    friend class list_wait<permits>;
    friend class lazy_wait<permits>;
    static constexpr const char* waits_for = "a slot in a channel";

    const std::size_t capacity_;
    peer giving_;  ///< the end that gave permits to waiters
};

extern template class list_wait<permits>;

/// Base of awaiters that wait for a permit.
class permit_wait : lazy_wait<permits> {
protected:
    using lazy_wait::ready_if;

    permit_wait(promise_base& p, permits& from) noexcept : p_(p), from_(from) {}

    [[nodiscard]] COFLUX_INLINE bool is_there() noexcept {
        answer_ = from_.try_acquire();
        return answer_ != permits::answer::none || spin();
    }
    /// The result for await_suspend.
    std::coroutine_handle<> wait() {
        kept_ = std::exchange(answer_, permits::answer::none);
        return lazy_wait::wait(p_, from_);
    }
    /// First thing in await_resume: true with a permit, false if closed.
    [[nodiscard]] COFLUX_INLINE bool resumed() noexcept {
        if constexpr (!COFLUX_LATE_RESULTS) {
            if (answer_ != permits::answer::none) [[likely]]
                return answer_ == permits::answer::granted;
        }
        (void)lazy_wait::resumed();
        return has_permit();
    }
    /// For destructors: true if there is a permit, and resumed() was not called.
    [[nodiscard]] COFLUX_INLINE bool is_unresumed() noexcept { return lazy_wait::is_unresumed() && has_permit(); }

private:
    COFLUX_NOINLINE bool spin() noexcept;
    [[nodiscard]] COFLUX_INLINE bool has_permit() const noexcept {
        if (answer_ != permits::answer::none) [[likely]]
            return answer_ == permits::answer::granted;
        if (kept_ != permits::answer::none) return kept_ == permits::answer::granted;
        return !wanted().refused;
    }

    promise_base& p_;
    permits& from_;
    permits::answer answer_ = permits::answer::none;  ///< of the look before the wait, until it suspends
    permits::answer kept_;                            ///< the same, from then on
};

}  // namespace coflux::detail
