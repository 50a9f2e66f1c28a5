#include <coflux/stream/detail/slot_owners.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace coflux::stream::detail {

std::optional<slot_owners> balanced(const slot_owners& now, const slot_loads& loads, std::size_t workers) {
    constexpr std::uint64_t least_records = 1'000;  // of less a quarter may be chance
    if (workers < 2 || loads.size() != now.size()) return std::nullopt;
    std::vector<std::uint64_t> of(workers);
    std::uint64_t all = 0;
    for (std::size_t s = 0; s != now.size(); ++s) {
        of[now[s]] += loads[s];
        all += loads[s];
    }
    const std::uint64_t mean = all / workers;
    slot_owners better = now;
    bool moved = false;
    for (std::size_t moves = 0; all >= least_records && moves != now.size(); ++moves) {
        const auto most = static_cast<std::size_t>(std::ranges::max_element(of) - of.begin());
        const auto least = static_cast<std::size_t>(std::ranges::min_element(of) - of.begin());
        if (of[most] <= mean + mean / 4) break;
        // The largest slot that makes the worse of the two better.
        std::size_t best = now.size();
        for (std::size_t s = 0; s != now.size(); ++s) {
            if (better[s] != most || loads[s] == 0 || of[least] + loads[s] >= of[most]) continue;
            if (best == now.size() || loads[s] > loads[best]) best = s;
        }
        if (best == now.size()) break;
        better[best] = static_cast<std::uint32_t>(least);
        of[most] -= loads[best];
        of[least] += loads[best];
        moved = true;
    }
    if (!moved) return std::nullopt;
    return better;
}

}  // namespace coflux::stream::detail
