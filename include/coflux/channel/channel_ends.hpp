// channel_sender, channel_receiver: counted ends of a channel, the last of which closes it however its owner ends.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/channel/detail/channel_end.hpp>
#include <coflux/fwd.hpp>

namespace coflux {

namespace detail {

/// The type of a channel's values, without the channel's definition: a value may have an end of a channel of its own
/// type.
template <typename Channel>
struct channel_value;
template <template <typename> typename Channel, typename T>
struct channel_value<Channel<T>> {
    using type = std::remove_extent_t<T>;
};

/// The way to the counts of a channel's ends.
struct channel_end_access {
    template <typename Channel>
    static auto& core(Channel& of) noexcept {
        return static_cast<basic_channel<typename channel_value<Channel>::type>&>(of).core();
    }
};

struct channel_sending {
    using copyable = void;
    static constexpr const char* empty = "a channel's sender that was closed or moved from";
    static void copied(auto& channel) noexcept { channel_end_access::core(channel).add_sender(); }
    static void release(auto& channel) noexcept { channel_end_access::core(channel).remove_sender(); }
};
struct channel_receiving {
    using copyable = void;
    static constexpr const char* empty = "a channel's receiver that was closed or moved from";
    static void copied(auto& channel) noexcept { channel_end_access::core(channel).add_receiver(); }
    static void release(auto& channel) noexcept {
        if (!channel_end_access::core(channel).remove_receiver()) return;
        while (channel.try_receive()) {}
    }
};

}  // namespace detail

/// A counted sender at a channel: `stages.spawn(reads, raw.sender());`
///
/// The death of the last one closes the channel for further sends: also when an error or a stop ends the coroutine that
/// held it. So the receivers come to an end.
///
/// Shapes: Channel is a channel<T[N]>, channel<T[]>, dynamic_channel<T> or basic_channel<T>. Made by the channel's
/// sender(), or from the channel itself. Copyable: each copy is a sender of its own. A copy of a sender that was closed
/// or moved from is empty, too.
/// Errors: to use an empty one is a checked error.
/// Stops, Resumes, Costs: as at the channel; a copy, or a death: one locked instruction.
/// Threads: all functions but close() of one sender from any thread at the same time.
/// Lifetime: the channel outlives it, which its destructor checks. Make all senders before the first can die: a channel
/// that was closed stays closed. A parameter of a coroutine dies with the frame; of a fork or task whose handle is
/// kept, that is when the result is taken. So give the end to a child that is spawned or attached, or move it into a
/// local at the beginning of the body.
/// Example: examples/12_channel.cpp
template <typename Channel>
class [[nodiscard("the death of the last sender closes the channel")]] channel_sender
    : detail::channel_end<detail::unowned<Channel>, detail::channel_sending> {
    using end = detail::channel_end<detail::unowned<Channel>, detail::channel_sending>;

public:
    using value_type = typename detail::channel_value<Channel>::type;

    explicit channel_sender(Channel& of) noexcept : end(detail::unowned(of)) { detail::channel_sending::copied(of); }

    /// As send() of the channel.
    auto send(value_type&& v) const noexcept { return this->state().send(std::move(v)); }
    auto send(const value_type& v) const noexcept(noexcept(std::declval<Channel&>().send(v)))
        requires std::is_copy_constructible_v<value_type>
    {
        return this->state().send(v);
    }
    auto operator<<(value_type&& v) const noexcept { return this->state().send(std::move(v)); }
    auto operator<<(const value_type& v) const noexcept(noexcept(std::declval<Channel&>().send(v)))
        requires std::is_copy_constructible_v<value_type>
    {
        return this->state().send(v);
    }
    [[nodiscard]] bool try_send(value_type&& v) const noexcept { return this->state().try_send(std::move(v)); }
    [[nodiscard]] bool try_send(const value_type& v) const
        requires std::is_copy_constructible_v<value_type>
    {
        return this->state().try_send(v);
    }
    /// As reserve() and try_reserve() of a channel with slots. A permit needs no sender any more.
    auto reserve() const noexcept
        requires requires(Channel& c) { c.reserve(); }
    {
        return this->state().reserve();
    }
    [[nodiscard]] auto try_reserve() const noexcept
        requires requires(Channel& c) { c.try_reserve(); }
    {
        return this->state().try_reserve();
    }

    /// Gives this end up; the last one closes the channel.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more: by this end, or by any.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().closed(); }
};

/// A counted receiver at a channel: `stages.spawn(packs, raw.receiver(), packed.sender());`
///
/// The death of the last one closes the channel, and the values that are in it die: also when an error or a stop ends
/// the coroutine that held it. So the senders, and coroutines that wait for an answer to what they have sent, come to
/// an end.
/// Shapes, Errors, Stops, Costs, Threads, Lifetime: as channel_sender. A receive() of the channel itself counts as no
/// receiver.
/// Example: examples/12_channel.cpp
template <typename Channel>
class [[nodiscard("the death of the last receiver closes the channel")]] channel_receiver
    : detail::channel_end<detail::unowned<Channel>, detail::channel_receiving> {
    using end = detail::channel_end<detail::unowned<Channel>, detail::channel_receiving>;

public:
    using value_type = typename detail::channel_value<Channel>::type;

    explicit channel_receiver(Channel& of) noexcept : end(detail::unowned(of)) {
        detail::channel_receiving::copied(of);
    }

    /// As receive() of the channel.
    auto receive() const noexcept { return this->state().receive(); }
    auto operator>>(value_type& v) const noexcept
        requires std::is_move_assignable_v<value_type>
    {
        return this->state() >> v;
    }
    [[nodiscard]] std::optional<value_type> try_receive() const noexcept { return this->state().try_receive(); }

    /// Gives this end up; the last one closes the channel and drops what is in it.
    void close() noexcept { this->release(); }
    /// True if nothing can be sent any more, but by permits that are out; there may be values left.
    [[nodiscard]] bool closed() const noexcept { return !this->holds() || this->state().closed(); }
    /// True if nothing can be received any more: by this end, or by any.
    [[nodiscard]] bool drained() const noexcept { return !this->holds() || this->state().drained(); }
};

}  // namespace coflux
