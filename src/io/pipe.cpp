#include <coflux/io/pipe.hpp>

#include <system_error>
#include <utility>

#include "io/detail/byte_transfer.hpp"
#include "io/detail/descriptor.hpp"
#include "os/fs/pipe.hpp"
#include "os/net/socket.hpp"
#include "os/net/unix_socket.hpp"

namespace coflux {
namespace detail {
namespace {

constexpr wait_kind bytes_of_a_pipe = stops_io("bytes of a pipe");
constexpr wait_kind room_in_a_pipe = stops_io("room in a pipe");

std::ptrdiff_t read_from(descriptor& on, const os::buffer* into, std::size_t buffers) noexcept {
    return os::read_some(on.number, into, buffers);
}
std::ptrdiff_t write_to(descriptor& on, const os::buffer* from, std::size_t buffers) noexcept {
    return os::write_some(on.number, from, buffers);
}

std::ptrdiff_t write_once(descriptor& on, std::span<const std::byte> from) noexcept {
    const os::buffer one{const_cast<std::byte*>(from.data()), from.size()};
    return write_to(on, &one, 1);
}

constinit const io_kind pipe_read_some{[](io_operation& op) noexcept { return byte_transfer::some(op, &read_from); },
                                       direction::in, bytes_of_a_pipe, &byte_transfer::ask_to_read,
                                       &byte_transfer::take_some};
constinit const io_kind pipe_read_exactly{[](io_operation& op) noexcept { return byte_transfer::all(op, &read_from); },
                                          direction::in, bytes_of_a_pipe, &byte_transfer::ask_to_read,
                                          &byte_transfer::take_all};
constinit const io_kind pipe_read_buffers{
    [](io_operation& op) noexcept { return byte_transfer::read_buffers(op, &read_from); }, direction::in,
    bytes_of_a_pipe};
constinit const io_kind pipe_write_some{[](io_operation& op) noexcept { return byte_transfer::some(op, &write_to); },
                                        direction::out, room_in_a_pipe};
constinit const io_kind pipe_write_all{[](io_operation& op) noexcept { return byte_transfer::all(op, &write_to); },
                                       direction::out, room_in_a_pipe};
constinit const io_kind pipe_write_some_buffers{
    [](io_operation& op) noexcept { return byte_transfer::write_some_buffers(op, &write_to); }, direction::out,
    room_in_a_pipe};
constinit const io_kind pipe_write_buffers{
    [](io_operation& op) noexcept { return byte_transfer::write_buffers(op, &write_to); }, direction::out,
    room_in_a_pipe};

/// Its name in messages.
endpoint name_of_pipes() {
    return endpoint::local("a pipe");
}

/// Standard input and output are files where a shell redirects them.
const char* no_pipe(direction way) noexcept {
    return way == direction::in ? "coflux: adopt a pipe: this is a file, which cannot be waited for: open it as a "
                                  "coflux::file, by its path or as \"/dev/stdin\", and give that to a file_reader"
                                : "coflux: adopt a pipe: this is a file, which cannot be waited for: open it as a "
                                  "coflux::file, by its path or as \"/dev/stdout\", and give that to a file_writer";
}

descriptor_handle adopt_end(int opened, direction way) {
    int e = os::check_pipe(opened, way == direction::out);
    const bool is_one = e >= 0;
    if (is_one) e = os::stop_blocking(opened);
    if (e < 0) {
        os::close_descriptor(opened);
        const std::error_code error = io_error(e);
        if (!is_one && error == std::errc::invalid_argument) throw std::system_error(error, no_pipe(way));
        throw_io_error(e, "adopt", name_of_pipes());
    }
    return descriptor_handle(opened, name_of_pipes());
}

}  // namespace

constinit const byte_kinds byte_kinds::of_pipes{pipe_read_some,     pipe_read_buffers, pipe_read_exactly,
                                                pipe_write_some,    pipe_write_all,    pipe_write_some_buffers,
                                                pipe_write_buffers, write_once};

}  // namespace detail

pipe_reader pipe_reader::adopt(owned_descriptor opened) {
    return pipe_reader(detail::adopt_end(opened.release(), detail::direction::in));
}
pipe_writer pipe_writer::adopt(owned_descriptor opened) {
    return pipe_writer(detail::adopt_end(opened.release(), detail::direction::out));
}

pipe_ends make_pipe() {
    const endpoint name = detail::name_of_pipes();
    int ends[2] = {-1, -1};
    if (const int e = detail::os::open_pipe(ends); e < 0) detail::throw_io_error(e, "open", name);
    owned_descriptor writer(ends[1]);  // closed, if the first handle cannot be made
    detail::descriptor_handle from(ends[0], name);
    return {std::move(from), detail::descriptor_handle(writer.release(), name)};
}

}  // namespace coflux
