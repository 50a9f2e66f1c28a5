// A snapshot as text.
#pragma once

#include <coflux/inspect/dump.hpp>

#include "inspect/bounded_text.hpp"
#include "inspect/snapshot.hpp"

namespace coflux::detail::inspection {

/// The end of each report, which says what is left out, fits into this.
inline constexpr std::size_t room_for_rest = 96;

void write_groups(const snapshot& s, bounded_text& to) noexcept;
void write_tree(const snapshot& s, bounded_text& to) noexcept;
void write_json(const snapshot& s, bounded_text& to) noexcept;

}  // namespace coflux::detail::inspection
