#include <coflux/io/endpoint.hpp>

#include <cstring>
#include <stdexcept>

#include "os/net/socket_name.hpp"

namespace coflux {

endpoint endpoint::ip(std::string_view address, std::uint16_t port) {
    endpoint e;
    const std::string text(address);
    // Up to a zero byte it may be one.
    if (text.find('\0') == std::string::npos) e.resize(detail::os::write_ip_name(text.c_str(), port, e.data(), most));
    if (e.size() == 0) {
        const bool has_scope = text.find('%') != std::string::npos;
        throw std::invalid_argument("coflux: '" + text + "' is no numeric address" +
                                    (has_scope ? " at an interface of this machine" : ""));
    }
    return e;
}
endpoint endpoint::any(std::uint16_t port) {
    return ip("0.0.0.0", port);
}
endpoint endpoint::any_v6(std::uint16_t port) {
    return ip("::", port);
}
endpoint endpoint::loopback_v6(std::uint16_t port) {
    return ip("::1", port);
}
endpoint endpoint::loopback(std::uint16_t port) {
    return ip("127.0.0.1", port);
}
endpoint endpoint::local(std::string_view path) {
    if (path.empty()) throw std::invalid_argument("coflux: the path of a socket is empty");
    if (path[0] != '\0' && path.find('\0') != std::string_view::npos)
        throw std::invalid_argument("coflux: the path of a socket has a zero byte: '" + std::string(path) + "'");
    endpoint e;
    e.resize(detail::os::write_local_name(path.data(), path.size(), e.data(), most));
    if (e.size() == 0)
        throw std::invalid_argument("coflux: the path of a socket is too long: '" + std::string(path) + "'");
    return e;
}

std::uint16_t endpoint::port() const noexcept {
    return detail::os::port_of_name(data(), size());
}
std::string endpoint::to_string() const {
    return detail::os::text_of_name(data(), size());
}
int endpoint::family() const noexcept {
    return detail::os::family_of_name(data(), size());
}
bool endpoint::operator==(const endpoint& other) const noexcept {
    return size_ == other.size_ && std::memcmp(data(), other.data(), size_) == 0;
}

}  // namespace coflux
