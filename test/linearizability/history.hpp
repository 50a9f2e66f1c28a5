// The operations of coroutines on one object, and their times: a linearizability check looks at them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coflux_test::linearizability {

/// A moment of a history: the number of moments before it.
using moment = std::uint32_t;
inline constexpr moment never = ~moment{0};

/// The clock of a history: one counter. If an operation returned before another was called by this clock, its return
/// happens before that call in the sense of C++, because both are read-modify-writes of one word; so what the check
/// says to be in order was in order.
class timepiece {
public:
    moment tick() noexcept { return next_.fetch_add(1, std::memory_order_acq_rel); }  // pairs with the other ticks
    /// Between histories.
    void rewind() noexcept { next_.store(0, std::memory_order_relaxed); }  // the fork of the actors publishes it

private:
    alignas(64) std::atomic<moment> next_{0};  // any value: how many moments there were
};

/// One operation. Its specification says what kind, argument, value and result mean.
struct operation {
    moment called = never;
    moment returned = never;  ///< never: it is not known how it ended, nor whether it had an effect
    moment queued =
        never;            ///< by then it stood in its queue, or had been served, or refused by a stop; never: not known
    moment stop = never;  ///< just before a stop was requested of its coroutine
    const void* thread = nullptr;  ///< on which it was called
    std::uint8_t actor = 0;
    std::uint8_t kind = 0;
    std::uint8_t argument = 0;
    std::uint8_t value = 0;
    std::uint8_t result = 0;
    bool stopped = false;  ///< a stop ended its wait: it has no result
};

/// The most operations that a history may have: the check keeps sets of them in one word.
inline constexpr std::size_t most_operations = 64;

using history = std::vector<operation>;

/// The operations that were called before `end`; what returned later has not returned.
inline history cut(const history& h, moment end) {
    history before;
    for (operation o : h) {
        if (o.called >= end) continue;
        if (o.returned >= end) {
            o.returned = never;
            o.stopped = false;
            if (o.stop >= end) o.stop = never;
            if (o.queued >= end) o.queued = never;
        }
        before.push_back(o);
    }
    return before;
}

/// Something of which each thread has its own.
inline const void* this_thread_mark() noexcept {
    static thread_local const char mark = 0;
    return &mark;
}

/// Whether operations that were called on two threads overlap.
inline bool is_parallel(const history& h) noexcept {
    return std::any_of(h.begin(), h.end(), [&](const operation& a) {
        return std::any_of(h.begin(), h.end(), [&](const operation& b) {
            return a.thread != b.thread && a.called < b.called && b.called < a.returned;
        });
    });
}

/// The operations of one actor; its own until it has ended.
class chronicle {
public:
    static constexpr std::size_t room = 12;

    void clear() noexcept { size_ = 0; }
    /// Pre: there is room.
    operation& add(const operation& o) noexcept { return operations_[size_++] = o; }
    [[nodiscard]] const operation* begin() const noexcept { return operations_.data(); }
    [[nodiscard]] const operation* end() const noexcept { return operations_.data() + size_; }

private:
    std::array<operation, room> operations_;
    std::size_t size_ = 0;
};
static_assert(5 * chronicle::room <= most_operations);

}  // namespace coflux_test::linearizability
