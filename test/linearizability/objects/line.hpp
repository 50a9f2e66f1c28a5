// The waiters for a sequential object, first in first out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "linearizability/checker.hpp"

namespace coflux_test::linearizability {

/// No padding and no leftovers: equal queues are equal bytes.
class line {
public:
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] op_id front() const noexcept { return waiting_[0]; }
    /// Pre: fewer than seven wait: each actor waits for one operation at a time.
    void push_back(op_id who) noexcept { waiting_[size_++] = who; }
    /// In front of all other waiters, which nothing that is first come, first served does.
    void push_front(op_id who) noexcept {
        for (std::size_t i = size_++; i > 0; --i) waiting_[i] = waiting_[i - 1];
        waiting_[0] = who;
    }
    op_id pop_front() noexcept {
        const op_id who = waiting_[0];
        remove(who);
        return who;
    }
    [[nodiscard]] const op_id* begin() const noexcept { return waiting_.data(); }
    [[nodiscard]] const op_id* end() const noexcept { return waiting_.data() + size_; }
    bool remove(op_id who) noexcept {
        for (std::size_t i = 0; i < size_; ++i) {
            if (waiting_[i] != who) continue;
            for (--size_; i < size_; ++i) waiting_[i] = waiting_[i + 1];
            waiting_[size_] = 0;
            return true;
        }
        return false;
    }

private:
    std::array<op_id, 7> waiting_{};
    std::uint8_t size_ = 0;
};

}  // namespace coflux_test::linearizability
