#include <coflux/io/unix_datagram.hpp>

#include <utility>

#include <coflux/io/owned_descriptor.hpp>

#include "byte_transfer.hpp"
#include "descriptor.hpp"
#include "os/message.hpp"
#include "os/unix_socket.hpp"

namespace coflux {

unix_datagram::unix_datagram(const endpoint& at, unix_options options)
    : datagram_socket(detail::local_or_throw(at).family(), at) {
    if (options.replace_stale)
        detail::os::remove_stale_socket({at.data(), at.size()}, detail::os::socket_type::datagram);
    bind(at);
    if (options.unlink) file_ = detail::bound_path(at);
}
unix_datagram unix_datagram::unbound() {
    const int opened = detail::os::open_datagram(detail::os::local_family());
    if (opened < 0) detail::throw_io_error(opened, "open a socket at", {});
    return unix_datagram(detail::descriptor_handle(opened, {}));
}
std::pair<unix_datagram, unix_datagram> unix_datagram::pair() {
    int ends[2] = {-1, -1};
    if (const int e = detail::os::open_datagram_pair(ends); e < 0)
        detail::throw_io_error(e, "open a pair of sockets at", {});
    owned_descriptor second(ends[1]);  // closed, if the first handle cannot be made
    unix_datagram one(detail::descriptor_handle(ends[0], {}));
    return {std::move(one), unix_datagram(detail::descriptor_handle(second.release(), {}))};
}
void unix_datagram::close() noexcept {
    file_.remove();
    socket_.close("is closed");
}

}  // namespace coflux
