// The options of a socket, as the system takes them.
#pragma once

#include <coflux/io/socket_options.hpp>

#include "descriptor.hpp"
#include "os/net/socket.hpp"

namespace coflux::detail {

/// Errors: std::invalid_argument if it is below 0.
[[nodiscard]] int checked_backlog(int backlog);
/// Errors: std::invalid_argument.
[[nodiscard]] os::socket_settings settings_of(const socket_options& options);
/// Errors: std::invalid_argument, std::system_error.
void change_settings(const descriptor_handle& socket, const socket_options& options);

}  // namespace coflux::detail
