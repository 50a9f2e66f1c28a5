#include <coflux/testing/exhaustive_chooser.hpp>

#include <coflux/base/assert.hpp>

namespace coflux::testing {

bool exhaustive_chooser::next_run() noexcept {
    if (exhausted_) return false;
    if (runs_ != 0) {
        COFLUX_VERIFY(at_ == path_.size(), "a run ended after %zu decisions that had made %zu before", at_,
                      path_.size());
        for (; !path_.empty(); path_.pop_back()) {
            const branch& last = path_.back();
            const bool deviates = last.chosen != 0;
            if (last.chosen + 1 < last.of && (deviates || deviations_ < bound_)) break;
            deviations_ -= deviates ? 1 : 0;
        }
        exhausted_ = path_.empty();
        at_ = path_.size();  // should it end here
    }
    if (exhausted_ || runs_ == budget_) return false;
    if (runs_ != 0) deviations_ += path_.back().chosen++ == 0 ? 1 : 0;
    at_ = 0;
    ++runs_;
    return true;
}

std::size_t exhaustive_chooser::choose(choice what, std::span<const std::uint64_t> candidates) noexcept {
    const auto of = static_cast<std::uint32_t>(candidates.size());
    if (at_ == path_.size()) {
        path_.push_back({what, 0, of});
    } else {
        COFLUX_VERIFY(path_[at_].what == what && path_[at_].of == of,
                      "decision %zu has %u candidates and had %u: the program does not do the same in each run", at_,
                      of, path_[at_].of);
    }
    return path_[at_++].chosen;
}

}  // namespace coflux::testing
