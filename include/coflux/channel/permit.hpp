// permit: a slot in a channel, held for one value.
#pragma once

#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/channel_base.hpp>

namespace coflux {

namespace detail {

template <typename T, typename Node>
class reserve_operation;
template <typename T>
class bounded_channel;

}  // namespace detail

/// A slot in a bounded channel: `auto p = co_await ch.reserve(); if (p) p->send(make_value());`
///
/// What is sent with it cannot fail and is not lost: it has its slot, and a close() after the reserve() does not
/// take it away. Receivers see the end of the channel only after all permits are used or gone.
///
/// Shapes: move-only.
/// Threads: any, one at a time.
/// Costs: those of a send that need not wait; no allocation.
/// Lifetime: must not outlive its channel, which checks that. A permit that dies unused gives its slot back, to the
/// first waiter for one.
template <typename T>
class [[nodiscard("a permit that is dropped gives its slot back")]] permit {
public:
    permit(permit&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
    permit& operator=(permit&& other) noexcept {
        permit moved(std::move(other));  // what this one held dies with it
        std::swap(at_, moved.at_);
        return *this;
    }
    ~permit() {
        if (at_ != nullptr) at_->give_back_reserved();
    }

    /// True until it is used or moved from.
    [[nodiscard]] bool valid() const noexcept { return at_ != nullptr; }

    /// Sends `value` into the reserved slot; never waits, wakes a receiver that does.
    /// Errors: a second send with one permit is a checked error. A copy that throws is the caller's: the permit is
    /// still valid.
    void send(T value) noexcept {
        COFLUX_VERIFY(at_ != nullptr, "send() with a permit that was used or moved from");
        std::exchange(at_, nullptr)->send_reserved(value);
    }

private:
    template <typename, typename>
    friend class detail::reserve_operation;
    template <typename>
    friend class detail::bounded_channel;

    explicit permit(detail::channel_base<T>& at) noexcept : at_(&at) {}

    detail::channel_base<T>* at_;
};

}  // namespace coflux
