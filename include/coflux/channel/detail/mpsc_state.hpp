// The common state of the ends of an mpsc channel, bounded or not, and how they wait.
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
#include <coflux/channel/detail/shared_state.hpp>
#include <coflux/channel/detail/slot_queue.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>

namespace coflux::detail {

template <typename T>
class mpsc_send_wait;
template <typename T>
class mpsc_receive_wait;

template <typename T>
class mpsc_state : public shared_state, public slot_queue<T> {
public:
    using send_wait = mpsc_send_wait<T>;
    using receive_wait = mpsc_receive_wait<T>;

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
    [[nodiscard]] std::size_t capacity() const noexcept { return permits_.capacity(); }
    [[nodiscard]] bool bounded() const noexcept { return capacity() != 0; }
    [[nodiscard]] bool closed() const noexcept { return bounded() ? permits_.is_closed() : this->sealed(); }

    /// Any end: no more sends. Values that were sent or reserved can still arrive.
    void close() noexcept {
        if (!bounded() || permits_.close()) (void)this->seal();
    }
    void give_back(std::size_t slots) noexcept {
        if (bounded() && permits_.release(slots)) (void)this->seal();
    }
    void add_sender() noexcept { senders_.fetch_add(1, memory_order_relaxed); }  // relaxed: the copied one lives
    void remove_sender() noexcept {
        // acq_rel: the last sender closes behind all that the other senders have sent.
        if (senders_.fetch_sub(1, memory_order_acq_rel) == 1) close();
    }

    // Senders of a bounded channel. After a permit was acquired, which is the slot:
    [[nodiscard]] COFLUX_INLINE bool send(T& value) noexcept { return this->push(std::move(value)); }
    void send_reserved(T& value) noexcept { (void)this->push(std::move(value)); }
    [[nodiscard]] static constexpr bool reserve() noexcept { return true; }
    [[nodiscard]] COFLUX_INLINE bool try_send(T& value) noexcept {
        return permits_.try_acquire() == permits::answer::granted && send(value);
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
    COFLUX_INLINE std::optional<T> receive_one() noexcept {
        std::optional<T> value;
        (void)receive(1, [&](T&& v) noexcept { value.emplace(std::move(v)); });
        return value;
    }

private:
    alignas(cache_line) permits permits_;
    // Senders alive. 0: the last one closes.
    atomic<std::uint32_t> senders_{1};
};

/// Waits for a slot of a bounded channel.
template <typename T>
class mpsc_send_wait : protected permit_wait {
public:
    mpsc_send_wait(promise_base& p, mpsc_state<T>& s) noexcept : permit_wait(p, s.slots()), state_(s) {}
    COFLUX_INLINE ~mpsc_send_wait() {
        if (is_unresumed()) state_.give_back(1);
    }

protected:
    [[nodiscard]] COFLUX_INLINE mpsc_state<T>& state() const noexcept { return state_; }

private:
    mpsc_state<T>& state_;
};

/// Waits until the receiver's next slot is filled, or the channel closed and empty.
template <typename T>
class mpsc_receive_wait : protected atomic_waiter {
public:
    mpsc_receive_wait(promise_base& p, mpsc_state<T>& s) noexcept : atomic_waiter(p), state_(s) {}

protected:
    [[nodiscard]] COFLUX_INLINE bool is_there() noexcept { return state_.look() >= slot_list::ready || spin(); }
    std::coroutine_handle<> wait() { return wait_in(state_.next()); }
    [[nodiscard]] COFLUX_INLINE std::optional<T> take() noexcept { return state_.receive_one(); }
    [[nodiscard]] COFLUX_INLINE mpsc_state<T>& state() const noexcept { return state_; }

private:
    COFLUX_NOINLINE bool spin() noexcept {
        return state_.sending().spin_until_some([this]() noexcept { return state_.available(); });
    }

    mpsc_state<T>& state_;
};

// The parts that the ends hold.

struct mpsc_sending {
    using copyable = void;
    static constexpr const char* empty = "an mpsc sender that was closed or moved from";
    static void copied(auto& state) noexcept { state.add_sender(); }
    static void release(auto& state) noexcept { state.remove_sender(); }
    [[nodiscard]] static bool is_closed(auto& state) noexcept { return state.closed(); }
};
struct mpsc_receiving {
    static constexpr const char* empty = "an mpsc receiver that was moved from";
    static void release(auto& state) noexcept {
        state.close();
        state.end();  // for permits that are out, too
    }
    [[nodiscard]] static bool is_closed(auto& state) noexcept { return state.closed(); }
};
struct mpsc_reserving {
    static constexpr const char* empty = "a permit that was used or moved from";
    static void release(auto& state) noexcept { state.give_back(1); }
};

}  // namespace coflux::detail
