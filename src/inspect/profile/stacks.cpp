#include "inspect/profile/stacks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "inspect/place_text.hpp"

namespace coflux::detail {

frame_names::name frame_names::of_place(std::uint64_t address) {
    if (const auto known = places_.find(address); known != places_.end()) return known->second;
    const name n = of_text(text_of_place(address));
    places_.emplace(address, n);
    return n;
}

frame_names::name frame_names::of_text(std::string text) {
    const auto [at, is_new] = names_.try_emplace(std::move(text), static_cast<name>(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
}

void stack_times::add(const chain& of, std::uint64_t time, std::uint64_t count, std::uint64_t thing) {
    const auto [at, is_new] = totals_.try_emplace(of);
    total& t = at->second;
    t.time += time;
    t.count += count;
    if (is_new) t.thing = thing;
    // [profile.thing]
    if (t.thing != thing) t.thing = 0;
}

std::vector<inspect::profile_stack> stack_times::all(const frame_names& names) const {
    std::vector<inspect::profile_stack> stacks;
    stacks.reserve(totals_.size());
    for (const auto& [frames, t] : totals_) {
        inspect::profile_stack s;
        for (auto f = frames.rbegin(); f != frames.rend(); ++f) s.frames.push_back(names[*f]);
        if (t.thing != 0) {
            char address[32];
            std::snprintf(address, sizeof address, " at 0x%llx", static_cast<unsigned long long>(t.thing));
            s.frames.back() += address;
        }
        s.time = std::chrono::nanoseconds(static_cast<std::int64_t>(t.time));
        s.count = t.count;
        stacks.push_back(std::move(s));
    }
    std::sort(stacks.begin(), stacks.end(),
              [](const auto& a, const auto& b) { return a.time != b.time ? a.time > b.time : a.frames < b.frames; });
    return stacks;
}

}  // namespace coflux::detail
