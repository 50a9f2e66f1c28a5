// endpoint knows no header of the system: what it is made of is here.
#include "socket_name.hpp"

#include <charconv>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace coflux::detail::os {
namespace {

/// Where an address says nothing without its interface.
bool is_link_local(const in6_addr& address) noexcept {
    return IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MC_LINKLOCAL(&address) || IN6_IS_ADDR_MC_NODELOCAL(&address);
}
/// The interface of a name or a number; 0: none.
std::uint32_t scope_of(const char* text) noexcept {
    std::uint32_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto read = std::from_chars(text, end, number);
    if (read.ec == std::errc() && read.ptr == end) return number;
    return if_nametoindex(text);
}
std::string text_of_scope(std::uint32_t scope) {
    char name[IF_NAMESIZE] = "";
    return if_indextoname(scope, name) != nullptr ? std::string(name) : std::to_string(scope);
}

}  // namespace

std::size_t write_ip_name(const char* address, std::uint16_t port, void* into, std::size_t room) {
    sockaddr_in four{};
    if (inet_pton(AF_INET, address, &four.sin_addr) == 1 && room >= sizeof four) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(into, &four, sizeof four);
        return sizeof four;
    }
    sockaddr_in6 six{};
    const std::string whole = address;
    const std::size_t scope = whole.find('%');
    if (inet_pton(AF_INET6, whole.substr(0, scope).c_str(), &six.sin6_addr) == 1 && room >= sizeof six) {
        if (scope != std::string::npos) {
            if (!is_link_local(six.sin6_addr)) return 0;
            six.sin6_scope_id = scope_of(whole.c_str() + scope + 1);
            if (six.sin6_scope_id == 0) return 0;
        }
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        std::memcpy(into, &six, sizeof six);
        return sizeof six;
    }
    return 0;
}

std::size_t write_local_name(const char* path, std::size_t length, void* into, std::size_t room) noexcept {
    sockaddr_un name{};
    if (length >= sizeof name.sun_path || room < sizeof name) return 0;
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path, length);
    std::memcpy(into, &name, sizeof name);
    const bool is_abstract = length != 0 && path[0] == '\0';
    return offsetof(sockaddr_un, sun_path) + length + (is_abstract ? 0 : 1);
}

int family_of_name(const void* name, std::size_t size) noexcept {
    sockaddr generic{};
    if (size < sizeof generic.sa_family) return 0;
    std::memcpy(&generic, name, size < sizeof generic ? size : sizeof generic);
    return generic.sa_family;
}

std::uint16_t port_of_name(const void* name, std::size_t size) noexcept {
    if (family_of_name(name, size) == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, name, sizeof four);
        return ntohs(four.sin_port);
    }
    if (family_of_name(name, size) == AF_INET6) {
        sockaddr_in6 six{};
        std::memcpy(&six, name, sizeof six);
        return ntohs(six.sin6_port);
    }
    return 0;
}

std::string text_of_name(const void* name, std::size_t size) {
    char text[INET6_ADDRSTRLEN] = "";
    switch (family_of_name(name, size)) {
    case AF_INET: {
        sockaddr_in four{};
        std::memcpy(&four, name, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
        return std::string(text) + ':' + std::to_string(ntohs(four.sin_port));
    }
    case AF_INET6: {
        sockaddr_in6 six{};
        std::memcpy(&six, name, sizeof six);
        inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
        const std::string scope = six.sin6_scope_id != 0 ? '%' + text_of_scope(six.sin6_scope_id) : std::string();
        return '[' + std::string(text) + scope + "]:" + std::to_string(ntohs(six.sin6_port));
    }
    case AF_UNIX: {
        const std::size_t before = offsetof(sockaddr_un, sun_path);
        if (size <= before) return "a socket without a name";
        std::string path(static_cast<const char*>(name) + before, size - before);
        if (path[0] == '\0') return '@' + path.substr(1);
        return path.c_str();
    }
    default: return "nowhere";
    }
}

}  // namespace coflux::detail::os
