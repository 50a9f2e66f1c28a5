// A run once more, from what was decided in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/testing/chooser.hpp>

namespace coflux::testing {

/// The decisions of a run that differ from FIFO, as text: `3n2/4,7s1/2` is candidate 2 of 4 in decision 3, a
/// choice::next, and 1 of 2 in decision 7, a choice::steal; decisions are counted from 0, `t` is choice::time, `a`
/// choice::amount, `f` choice::fault. `fifo` if there is none.
[[nodiscard]] std::string to_text(std::span<const decision> schedule);

/// Decides as it was decided. Where a run has other candidates than the recorded one, it diverges: from there on the
/// decision still counts if there is such a candidate, else FIFO does.
///
/// Shapes: made from simulation::schedule(), or from the text of to_text().
class replay_chooser final : public chooser {
public:
    static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

    explicit replay_chooser(std::span<const decision> schedule);
    /// Nothing if `text` is none of to_text().
    [[nodiscard]] static std::optional<replay_chooser> parse(std::string_view text);

    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override;

    /// The first decision at which the run was another than the recorded one; `nowhere` if they agree so far.
    [[nodiscard]] std::size_t diverged_at() const noexcept { return diverged_at_; }
    /// The first recorded decision that the run has not come to; `nowhere` if it has come to all.
    [[nodiscard]] std::size_t not_reached() const noexcept {
        return next_ == decisions_.size() ? nowhere : decisions_[next_].at;
    }

private:
    struct recorded {
        std::size_t at;
        decision made;
    };

    replay_chooser() = default;

    std::vector<recorded> decisions_;  // what is not in here is FIFO
    std::size_t next_ = 0;             // in decisions_
    std::size_t made_ = 0;             // decisions of this run so far
    std::size_t diverged_at_ = nowhere;
};

}  // namespace coflux::testing
