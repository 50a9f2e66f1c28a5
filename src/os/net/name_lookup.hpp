// Names of hosts, by the system's resolver. Errors are those of getaddrinfo(3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "socket_name.hpp"

namespace coflux::detail::os {

/// Which addresses are asked for.
enum class name_family : std::uint8_t { any, v4, v6 };

/// Whether it may ask the network, and so block.
enum class name_kind : std::uint8_t { any, numeric };

struct lookup_error {
    int code = 0;       // of getaddrinfo(3); 0: none
    int of_system = 0;  // the error number of the system, where that is the cause; not 0 where the code is EAI_SYSTEM
};
/// The error that getaddrinfo(3) has returned, and left in errno, which was 0 before. Where it lacked a descriptor or
/// memory, it may say that there is no such host, and tell the cause by errno alone.
[[nodiscard]] lookup_error error_of_lookup(int code, int error) noexcept;

/// Calls `each(context, name, size)` for the addresses of `host` in the system's order, each once, with port 0. Its
/// exceptions come out.
lookup_error look_up_name(const char* host, name_family family, name_kind kind,
                          void (*each)(void* context, const void* name, std::size_t size), void* context);

[[nodiscard]] const char* text_of_lookup_error(int code) noexcept;

/// The meaning of an error to a program.
enum class lookup_failure : std::uint8_t { not_found, try_again, no_memory, other };
[[nodiscard]] lookup_failure kind_of_lookup_error(int code) noexcept;
/// An error of the kind not_found.
[[nodiscard]] int name_not_found() noexcept;

/// Sets the port of an address of the Internet protocols.
void set_port(void* name, std::size_t size, std::uint16_t port) noexcept;

}  // namespace coflux::detail::os
