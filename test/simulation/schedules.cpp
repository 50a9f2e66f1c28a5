#include "schedules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace coflux_simulations {
namespace {

/// Takes the decisions of a list, and 0 behind its end or where the list asks for more than there is.
class listed_chooser final : public coflux::testing::chooser {
public:
    explicit listed_chooser(const schedule& list) noexcept : list_(list) {}
    std::size_t choose(coflux::testing::choice, std::span<const std::uint64_t> candidates) noexcept override {
        const std::size_t chosen = next_ < list_.size() ? list_[next_].chosen : 0;
        ++next_;
        return chosen < candidates.size() ? chosen : 0;
    }

private:
    const schedule& list_;
    std::size_t next_ = 0;
};

}  // namespace

std::size_t seeded_chooser::choose(coflux::testing::choice what, std::span<const std::uint64_t> candidates) noexcept {
    if (mostly_first_) {
        constexpr std::array<std::uint64_t, 8> dice{};
        if (random_.choose(what, dice) != 0) return 0;
    }
    return random_.choose(what, candidates);
}

std::string shrunk(const runs_with& run, schedule failing) {
    failure why;
    const auto still_fails = [&](const schedule& list) {
        listed_chooser replay(list);
        schedule made;
        why = run(replay, made);
        return !why.empty();
    };
    std::size_t tries = 2000;
    if (!still_fails(failing)) return "(not reproduced by its schedule)";
    for (std::size_t chunk = failing.size(); chunk != 0; chunk /= 2) {
        for (std::size_t from = 0; from < failing.size() && tries != 0; from += chunk) {
            const std::size_t to = std::min(from + chunk, failing.size());
            if (std::all_of(failing.begin() + static_cast<std::ptrdiff_t>(from),
                            failing.begin() + static_cast<std::ptrdiff_t>(to),
                            [](const auto& d) { return d.chosen == 0; }))
                continue;
            schedule shorter = failing;
            for (std::size_t i = from; i != to; ++i) shorter[i].chosen = 0;
            --tries;
            if (still_fails(shorter)) failing = std::move(shorter);
        }
    }
    std::string text;
    for (std::size_t i = 0; i != failing.size(); ++i) {
        if (failing[i].chosen == 0) continue;
        text += " " + std::to_string(i) + ":" + std::to_string(failing[i].chosen) + "/" + std::to_string(failing[i].of);
    }
    return "deviations from first come, first served (decision:choice/candidates):" + (text.empty() ? " none" : text);
}

}  // namespace coflux_simulations
