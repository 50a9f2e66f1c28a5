// byte_source, readable_source, byte_sink, whole_sink: what gives bytes, and what takes them.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/io/tcp.hpp>

namespace coflux {
namespace detail {

// An operation without a frame needs no environment; one that is a call takes it first.
template <typename S>
concept source_of_calls =
    requires(S& from, environment& here, std::span<std::byte> into) { from.read_some(here, into); };
template <typename S>
concept source_of_waits = requires(S& from, environment& here) { from.wait_readable(here); };
template <typename S>
concept sink_of_calls =
    requires(S& to, environment& here, std::span<const std::byte> from) { to.write_some(here, from); };

// With the type said, not found from the body: asking for it makes no code.
template <source_of_calls S>
auto read_some_of(S& from, environment& here, std::span<std::byte> into) -> decltype(from.read_some(here, into)) {
    return from.read_some(here, into);
}
template <typename S>
    requires(!source_of_calls<S>)
auto read_some_of(S& from, environment&, std::span<std::byte> into) -> decltype(from.read_some(into)) {
    return from.read_some(into);
}
template <source_of_waits S>
auto wait_readable_of(S& from, environment& here) -> decltype(from.wait_readable(here)) {
    return from.wait_readable(here);
}
template <typename S>
    requires(!source_of_waits<S>)
auto wait_readable_of(S& from, environment&) -> decltype(from.wait_readable()) {
    return from.wait_readable();
}
template <sink_of_calls S>
auto write_some_of(S& to, environment& here, std::span<const std::byte> from) -> decltype(to.write_some(here, from)) {
    return to.write_some(here, from);
}
template <typename S>
    requires(!sink_of_calls<S>)
auto write_some_of(S& to, environment&, std::span<const std::byte> from) -> decltype(to.write_some(from)) {
    return to.write_some(from);
}

template <typename A, typename T>
concept awaited_for = (native_awaitable<A> || requires(A& a) { a.await_ready(); }) && std::same_as<await_result<A>, T>;
template <typename A>
concept gives_a_count = awaited_for<A, std::size_t>;

/// How many bytes a stream says that it has moved: one that breaks its law would lose bytes or loop for ever.
inline std::size_t checked_read(std::size_t count, std::size_t room) noexcept {
    COFLUX_VERIFY(count <= room, "a byte_source gave %zu bytes for a room of %zu", count, room);
    return count;
}
inline std::size_t checked_write(std::size_t count, std::size_t size) noexcept {
    COFLUX_VERIFY(count != 0 && count <= size, "a byte_sink took %zu of %zu bytes", count, size);
    return count;
}

template <typename S>
concept has_try_write = requires(S& to, std::span<const std::byte> from) { to.try_write_some(from); };
template <typename S>
concept has_abort = requires(S& to) { to.abort(); };

}  // namespace detail

/// Gives bytes: `co_await from.read_some(into)`, or as a call `co_await from.read_some(here, into)`.
///
/// Laws: it gives the next bytes in order, at least one, in the first places of `into`, and how many they are; 0 at the
/// end, and where `into` has no room. A stop and an error lose no byte: what was not given is given next.
template <typename S>
concept byte_source = requires(S& from, environment& here, std::span<std::byte> into) {
    { detail::read_some_of(from, here, into) } -> detail::gives_a_count;
};
static_assert(byte_source<tcp_stream>);

/// Says whether there is something to read, and waits for that: `from.is_readable()`, and `co_await
/// from.wait_readable()`, or as a call `co_await from.wait_readable(here)`.
///
/// Laws: neither takes a byte. is_readable() does not wait; where it is true, wait_readable() ends at once. The end and
/// an error are something to read.
template <typename S>
concept readable_source = requires(S& from, environment& here) {
    { from.is_readable() } noexcept -> std::same_as<bool>;
    { detail::wait_readable_of(from, here) } -> detail::awaited_for<void>;
};
static_assert(readable_source<tcp_stream>);

/// Takes bytes: `co_await to.write_some(from)`, or as a call `co_await to.write_some(here, from)`.
///
/// Laws: it takes the first bytes of `from`, at least one unless that is empty, and says how many. After a stop or an
/// error it has taken none.
///
/// Two members are optional, and what a buffered_writer needs that dies with bytes. `to.try_write_some(from)` does not
/// wait: it takes the first bytes, or none, and gives an io_result<std::size_t>. `to.abort()` lets the receiver see, as
/// far as it can be told, that bytes are missing, and later operations fail. Both are noexcept, and allowed at any
/// time, as byte_writer's are.
template <typename S>
concept byte_sink = requires(S& to, environment& here, std::span<const std::byte> from) {
    { detail::write_some_of(to, here, from) } -> detail::gives_a_count;
};
static_assert(byte_sink<tcp_stream>);

/// Takes bytes whole, by a call: `co_await to.write_all(here, from)`. A tls_stream does.
///
/// Laws: it takes all of `from`, or fails. How many it has taken after a stop or an error, it does not say: that makes
/// the difference to a byte_sink, which no whole_sink is.
template <typename S>
concept whole_sink = !requires(S& to, environment& here, std::span<const std::byte> from) {
    detail::write_some_of(to, here, from);
} && requires(S& to, environment& here, std::span<const std::byte> from) {
    { to.write_all(here, from) } -> detail::awaited_for<void>;
};

}  // namespace coflux
