#include "name_lookup.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace coflux::detail::os {
namespace {

int number_of(name_family family) noexcept {
    switch (family) {
    case name_family::v4: return AF_INET;
    case name_family::v6: return AF_INET6;
    default: return AF_UNSPEC;
    }
}

/// A lack of the process, or of the system. Other numbers stay behind in errno where a look-up goes on by other
/// means, and say nothing of its end: a file that is not there, a name server that refuses, EAGAIN of a poll.
bool is_a_lack(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

struct freed {
    void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

}  // namespace

lookup_error error_of_lookup(int code, int error) noexcept {
    if (is_a_lack(error)) return {code, error};
    if (code != EAI_SYSTEM) return {code, 0};
    return {code, error != 0 ? error : EIO};  // some plug-ins of name services leave none
}

lookup_error look_up_name(const char* host, name_family family, name_kind kind,
                          void (*each)(void* context, const void* name, std::size_t size), void* context) {
    addrinfo wanted{};
    wanted.ai_family = number_of(family);
    wanted.ai_socktype = SOCK_STREAM;  // else each address comes once for each type
    wanted.ai_flags = kind == name_kind::numeric ? AI_NUMERICHOST : 0;
    addrinfo* first = nullptr;
    errno = 0;
    if (const int code = getaddrinfo(host, nullptr, &wanted, &first); code != 0) return error_of_lookup(code, errno);
    const std::unique_ptr<addrinfo, freed> all(first);
    for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
        if (at->ai_family == AF_INET || at->ai_family == AF_INET6) each(context, at->ai_addr, at->ai_addrlen);
    }
    return {};
}

const char* text_of_lookup_error(int code) noexcept {
    return gai_strerror(code);
}

lookup_failure kind_of_lookup_error(int code) noexcept {
    switch (code) {
    case EAI_NONAME: return lookup_failure::not_found;
#ifdef EAI_NODATA
    case EAI_NODATA: return lookup_failure::not_found;
#endif
#ifdef EAI_ADDRFAMILY
    case EAI_ADDRFAMILY: return lookup_failure::not_found;
#endif
    case EAI_AGAIN: return lookup_failure::try_again;
    case EAI_MEMORY: return lookup_failure::no_memory;
    default: return lookup_failure::other;
    }
}

int name_not_found() noexcept {
    return EAI_NONAME;
}

void set_port(void* name, std::size_t size, std::uint16_t port) noexcept {
    const std::uint16_t on_the_wire = htons(port);
    auto* const bytes = static_cast<char*>(name);
    if (family_of_name(name, size) == AF_INET) {
        std::memcpy(bytes + offsetof(sockaddr_in, sin_port), &on_the_wire, sizeof on_the_wire);
    } else if (family_of_name(name, size) == AF_INET6) {
        std::memcpy(bytes + offsetof(sockaddr_in6, sin6_port), &on_the_wire, sizeof on_the_wire);
    }
}

}  // namespace coflux::detail::os
