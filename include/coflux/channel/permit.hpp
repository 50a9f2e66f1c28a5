// permit: a slot in a channel, held for one value.
#pragma once

#include <coflux/channel/detail/channel_base.hpp>
#include <coflux/channel/detail/channel_end.hpp>

namespace coflux {

namespace detail {

template <typename T, typename Node>
class reserve_operation;
template <typename T>
class slotted_channel;

struct channel_reserving {
    static constexpr const char* empty = "send() with a permit that was used or moved from";
    static void release(auto& channel) noexcept { channel.give_back_reserved(); }
};

}  // namespace detail

/// A slot in a bounded channel: `auto p = co_await ch.reserve(); if (p) p->send(make_value());`
///
/// A send with it cannot fail, and its value is not lost: it has its slot, and a close() after the reserve() does not
/// take it away. Receivers see the end of the channel only after all permits are used or gone.
///
/// Shapes: move-only.
/// Threads: any, one at a time.
/// Costs: those of a send that need not wait; no allocation.
/// Lifetime: must not outlive its channel, which checks that. A permit that dies unused gives its slot back, to the
/// first waiter for one.
template <typename T>
class [[nodiscard("a permit that is dropped gives its slot back")]] permit
    : detail::channel_end<detail::unowned<detail::channel_base<T>>, detail::channel_reserving> {
    using end = detail::channel_end<detail::unowned<detail::channel_base<T>>, detail::channel_reserving>;

public:
    /// True until it is used or moved from.
    [[nodiscard]] bool valid() const noexcept { return this->holds(); }

    /// Sends `value` into the reserved slot; never waits, wakes a receiver that does.
    /// Errors: a second send with one permit is a checked error. A copy that throws is the caller's: the permit is
    /// still valid.
    void send(T value) noexcept {
        this->state().send_reserved(value);
        this->drop();
    }

private:
    template <typename, typename>
    friend class detail::reserve_operation;
    template <typename>
    friend class detail::slotted_channel;

    explicit permit(detail::channel_base<T>& at) noexcept : end(detail::unowned(at)) {}
};

}  // namespace coflux
