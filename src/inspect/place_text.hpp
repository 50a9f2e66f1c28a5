// Texts of places, read from addresses that may be anything.
#pragma once

#include <cstdint>
#include <string>

namespace coflux::detail {

/// Empty: there is no string. Errors: std::bad_alloc.
[[nodiscard]] std::string checked_text(std::uint64_t address);

struct place_text {
    std::string function;  ///< readable; empty: not known
    std::string at;        ///< file:line
};
/// The place of an await, of the address that a std::source_location has. Errors: std::bad_alloc.
[[nodiscard]] place_text checked_place(std::uint64_t address);
/// `f at file:line`, or that it is not known. Errors: std::bad_alloc.
[[nodiscard]] std::string text_of_place(std::uint64_t address);

}  // namespace coflux::detail
