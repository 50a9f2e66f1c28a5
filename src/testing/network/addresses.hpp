// Endpoints as machines of a simulated network see them.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <coflux/io/endpoint.hpp>

#include "os/net/socket.hpp"

namespace coflux::testing::detail {

/// Without port and brackets. Pre: it has an address.
[[nodiscard]] inline std::string address_of(const endpoint& e) {
    std::string text = e.to_string();
    text.resize(text.rfind(':'));
    if (text.front() == '[') text = text.substr(1, text.size() - 2);
    return text;
}
[[nodiscard]] inline bool is_any(const std::string& address) noexcept {
    return address == "0.0.0.0" || address == "::";
}
[[nodiscard]] inline bool is_loopback(const std::string& address) noexcept {
    return address.starts_with("127.") || address == "::1";
}
/// A path, and not an address with a port.
[[nodiscard]] inline bool is_path(int family) {
    static const int paths = endpoint::local("x").family();
    return family == paths;
}
[[nodiscard]] inline bool is_path(const endpoint& e) {
    return is_path(e.family());
}
/// The system's error for a path that no socket has: there is no such file, or none listens at an abstract name.
[[nodiscard]] inline int error_of_missing(const endpoint& path) noexcept {
    return path.to_string().starts_with('@') ? ECONNREFUSED : ENOENT;
}
[[nodiscard]] inline bool is_known(int family) {
    static const std::array known{endpoint::any(0).family(), endpoint::ip("::", 0).family(),
                                  endpoint::local("x").family()};
    return std::find(known.begin(), known.end(), family) != known.end();
}

[[nodiscard]] inline endpoint endpoint_of(const void* name, std::size_t size) noexcept {
    endpoint e;
    e.resize(std::min(size, endpoint::capacity()));
    std::memcpy(e.data(), name, e.size());
    return e;
}
[[nodiscard]] inline endpoint endpoint_of(coflux::detail::os::const_socket_name name) noexcept {
    return endpoint_of(name.data, name.size);
}
inline void give(const endpoint& e, coflux::detail::os::socket_name& to) noexcept {
    std::memcpy(to.data, e.data(), std::min(to.size, e.size()));
    to.size = e.size();
}

}  // namespace coflux::testing::detail
