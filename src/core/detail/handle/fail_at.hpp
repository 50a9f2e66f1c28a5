// A check that fails at a location of the program, for handles that are used wrongly; private to the library.
#pragma once

#include <source_location>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

[[noreturn]] COFLUX_COLD inline void fail_at(const std::source_location& at, const char* expression,
                                             const char* message) noexcept {
    fail(at.file_name(), static_cast<int>(at.line()), expression, "%s", message);
}

}  // namespace coflux::detail
