// Coroutines that a ready ring has no room for: keeps the order of the pushes.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/ready_ring.hpp>

namespace coflux::detail {

/// Its coroutines are older than those in the ring: it takes over what is there when the ring has no room. Whoever
/// takes, takes here first. One thread.
class spilled_ready {
public:
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return left_ == 0; }

    /// All of `ring`, which is then empty, and `h` behind that.
    COFLUX_COLD void take_over(ready_ring& ring, std::coroutine_handle<> h) noexcept {
        if (next_ > items_.size() / 2) {  // each item is moved once, on average
            items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(next_));
            next_ = 0;
        }
        try {
            items_.reserve(room_for(items_.size() + ready_ring::capacity + 1));
        } catch (const std::bad_alloc&) {
            COFLUX_VERIFY(false, "out of memory for %zu queued coroutines", items_.size() + ready_ring::capacity + 1);
        }
        while (void* const older = ring.take()) items_.push_back(std::coroutine_handle<>::from_address(older));
        items_.push_back(h);
        left_ = items_.size() - next_;
    }
    /// The oldest. Pre: not empty.
    [[nodiscard]] COFLUX_NOINLINE std::coroutine_handle<> take() noexcept {
        const std::coroutine_handle<> h = items_[next_++];
        if (--left_ == 0) {
            if (items_.capacity() > most_kept) items_ = {};
            items_.clear();
            next_ = 0;
        }
        return h;
    }

private:
    static constexpr std::size_t most_kept = 4096;  // of a burst

    [[nodiscard]] std::size_t room_for(std::size_t count) const noexcept {
        return count <= items_.capacity() ? count : count * 2;
    }

    std::vector<std::coroutine_handle<>> items_;  // oldest first, from next_ on
    std::size_t next_ = 0;
    std::size_t left_ = 0;  // from there on
};

}  // namespace coflux::detail
