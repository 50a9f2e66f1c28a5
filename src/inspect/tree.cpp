// Each coroutine below the one that it was made in.
#include <algorithm>

#include "inspect/places.hpp"
#include "inspect/report.hpp"

namespace coflux::detail::inspection {
namespace {

struct links {
    std::uint32_t first_below;
    std::uint32_t next;  // below the same coroutine
};

void write_line(const snapshot& s, std::uint32_t i, std::size_t depth, places& where, bounded_text& to) noexcept {
    to.add_spaces(2 * std::min<std::size_t>(depth, 40));
    where.write(s[i].place, to);
    to.add(": ");
    write_state(s, s[i], where, to);
    to.add("\n");
}

}  // namespace

void write_tree(const snapshot& s, bounded_text& to) noexcept {
    const std::size_t bytes = (std::size_t{s.size()} + 1) * sizeof(links);
    auto* const all = static_cast<links*>(os::map_pages(bytes));
    {
        places where(s);
        if (all == nullptr || !where) {
            if (all != nullptr) os::unmap_pages(all, bytes);
            to.add("coflux: there is no memory for a tree\n");
            return;
        }
        for (std::uint32_t i = 0; i < s.size(); ++i) all[i] = {no_coroutine, no_coroutine};
        std::uint32_t first_root = no_coroutine;
        for (std::uint32_t i = s.size(); i-- != 0;) {
            if (!s[i].valid) continue;
            const std::uint32_t above = s[i].above;
            std::uint32_t& first = above == no_coroutine || !s[above].valid ? first_root : all[above].first_below;
            all[i].next = first;
            first = i;
        }
        to.add("coflux: ").add(s.valid()).add(s.valid() == 1 ? " coroutine\n" : " coroutines\n");
        std::uint64_t shown = 0;
        std::size_t depth = 0;
        for (std::uint32_t i = first_root; i != no_coroutine;) {
            if (!to.try_to_add(room_for_rest, [&] { write_line(s, i, depth, where, to); })) break;
            ++shown;
            if (all[i].first_below != no_coroutine) {
                i = all[i].first_below;
                ++depth;
                continue;
            }
            while (i != no_coroutine && all[i].next == no_coroutine) {
                i = depth == 0 ? no_coroutine : s[i].above;
                if (depth != 0) --depth;
            }
            if (i != no_coroutine) i = all[i].next;
        }
        if (shown != s.valid()) to.add("and ").add(s.valid() - shown).add(" more\n");
    }
    os::unmap_pages(all, bytes);
}

}  // namespace coflux::detail::inspection
