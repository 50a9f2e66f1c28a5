#include <coflux/io/udp.hpp>

#include <cerrno>

#include "io/detail/descriptor.hpp"
#include "io/detail/socket_settings.hpp"
#include "os/net/message.hpp"

namespace coflux {

udp_socket::udp_socket(const endpoint& at, udp_options options) : datagram_socket(at.family(), at) {
    int e = detail::os::is_local(at.family()) ? -EAFNOSUPPORT : 0;
    if (e >= 0 && options.shared_port) e = socket_.get().calls.share_port(native_handle());
    if (e >= 0 && options.broadcast) e = socket_.get().calls.allow_broadcast(native_handle());
    if (e < 0) detail::throw_io_error(e, "prepare a socket at", at);
    detail::change_settings(socket_, options.socket);
    bind(at);
    if (at.port() == 0) socket_.get().peer = local_endpoint();  // for messages: the port that the system chose
}
void udp_socket::join_group(const endpoint& group) {
    if (const int e = socket_.get().calls.join_group(native_handle(), {group.data(), group.size()}); e < 0)
        detail::throw_io_error(e, "join the group", group);
}
void udp_socket::leave_group(const endpoint& group) {
    if (const int e = socket_.get().calls.leave_group(native_handle(), {group.data(), group.size()}); e < 0)
        detail::throw_io_error(e, "leave the group", group);
}

}  // namespace coflux
