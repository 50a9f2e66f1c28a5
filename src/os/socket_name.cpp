// endpoint knows no header of the system: what it is made of is here.
#include "socket_name.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace coflux::detail::os {

std::size_t write_ip_name(const char* address, std::uint16_t port, void* into, std::size_t room) noexcept {
    sockaddr_in four{};
    if (inet_pton(AF_INET, address, &four.sin_addr) == 1 && room >= sizeof four) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(into, &four, sizeof four);
        return sizeof four;
    }
    sockaddr_in6 six{};
    if (inet_pton(AF_INET6, address, &six.sin6_addr) == 1 && room >= sizeof six) {
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
        return '[' + std::string(text) + "]:" + std::to_string(ntohs(six.sin6_port));
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
