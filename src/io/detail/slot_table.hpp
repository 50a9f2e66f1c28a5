// slot_table: an event source keeps a slot with a number for each descriptor that waits there.
//
// The page docs/design/io.md says how sources use it (A descriptor's home).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>

// Models have fewer, because each slot costs them.
#if !defined(COFLUX_SLOTS_IN_CHUNK)
#    define COFLUX_SLOTS_IN_CHUNK 256
#    define COFLUX_MOST_CHUNKS 4096
#endif

namespace coflux::detail {

/// Slots by number. One stays where it is until the table dies, so that a name of a descriptor that has gone still
/// finds one; what is in it says whether that is the descriptor's.
///
/// Shapes: `Slot` is default-constructible. take() gives a slot as give_back() got it.
/// Threads: take() and give_back() from any; a slot by its number from any that has got the number since take().
template <typename Slot>
class slot_table {
    static constexpr std::size_t slots_in_chunk = COFLUX_SLOTS_IN_CHUNK;
    static constexpr std::size_t most_chunks = COFLUX_MOST_CHUNKS;
    using chunk = std::array<Slot, slots_in_chunk>;

public:
    static constexpr std::size_t most_slots = slots_in_chunk * most_chunks;

    slot_table() noexcept = default;
    slot_table(const slot_table&) = delete;
    slot_table& operator=(const slot_table&) = delete;
    ~slot_table() {
        for (atomic<chunk*>& c : chunks_) delete c.load(memory_order_relaxed);  // no other thread is left
    }

    /// A number that nobody has: the one that was given back last, or a new one.
    /// Errors: std::bad_alloc; then nothing has happened.
    [[nodiscard]] std::uint32_t take() {
        const lock_guard<mutex> held(lock_);
        if (!free_.empty()) {
            const std::uint32_t number = free_.back();
            free_.pop_back();
            return number;
        }
        const std::size_t in_chunk = count_ / slots_in_chunk;
        COFLUX_VERIFY(in_chunk < most_chunks, "%zu descriptors wait on one thread", most_slots);
        // So that give_back() finds room.
        if (free_.capacity() <= count_) free_.reserve(std::max<std::size_t>(16, 2 * std::size_t{count_}));
        if (chunks_[in_chunk].load(memory_order_relaxed) == nullptr)
            chunks_[in_chunk].store(new chunk, memory_order_release);  // pairs with operator[]
        return count_++;
    }
    void give_back(std::uint32_t number) noexcept {
        const lock_guard<mutex> held(lock_);
        free_.push_back(number);
    }

    [[nodiscard]] COFLUX_INLINE Slot& operator[](std::uint32_t number) noexcept {
        return (*chunks_[number / slots_in_chunk].load(memory_order_acquire))[number % slots_in_chunk];  // with take()
    }
    /// Calls `f(slot)` for each that has been taken, and may have been given back.
    template <typename F>
    void for_each(F f) noexcept {
        std::uint32_t count = 0;
        {
            const lock_guard<mutex> held(lock_);
            count = count_;
        }
        for (std::uint32_t i = 0; i != count; ++i) f((*this)[i]);
    }

private:
    mutex lock_;  // guards free_ and count_
    std::vector<std::uint32_t> free_;
    std::uint32_t count_ = 0;                           // of numbers that have been taken once
    std::array<atomic<chunk*>, most_chunks> chunks_{};  // each set once, under lock_
};

}  // namespace coflux::detail
