// The steps of the operations of streams of bytes, with one system call or another.
#pragma once

#include <cstddef>
#include <span>

#include <coflux/io/byte_stream.hpp>
#include <coflux/io/detail/stream_operations.hpp>

#include "os/buffer.hpp"

namespace coflux::detail {

struct byte_transfer {
    /// Moves bytes in or out of buffers.
    using system_call = std::ptrdiff_t (*)(descriptor& on, const os::buffer* buffers, std::size_t count) noexcept;

    // Each is an io_kind::attempt.
    static bool some(io_operation& op, system_call call) noexcept;
    static bool all(io_operation& op, system_call call) noexcept;
    static bool read_buffers(io_operation& op, system_call call) noexcept;
    static bool write_some_buffers(io_operation& op, system_call call) noexcept;
    static bool write_buffers(io_operation& op, system_call call) noexcept;
    static bool is_aborted(io_operation& op) noexcept;

    // The same of a socket, by the calls for one span.
    static bool receive_some(io_operation& op) noexcept;
    static bool receive_all(io_operation& op) noexcept;
    static bool send_some(io_operation& op) noexcept;
    static bool send_all(io_operation& op) noexcept;

    // Steps of an io_kind where the event source makes the call.
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool ask_to_read(io_operation& op, io_submission& call) noexcept;
    static bool take_some(io_operation& op, std::ptrdiff_t moved) noexcept;
    static bool take_all(io_operation& op, std::ptrdiff_t moved) noexcept;

private:
    template <typename Call>
    static bool move_all(io_operation& op, Call call) noexcept;
    static bool take_result(transfer_operation& t, std::ptrdiff_t moved) noexcept;
};

constexpr wait_kind stops_io(const char* what) noexcept {
    return {&io_operation::claim, &wait_operation::stop_claimed, what};
}

/// A stream over a connection that another has made. Errors: std::system_error; then it is closed.
[[nodiscard]] descriptor_handle adopt_connection(int opened);
/// `at`, if it is of a local socket.
/// Errors: std::system_error, std::errc::address_family_not_supported.
const endpoint& local_or_throw(const endpoint& at);
/// Errors: std::system_error.
[[nodiscard]] endpoint name_of(const descriptor_handle& socket);

}  // namespace coflux::detail
