// Addresses of sockets, as bytes that only the system's headers can name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coflux::detail::os {

/// The size that it took; 0 if `address` is no numeric address.
std::size_t write_ip_name(const char* address, std::uint16_t port, void* into, std::size_t room);
/// 0 if `path` is too long.
std::size_t write_local_name(const char* path, std::size_t length, void* into, std::size_t room) noexcept;
/// 0 for none.
int family_of_name(const void* name, std::size_t size) noexcept;
std::uint16_t port_of_name(const void* name, std::size_t size) noexcept;
std::string text_of_name(const void* name, std::size_t size);

}  // namespace coflux::detail::os
