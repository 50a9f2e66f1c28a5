#include <coflux/io/unix_datagram.hpp>

#include <utility>

#include "io/detail/byte_transfer.hpp"
#include "io/detail/descriptor.hpp"
#include "os/net/message.hpp"
#include "os/net/unix_socket.hpp"

namespace coflux {

unix_datagram::unix_datagram(const endpoint& at, unix_options options)
    : datagram_socket(detail::local_or_throw(at).family(), at) {
    const bool has_file = &socket_.get().calls == &detail::socket_calls::of_system();
    if (options.replace_stale && has_file)
        detail::os::remove_stale_socket({at.data(), at.size()}, detail::os::socket_type::datagram);
    bind(at);
    if (options.unlink && has_file) file_ = detail::bound_path(at);
}
unix_datagram unix_datagram::unbound() {
    detail::socket_calls& calls = detail::socket_calls::here();
    const int opened = calls.open_datagram(detail::os::local_family());
    if (opened < 0) detail::throw_io_error(opened, "open a socket at", {});
    return unix_datagram(detail::descriptor_handle(opened, {}, &calls));
}
std::pair<unix_datagram, unix_datagram> unix_datagram::pair() {
    detail::socket_calls& calls = detail::socket_calls::here();
    int ends[2] = {-1, -1};
    if (const int e = calls.open_datagram_pair(ends); e < 0) detail::throw_io_error(e, "open a pair of sockets at", {});
    try {
        const int first = std::exchange(ends[0], -1);
        unix_datagram one(detail::descriptor_handle(first, {}, &calls));
        const int second = std::exchange(ends[1], -1);
        return {std::move(one), unix_datagram(detail::descriptor_handle(second, {}, &calls))};
    } catch (...) {
        if (ends[1] >= 0) calls.close_descriptor(ends[1]);  // the first handle could not be made
        throw;
    }
}
void unix_datagram::close() noexcept {
    file_.remove();
    socket_.close("is closed");
}

}  // namespace coflux
