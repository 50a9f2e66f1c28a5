#include <coflux/io/byte_stream.hpp>

#include <system_error>
#include <utility>

#include "io/detail/byte_transfer.hpp"
#include "io/detail/descriptor.hpp"
#include "io/detail/io_counts.hpp"
#include "os/net/message.hpp"
#include "os/net/socket.hpp"
#include "os/net/unix_socket.hpp"

namespace coflux {
namespace detail {

endpoint name_of(const descriptor_handle& socket) {
    endpoint name;
    os::socket_name into{name.data(), endpoint::capacity()};
    if (const int e = socket.get().calls.local_name(socket.get().number, into); e < 0)
        throw_io_error(e, "ask for the name of a socket at", socket.peer());
    name.resize(into.size);
    return name;
}

descriptor_handle adopt_connection(int opened) {
    endpoint peer;
    os::socket_name into{peer.data(), endpoint::capacity()};
    int e = os::peer_name(opened, into);
    if (e >= 0) {
        peer.resize(into.size);
        e = os::stop_blocking(opened);
    }
    if (e < 0) {
        os::close_descriptor(opened);
        if (peer.size() == 0) throw std::system_error(io_error(e), "coflux: adopt a connection");
        throw_io_error(e, "adopt a connection to", peer);
    }
    descriptor_handle adopted(opened, peer);
    if (!os::is_tcp(opened)) adopted.get().gives_messages();
    return adopted;
}

}  // namespace detail

// --- halves ----------------------------------------------------------------------------------------------------------

bool byte_reader::is_readable() const noexcept {
    const detail::descriptor& on = from_.get();
    return on.calls.is_readable_now(on.number) != 0;
}
byte_reader& byte_reader::operator=(byte_reader&& other) noexcept {
    if (this != &other) {
        from_.close_way(detail::direction::in, "is assigned to");
        from_ = std::move(other.from_);
        how_ = other.how_;
    }
    return *this;
}

byte_writer& byte_writer::operator=(byte_writer&& other) noexcept {
    if (this != &other) {
        end("is assigned to");
        to_ = std::move(other.to_);
        how_ = other.how_;
    }
    return *this;
}

io_result<std::size_t> byte_writer::try_write_some(std::span<const std::byte> from) noexcept {
    if (!is_open()) return std::make_error_code(std::errc::bad_file_descriptor);
    detail::descriptor& on = to_.get();
    if (from.empty() || on.is_waited_for(detail::direction::out)) return std::size_t{0};
    const std::ptrdiff_t n = how_->write_now(on, from);
    if (detail::os::would_block(n)) return std::size_t{0};
    if (n < 0) return detail::io_error(n);
    detail::io_counts::count_bytes(detail::direction::out, n);
    return static_cast<std::size_t>(n);
}

void byte_writer::abort() noexcept {
    if (!is_open()) return;
    how_ = &detail::byte_kinds::of_aborted;
    (void)to_.get().calls.cut_connection(to_.number());  // refused by a pipe, and by what is cut
}

void byte_writer::end(const char* how) noexcept {
    // If the reader goes at the same time, both tell the peer the same.
    // [io.writer_dies.shuts_down]
    if (to_.is_shared()) (void)to_.get().calls.shutdown_send(to_.number());
    to_.close_way(detail::direction::out, how);
}

// --- both ------------------------------------------------------------------------------------------------------------

byte_stream::byte_stream(detail::descriptor_handle socket) noexcept
    : byte_reader(socket.share(), detail::byte_kinds::of_sockets),
      byte_writer(std::move(socket), detail::byte_kinds::of_sockets) {}

void byte_stream::close() noexcept {
    byte_reader::close();  // first: the writer is then alone, and closes
    byte_writer::close();
}
endpoint byte_stream::local_endpoint() const {
    return detail::name_of(from_);
}
void byte_stream::shutdown_send() {
    if (const int e = to_.get().calls.shutdown_send(to_.number()); e < 0)
        detail::throw_io_error(e, "end the stream to", to_.peer());
}

}  // namespace coflux
