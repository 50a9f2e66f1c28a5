// How often a worker that has work looks at an event source.
#pragma once

#include <algorithm>
#include <cstdint>

namespace coflux::detail {

/// The policy of a worker, without a clock: the caller passes cycles_now(). One thread.
///
/// A look is a call of the system, and costs more the more it finds: beside a thousand connections one of each 25 us in
/// place of 200 took some 3 us more of the CPU. So beside work a look comes when `share` times its cost have passed, and
/// after `longest` at the latest.
class look_pace {
public:
    static constexpr std::uint64_t share = 64;
    static constexpr std::uint64_t longest = 450'000;  // 150 us at 3 GHz

    [[nodiscard]] bool wants_a_look(std::uint64_t cycles, bool has_work) const noexcept {
        return !has_work || cycles - looked_at_ >= apart_;
    }
    void looked(std::uint64_t began, std::uint64_t ended) noexcept {
        looked_at_ = ended;
        apart_ = std::min((ended - began) * share, longest);
    }

private:
    std::uint64_t looked_at_ = 0;
    std::uint64_t apart_ = 0;
};

}  // namespace coflux::detail
