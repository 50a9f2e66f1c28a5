#include <coflux/io/unix.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <coflux/base/assert.hpp>

#include "io/detail/byte_transfer.hpp"
#include "io/detail/descriptor.hpp"
#include "io/detail/socket_settings.hpp"
#include "os/net/message.hpp"
#include "os/net/socket.hpp"
#include "os/net/unix_socket.hpp"

namespace coflux {
namespace detail {

unix_stream unix_accept_awaiter::await_resume() {
    return unix_stream(take_or_throw());
}
io_result<unix_stream> unix_accept_awaiter::resume_with_result() {
    auto taken = take_or_error();
    if (!taken) return taken.error();
    return unix_stream(std::move(*taken));
}
const endpoint& local_or_throw(const endpoint& at) {
    if (!os::is_local(at.family())) throw_io_error(-EAFNOSUPPORT, "make a local socket at", at);
    return at;
}
unix_connect_awaiter::unix_connect_awaiter(promise_base& p, const endpoint& to)
    : connect_awaiter(p, to, to_what::local) {}
unix_stream unix_connect_awaiter::await_resume() {
    return unix_stream(take_or_throw());
}
io_result<unix_stream> unix_connect_awaiter::resume_with_result() {
    auto taken = take_or_error();
    if (!taken) return taken.error();
    return unix_stream(std::move(*taken));
}

// --- descriptors -----------------------------------------------------------------------------------------------------

send_descriptors_awaiter::send_descriptors_awaiter(promise_base& p, descriptor_handle& on,
                                                   std::span<const int> descriptors,
                                                   std::span<const std::byte> with) noexcept
    : transfer_operation(p, on.get(), kind, with.data(), with.size()),
      descriptors_(descriptors) {
    COFLUX_VERIFY(!with.empty(), "descriptors are sent without a byte that they could come with");
}

bool send_descriptors_awaiter::send(io_operation& op) noexcept {
    auto& t = static_cast<send_descriptors_awaiter&>(op);
    if (t.descriptors_.size() > os::most_descriptors) {
        t.error_ = -EINVAL;
        return true;
    }
    if (t.count_ == 0 && !t.descriptors_.empty()) {
        const std::ptrdiff_t sent =
            os::send_descriptors(t.on().number, {t.data_, t.size_}, t.descriptors_.data(), t.descriptors_.size());
        if (os::would_block(sent)) return false;
        if (sent < 0) {
            t.error_ = sent;
            return true;
        }
        t.count_ = static_cast<std::size_t>(sent);
    }
    return byte_transfer::send_all(op);
}
constinit const io_kind send_descriptors_awaiter::kind{&send, direction::out, stops_io("room in a socket")};

bool receive_descriptors_awaiter::receive(io_operation& op) noexcept {
    auto& t = static_cast<receive_descriptors_awaiter&>(op);
    os::received_descriptors came;
    const std::size_t most = std::min(t.descriptors_.size(), os::most_descriptors);
    const std::ptrdiff_t got = os::receive_descriptors(t.on().number, {t.data_, t.size_}, most, came);
    if (os::would_block(got)) return false;
    if (got < 0) {
        t.error_ = got;
    } else if (came.is_cut) {
        // The system stops where it has no room for one more, or no number.
        t.error_ = came.count < most ? -EMFILE : -EMSGSIZE;
        for (std::size_t i = 0; i < came.count; ++i) os::close_descriptor(came.numbers[i]);
    } else {
        t.count_ = static_cast<std::size_t>(got);
        t.came_ = came.count;
        for (std::size_t i = 0; i < came.count; ++i) t.descriptors_[i] = owned_descriptor(came.numbers[i]);
    }
    return true;
}
constinit const io_kind receive_descriptors_awaiter::kind{&receive, direction::in,
                                                          stops_io("bytes or descriptors of a socket")};

io_result<bytes_and_descriptors> receive_descriptors_awaiter::resume_with_result() noexcept {
    const io_result<std::size_t> count = count_or_error();
    if (!count) return count.error();
    return bytes_and_descriptors{count_, came_};
}

}  // namespace detail

// --- handles ---------------------------------------------------------------------------------------------------------

std::pair<unix_stream, unix_stream> unix_stream::pair() {
    int ends[2] = {-1, -1};
    if (const int e = detail::os::open_stream_pair(ends); e < 0)
        detail::throw_io_error(e, "open a pair of sockets at", {});
    owned_descriptor second(ends[1]);  // closed, if the first handle cannot be made
    unix_stream one(detail::descriptor_handle(ends[0], {}));
    return {std::move(one), unix_stream(detail::descriptor_handle(second.release(), {}))};
}
unix_stream unix_stream::adopt(owned_descriptor opened) {
    unix_stream adopted(detail::adopt_connection(opened.release()));
    (void)detail::local_or_throw(adopted.peer_endpoint());
    return adopted;
}
peer_credentials unix_stream::credentials() const {
    detail::os::credentials of{};
    if (const int e = detail::os::peer_credentials(from_.get().number, of); e < 0)
        detail::throw_io_error(e, "ask for the process at", peer_endpoint());
    return {of.process, of.user, of.group};
}

unix_listener::unix_listener(const endpoint& at, unix_options options) {
    const int backlog = detail::checked_backlog(options.backlog);
    const detail::os::const_socket_name name{at.data(), at.size()};
    detail::socket_calls& calls = detail::socket_calls::here();
    const bool has_file = &calls == &detail::socket_calls::of_system();
    const int opened = calls.open_stream(detail::local_or_throw(at).family());
    if (opened < 0) detail::throw_io_error(opened, "open a socket to listen at", at);
    socket_ = detail::descriptor_handle(opened, at, &calls);
    if (options.replace_stale && has_file) detail::os::remove_stale_socket(name, detail::os::socket_type::stream);
    const int e = calls.listen_at(opened, name, backlog, false);
    if (e < 0) detail::throw_io_error(e, "listen at", at);
    if (options.unlink && has_file) file_ = detail::bound_path(at);
}
std::optional<unix_stream> unix_listener::try_accept() {
    detail::descriptor_handle accepted = detail::accept_now(socket_);
    if (!accepted.is_open()) return std::nullopt;
    return unix_stream(std::move(accepted));
}
void unix_listener::close() noexcept {
    file_.remove();
    socket_.close("is closed");
}
endpoint unix_listener::local_endpoint() const {
    return detail::name_of(socket_);
}

}  // namespace coflux
