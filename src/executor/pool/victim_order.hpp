// The order in which a thief looks at the other workers of its pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coflux::detail {

/// One thread, once it is made.
class victim_order {
public:
    /// The ring of all workers, from any of them on: they are equally far.
    victim_order() noexcept = default;
    /// The workers of each rank after those of the lower ones: `ranks[i]` is that of worker i, and of `self` no matter.
    victim_order(std::size_t self, const std::vector<unsigned>& ranks) {
        order_.reserve(ranks.size());
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            if (i != self) order_.push_back(static_cast<std::uint32_t>(i));
        }
        std::sort(order_.begin(), order_.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : a < b; });
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (i + 1 == order_.size() || ranks[order_[i]] != ranks[order_[i + 1]]) ends_.push_back(i + 1);
        }
    }

    /// Calls `look(i)` for the workers until it gives something, and gives that. Those of one rank come in turn, from
    /// one that `random` says. Pre: `self` and `workers` are those of the ranks, if the object was made with some.
    template <typename Look>
    auto first(std::size_t self, std::size_t workers, std::uint32_t random, Look look) const noexcept
        -> decltype(look(self)) {
        if (ends_.empty()) {
            for (std::size_t i = 0, at = random % workers; i < workers; ++i, at = at + 1 == workers ? 0 : at + 1) {
                if (at == self) continue;
                if (auto found = look(at)) return found;
            }
            return {};
        }
        std::size_t begin = 0;
        for (const std::size_t end : ends_) {
            const std::size_t size = end - begin;
            for (std::size_t i = 0, at = random % size; i < size; ++i, at = at + 1 == size ? 0 : at + 1) {
                if (auto found = look(static_cast<std::size_t>(order_[begin + at]))) return found;
            }
            begin = end;
        }
        return {};
    }

private:
    std::vector<std::uint32_t> order_;
    std::vector<std::size_t> ends_;  // in order_, of each rank that has a worker
};

}  // namespace coflux::detail
