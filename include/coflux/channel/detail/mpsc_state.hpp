// What the ends of an mpsc channel share, bounded or not, and how its receiver waits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/channel/detail/atomic_waiter.hpp>
#include <coflux/channel/detail/permits.hpp>
#include <coflux/channel/detail/queue_awaiters.hpp>
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/slot_queue.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

template <typename T>
class mpsc_state : public shared_state, public slot_queue<T> {
public:
    /// `capacity` 0: unbounded.
    mpsc_state(std::pmr::memory_resource* resource, std::size_t capacity)
        : shared_state(resource),
          slot_queue<T>(resource),
          permits_(capacity) {
        // At most `capacity` values span this many blocks; one more may be drained and not given back yet, and one is
        // needed to go on (docs/design/channel_queues.md).
        if (capacity != 0) this->add_spare_blocks((capacity - 1) / slot_list::slots_in_block + 2);
    }

    [[nodiscard]] permits& slots() noexcept { return permits_; }
    [[nodiscard]] bool bounded() const noexcept { return permits_.capacity() != 0; }
    [[nodiscard]] bool closed() const noexcept { return bounded() ? permits_.is_closed() : this->sealed(); }

    /// Any end: no more sends. What has been sent or reserved can still arrive.
    void close() noexcept {
        if (!bounded() || permits_.close()) (void)this->seal();
    }
    void give_back(std::size_t slots) noexcept {
        if (bounded() && permits_.release(slots)) (void)this->seal();
    }
    void sender_copied() noexcept { senders_.fetch_add(1, memory_order_relaxed); }  // relaxed: the copied one lives
    void sender_gone() noexcept {
        // acq_rel: the last sender closes behind all that the other senders have sent.
        if (senders_.fetch_sub(1, memory_order_acq_rel) == 1) close();
    }

    /// Receiver: hands up to `max` values to `use`, and gives their slots back; how many.
    template <typename Use>
    COFLUX_INLINE std::size_t receive(std::size_t max, Use&& use) {
        struct counted {
            mpsc_state& of;
            std::size_t taken = 0;
            ~counted() {
                if (taken != 0) of.give_back(taken);
            }
        };
        counted c{*this};
        while (c.taken != max) {
            const std::uintptr_t s = this->look();
            if (s != slot_list::ready) {
                COFLUX_VERIFY(!slot_list::is_operation(s), "two coroutines use one receiver of an mpsc channel");
                break;
            }
            ++c.taken;  // first: the value is gone even if `use` throws
            this->take(use);
        }
        return c.taken;
    }
    COFLUX_INLINE std::optional<T> receive_one() {
        std::optional<T> value;
        (void)receive(1, [&](T&& v) noexcept { value.emplace(std::move(v)); });
        return value;
    }

private:
    alignas(cache_line) permits permits_;
    // Senders alive. 0: the last one closes.
    atomic<std::uint32_t> senders_{1};
};

/// Waits until the receiver's next slot is filled, or the channel closed and empty.
template <typename T>
class [[nodiscard]] mpsc_wait : public atomic_waiter {
public:
    mpsc_wait(promise_base& p, mpsc_state<T>& s) noexcept : atomic_waiter(p), state_(s) {}

    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept {
        return state_.look() >= slot_list::ready || spin_until();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
        return wait_in(state_.next(), 0, reinterpret_cast<std::uintptr_t>(static_cast<wait_operation*>(this)));
    }

protected:
    mpsc_state<T>& state_;

private:
    COFLUX_NOINLINE bool spin_until() noexcept {
        return state_.sending().spin_until([this]() noexcept { return state_.look() >= slot_list::ready; });
    }
};

template <typename T>
using mpsc_receive_request = request<receive_awaiter<mpsc_wait<T>>, mpsc_state<T>&>;
template <typename T, typename Use>
using mpsc_batch_request = request<batch_awaiter<mpsc_wait<T>, Use>, mpsc_state<T>&, std::size_t, Use>;

}  // namespace coflux::detail
