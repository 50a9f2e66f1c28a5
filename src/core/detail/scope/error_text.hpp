// An error that ends a program, as it is printed.
#pragma once

#include <exception>
#include <source_location>
#include <span>

namespace coflux::detail {

/// Prints to stderr what the error says, what it was nested in, and where the root stood that it came out of, if that
/// is known; then the others. Each line begins with `margin`.
void print_errors(const char* margin, const std::exception_ptr& error, std::span<const std::exception_ptr> others,
                  std::source_location where) noexcept;

}  // namespace coflux::detail
