// The page docs/design/buffered.md says when copy() comes here, and what a stop loses.
#include <cerrno>
#include <cstddef>
#include <span>

#include <coflux/io/copy.hpp>
#include <coflux/io/owned_descriptor.hpp>
#include <coflux/io/result.hpp>

#include "byte_transfer.hpp"
#include "descriptor.hpp"
#include "os/fs/pipe.hpp"

namespace coflux::detail {

constexpr std::size_t most_in_a_pipe = 64 * 1024;

/// Between two sockets.
struct splice_pipe {
    splice_pipe() noexcept {
        int ends[2] = {-1, -1};
        if (os::open_pipe(ends) < 0) return;
        reader = owned_descriptor(ends[0]);
        writer = owned_descriptor(ends[1]);
    }
    /// It is there, is as large as it is to be, and the process has descriptors left for others.
    [[nodiscard]] bool is_good() const noexcept {
        return writer.is_open() && !os::is_scarce(reader.native_handle()) && !os::is_scarce(writer.native_handle()) &&
               os::room_of_pipe(writer.native_handle()) >= static_cast<int>(most_in_a_pipe);
    }

    owned_descriptor reader;
    owned_descriptor writer;
};

namespace {

/// In place of bytes an operation is given the number of the pipe's end.
std::span<std::byte> bytes_by(int& pipe, std::size_t size) noexcept {
    return {reinterpret_cast<std::byte*>(&pipe), size};
}
std::ptrdiff_t fill_pipe(descriptor& from, const os::buffer* pipe, std::size_t) noexcept {
    return os::splice_into_pipe(from.number, *static_cast<const int*>(pipe->data), pipe->size);
}
std::ptrdiff_t drain_pipe(descriptor& to, const os::buffer* pipe, std::size_t) noexcept {
    return os::splice_from_pipe(*static_cast<const int*>(pipe->data), to.number, pipe->size);
}
constinit const io_kind fills_pipe{[](io_operation& op) noexcept { return byte_transfer::some(op, &fill_pipe); },
                                   direction::in, stops_io("bytes of a socket")};
constinit const io_kind drains_pipe{[](io_operation& op) noexcept { return byte_transfer::some(op, &drain_pipe); },
                                    direction::out, stops_io("room in a socket")};

/// True after a first call where the system has none such, or allows none.
bool is_refused(const std::error_code& error) noexcept {
    return error.value() == EINVAL || error.value() == ENOSYS || error.value() == EPERM;
}

}  // namespace

call<bool> socket_splice::all(environment&, tcp_stream& from, tcp_stream& to, copy_count& count) {
    const socket_calls& system = socket_calls::of_system();
    if (&from.from_.get().calls != &system || &to.to_.get().calls != &system) co_return false;
    const splice_pipe pipe;
    if (!pipe.is_good()) co_return false;
    int in = pipe.writer.native_handle();
    int out = pipe.reader.native_handle();
    for (bool is_first = true;; is_first = false) {
        const io_result<std::size_t> filled = co_await as_result(
            transfer_request<std::size_t, std::byte>{from.from_, bytes_by(in, most_in_a_pipe), fills_pipe});
        if (!filled) {
            if (is_first && is_refused(filled.error())) co_return false;
            throw_io_error(-filled.error().value(), "read from", from.peer_endpoint());
        }
        if (*filled == 0) co_return true;
        count.read += *filled;
        for (std::size_t left = *filled; left != 0;) {
            const std::size_t sent =
                co_await transfer_request<std::size_t, const std::byte>{to.to_, bytes_by(out, left), drains_pipe};
            left -= sent;
            count.written += sent;
        }
    }
}

}  // namespace coflux::detail
