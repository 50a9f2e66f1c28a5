// copy: all bytes of one stream to another.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/io/buffered_reader.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/io/detail/byte_block.hpp>
#include <coflux/io/tcp.hpp>

namespace coflux {

/// How far a copy() has come; it is told as the copy goes on, also one that is stopped or fails.
struct copy_count {
    std::uint64_t read = 0;  ///< bytes that were taken from the source
    /// Bytes that the sink has taken; of a whole_sink, after a stop or an error, at least so many.
    std::uint64_t written = 0;
};

/// How copy() copies.
struct copy_options {
    /// How much is read at once; 0 is a std::invalid_argument. Not used for a buffered_reader. Over loopback 64 KiB
    /// cost twice as much.
    std::size_t buffer_size = 60 * 1024;
    copy_count* count = nullptr;  ///< where it is told how far it has come; outlives the call
};

class file_reader;
class file_writer;

namespace detail {

/// By the system, as far as it can.
call<std::uint64_t> copy_bytes(environment&, file_reader& from, file_writer& to, std::size_t size, copy_count* told);

struct socket_splice {
    /// Moves all up to the end through a pipe of the system. False: it cannot be had; nothing was moved.
    static call<bool> all(environment&, tcp_stream& from, tcp_stream& to, copy_count& count);
};

template <byte_source From, typename To>
call<std::uint64_t> copy_bytes(environment&, From& from, To& to, std::size_t size, copy_count* told) {
    auto&& here = co_await context();
    copy_count own;
    copy_count& count = told != nullptr ? *told : own;
    detail::byte_block block(size, here.memory_resource());
    [[maybe_unused]] bool splices = true;
    for (;;) {
        const std::span<std::byte> room = block.room();
        const std::size_t n = detail::checked_read(co_await detail::read_some_of(from, here, room), room.size());
        if (n == 0) co_return count.written;
        count.read += n;
        block.add(n);
        if constexpr (whole_sink<To>) {
            co_await to.write_all(here, block.bytes());
            block.take(n);
            count.written += n;
        } else {
            while (!block.is_empty()) {
                const std::size_t sent = co_await detail::write_some_of(to, here, block.bytes());
                block.take(detail::checked_write(sent, block.count()));
                count.written += sent;
            }
        }
        if constexpr (std::same_as<From, tcp_stream> && std::same_as<To, tcp_stream>) {
            if (!splices || n != size || size < copy_options().buffer_size) continue;
            if (co_await socket_splice::all(here, from, to, count)) co_return count.written;
            splices = false;
        }
    }
}
template <typename Source, typename To>
call<std::uint64_t> copy_bytes(environment&, buffered_reader<Source>& from, To& to, std::size_t, copy_count* told) {
    auto&& here = co_await context();
    copy_count own;
    copy_count& count = told != nullptr ? *told : own;
    for (;;) {
        const std::span<const std::byte> there = co_await from.peek(here);
        if (there.empty()) co_return count.written;
        if constexpr (whole_sink<To>) {
            // Taken out before: after a stop it is not known what was sent, and nothing may go out twice. The bytes
            // stay where they are until the next read.
            from.consume(there.size());
            count.read += there.size();
            co_await to.write_all(here, there);
            count.written += there.size();
        } else {
            const std::size_t sent = co_await detail::write_some_of(to, here, there);
            from.consume(detail::checked_write(sent, there.size()));
            count.read += sent;
            count.written += sent;
        }
    }
}

template <typename From, typename To>
concept copied =
    std::is_lvalue_reference_v<From> && std::is_lvalue_reference_v<To> && byte_source<std::remove_reference_t<From>> &&
    (byte_sink<std::remove_reference_t<To>> || whole_sink<std::remove_reference_t<To>>);

}  // namespace detail

/// `co_await coflux::copy(here, from, to)`: sends all that `from` gives until its end to `to`.
///
/// From a file_reader to a file_writer the system copies, on the blocking pool, 1 MiB at a time, and shares the blocks
/// where the file system can do that. Holes stay holes, whatever the other file had there: it reads as zeros. The last
/// block of a hole at the end is written. A stop comes between two parts, and loses nothing. Where the system cannot
/// (two kinds of file systems on old kernels, a testing::sim_disk), bytes are read and written, and holes are zeros.
///
/// From a tcp_stream to a tcp_stream, once a read has filled the buffer, the system moves the bytes by itself, up to
/// 64 KiB at a time (splice): that takes less than half of the processor time. It is done where the process has more
/// descriptors left than it has open, as it takes two, and not with a smaller buffer than the default.
///
/// Shapes: `from` is a byte_source, `to` a byte_sink or, as a tls_stream, a whole_sink. Two of them, the other way
/// round, make a proxy: in a `when_all(stop_on_error, …)`, as the error of one does not end the other.
/// From a file to its own end it does not end, because the file grows.
/// Returns: how many bytes. The end of the stream is not passed on: call `to.shutdown_send()`; nor is a buffered_writer
/// flushed.
/// Errors: those of both; std::bad_alloc.
/// Stops: a stop point where one of the two waits. From a buffered_reader to a byte_sink it loses nothing, and neither
/// does an error: what was not sent stays there. Else both lose what was read and not sent, at most the buffer, or 64
/// KiB between tcp_streams: `read - written` of the count. A whole_sink has sent nothing, some or all of that, and a
/// tls_stream may send more of it with its next operation: what is copied there afterwards comes behind a gap.
/// Costs: a frame, and a block of the buffer's size from the memory resource of the caller; none for a buffered_reader.
/// Between tcp_streams, once the system moves the bytes, one more frame and two descriptors.
/// Lifetime: `from` and `to` live until the await ends.
/// Example: examples/44_connect_to.cpp
template <byte_source From, typename To>
    requires byte_sink<To> || whole_sink<To>
[[nodiscard("nothing is copied until this is awaited: co_await it")]] call<std::uint64_t>
copy(environment& here, From& from, To& to, copy_options options = {}) {
    if (options.count != nullptr) *options.count = {};  // also where a stop comes before the call has begun
    return detail::copy_bytes(here, from, to, options.buffer_size, options.count);
}

// Not of anything else.
template <typename From, typename To>
    requires(!detail::copied<From, To>)
call<std::uint64_t> copy(environment&, From&&, To&&, copy_options = {}) {
    using source = std::remove_reference_t<From>;
    using sink = std::remove_reference_t<To>;
    if constexpr (!byte_source<source>) {
        static_assert(detail::never<From>, "coflux: copy() reads from a byte_source: from a file by a file_reader, "
                                           "file_reader from(f); co_await copy(here, from, to)");
    } else if constexpr (!byte_sink<sink> && !whole_sink<sink>) {
        static_assert(detail::never<To>, "coflux: copy() writes to a byte_sink or a whole_sink: to a file by a "
                                         "file_writer, file_writer to(f); co_await copy(here, from, to)");
    } else {
        static_assert(detail::never<From>, "coflux: copy() uses its streams by reference: give each a name, "
                                           "file_reader from(f); co_await copy(here, from, to)");
    }
    std::terminate();
}
template <typename From, typename To, std::convertible_to<std::size_t> Number>
call<std::uint64_t> copy(environment& here, From&& from, To&& to, Number) {
    static_assert(detail::never<Number>, "coflux: the size of the buffer is an option with a name: copy(here, from, "
                                         "to, {.buffer_size = 4096})");
    return copy(here, std::forward<From>(from), std::forward<To>(to));
}

}  // namespace coflux
