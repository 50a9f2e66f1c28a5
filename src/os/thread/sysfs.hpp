// The contents of the small files of /sys: numbers, and lists of processors such as "0-3,8".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coflux::detail::os {

/// The numbers of a list, each once, in ascending order; nothing for a text that is no list.
[[nodiscard]] std::optional<std::vector<unsigned>> list_of(std::string_view text);

/// The first line of a file. Errors: a file that cannot be read has none.
[[nodiscard]] std::optional<std::string> line_in(const std::string& path);
/// As list_of() of that.
[[nodiscard]] std::optional<std::vector<unsigned>> list_in(const std::string& path);
/// The number that the line begins with. A `K`, `M` or `G` behind it multiplies it, as in the size of a cache.
[[nodiscard]] std::optional<unsigned long long> number_in(const std::string& path);

/// The numbers N of the entries `prefix`N of a folder, in ascending order.
[[nodiscard]] std::vector<unsigned> numbered_in(const std::string& folder, std::string_view prefix);

}  // namespace coflux::detail::os
