// Coroutines that do the same at the same place, below the same places, are one group.
#include <algorithm>

#include "inspect/places.hpp"
#include "inspect/report.hpp"

namespace coflux::detail::inspection {
namespace {

constexpr std::size_t most_groups = std::size_t{1} << 14;
constexpr int shown_above = 4;  // coroutines above one, by which groups differ

struct group {
    std::uint64_t key;
    std::uint32_t first;
    std::uint32_t count;  // 0: none
    bool same_thing;      // all of it wait for one thing, or run on one worker
};

void mix(std::uint64_t& key, std::uint64_t with) noexcept {
    key = (key ^ (key >> 29)) * 0x9e3779b97f4a7c15U + with;
}

std::uint64_t group_key(const snapshot& s, const found_coroutine& c) noexcept {
    std::uint64_t key = static_cast<std::uint64_t>(c.state) * 2 + (c.moving ? 1 : 0);
    mix(key, c.place);
    mix(key, c.kind);
    if (c.state == coroutine_state::awaits) mix(key, s[static_cast<std::uint32_t>(c.of)].place);
    if (c.holder != no_coroutine) mix(key, s[c.holder].place);
    std::uint32_t above = c.above;
    for (int i = 0; i < shown_above && above != no_coroutine; ++i) {
        mix(key, s[above].place);
        above = s[above].above;
    }
    mix(key, 0);
    return key;
}

void write_group(const snapshot& s, const group& g, places& where, bounded_text& to) noexcept {
    found_coroutine c = s[g.first];
    if (!g.same_thing && c.state == coroutine_state::waits) c.of = 0;
    if (!g.same_thing && c.state == coroutine_state::running) c.of = several_workers;
    to.add("\n").add(g.count).add(g.count == 1 ? " coroutine: " : " coroutines: ");
    write_state(s, c, where, to);
    to.add("\n    in ");
    where.write(c.place, to);
    std::uint32_t above = c.above;
    for (int i = 0; i < shown_above && above != no_coroutine; ++i) {
        to.add("\n    below ");
        where.write(s[above].place, to);
        above = s[above].above;
    }
    to.add(above != no_coroutine ? "\n    below others\n" : "\n");
}

}  // namespace

void write_groups(const snapshot& s, bounded_text& to) noexcept {
    constexpr std::size_t bytes = most_groups * sizeof(group);
    auto* const groups = static_cast<group*>(os::map_pages(bytes));
    {
        places where(s);
        if (groups == nullptr || !where) {
            if (groups != nullptr) os::unmap_pages(groups, bytes);
            to.add("coflux: there is no memory for groups\n");
            return;
        }
        std::size_t count = 0;
        std::uint32_t ungrouped = 0;
        s.for_each([&](std::uint32_t i, const found_coroutine& c) {
            const std::uint64_t key = group_key(s, c);
            std::size_t at = (key >> 32) % most_groups;
            while (groups[at].count != 0 && groups[at].key != key) at = (at + 1) % most_groups;
            group& g = groups[at];
            if (g.count == 0) {
                if (count == most_groups / 4 * 3) {
                    ++ungrouped;
                    return;
                }
                ++count;
                g = {key, i, 0, true};
            }
            ++g.count;
            g.same_thing = g.same_thing && c.of == s[g.first].of;
        });
        std::sort(groups, groups + most_groups, [](const group& a, const group& b) {
            return a.count != b.count ? a.count > b.count : a.first < b.first;
        });
        to.add("coflux: ").add(s.valid()).add(s.valid() == 1 ? " coroutine" : " coroutines");
        if (s.moving() != 0) to.add(", of which ").add(s.moving()).add(" changed meanwhile");
        to.add("\n");
        std::size_t shown = 0;
        while (shown < count && to.try_to_add(room_for_rest, [&] { write_group(s, groups[shown], where, to); }))
            ++shown;
        std::uint64_t rest = ungrouped;
        for (std::size_t i = shown; i < count; ++i) rest += groups[i].count;
        if (rest != 0) to.add("\nand ").add(rest).add(" more in ").add(count - shown).add(" groups or more\n");
    }
    os::unmap_pages(groups, bytes);
}

}  // namespace coflux::detail::inspection
