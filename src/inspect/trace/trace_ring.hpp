// The events of one thread: a ring that its thread writes, and that any thread may copy meanwhile. The page
// docs/design/trace.md has the protocol, and test/model/trace_ring_model.cpp holds it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

#include "os/trace_probe.hpp"

namespace coflux::detail {

enum class trace_kind : std::uint8_t {
    begins,       ///< a thread has taken the ring
    runs,         ///< a coroutine, until the next event of these; argument: where it was, see trace_origin
    out_of_work,  ///< nothing is left in the worker's own queues
    parks,
    wakes_up,
    ends,         ///< the thread gives the ring back
    forks,        ///< what runs has made the coroutine
    wakes,        ///< what runs has made the coroutine ready
    takes_child,  ///< what runs awaits the coroutine, which begins in its place
    span,         ///< a user's; first: when it began, second: its name
};

/// Where a worker has taken a coroutine; from `victims` on: the worker from which it was stolen.
enum trace_origin : std::uint64_t { own_queue, from_outside, victims };

/// As it is in a ring. `first` and `second` are the coroutine and the address of its place, unless trace_kind says
/// else.
struct trace_event {
    std::uint64_t cycles;
    std::uint64_t what;  ///< the kind in the low 8 bits, then the argument
    std::uint64_t first;
    std::uint64_t second;

    [[nodiscard]] trace_kind kind() const noexcept { return static_cast<trace_kind>(what & 0xff); }
    [[nodiscard]] std::uint64_t argument() const noexcept { return what >> 8; }
};

class trace_ring {
public:
    using cell = std::array<atomic<std::uint64_t>, 4>;  // a trace_event
    static constexpr std::size_t name_words = 4;

    /// `size`: of `cells`, a power of two; they live as long as the ring.
    trace_ring(cell* cells, std::size_t size) noexcept : cells_(cells), mask_(size - 1) {}

    [[nodiscard]] std::size_t size() const noexcept { return mask_ + 1; }

    /// The calling thread writes from now on: what was written before is of no interest any more.
    void begin(std::string_view name, std::uint64_t thread, std::uint64_t cycles) noexcept {
        // [trace.begin.hide]
        first_.store(nowhere, memory_order_relaxed);  // the release stores below make it known before the name
        char text[name_words * sizeof(std::uint64_t)] = {};
        std::memcpy(text, name.data(), std::min(name.size(), sizeof text - 1));
        for (std::size_t i = 0; i < name_words; ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, text + i * sizeof word, sizeof word);
            // [trace.begin.name]
            name_[i].store(word, memory_order_release);  // pairs with the loads in copy()
        }
        thread_.store(thread, memory_order_release);  // as the name
        const std::uint64_t head = head_.load(memory_order_relaxed);
        add(cycles, trace_kind::begins);  // so that no two owners begin at the same place
        // [trace.begin.show]
        first_.store(head, memory_order_release);  // pairs with the first load in copy()
    }

    /// Its thread: adds an event, in place of the oldest if it is full.
    COFLUX_INLINE void add(std::uint64_t cycles, trace_kind kind, std::uint64_t argument = 0, std::uint64_t first = 0,
                           std::uint64_t second = 0) noexcept {
        const std::uint64_t head = head_.load(memory_order_relaxed);
        cell& to = cells_[head & mask_];
        // release, all four: a reader that sees a word of this event sees the head that the event before it has left.
        // [trace.add.first_word]
        to[0].store(cycles, memory_order_release);
        to[1].store(argument << 8 | static_cast<std::uint64_t>(kind), memory_order_release);
        to[2].store(first, memory_order_release);
        // [trace.add.last_word]
        to[3].store(second, memory_order_release);
        // [trace.add.head]
        head_.store(head + 1, memory_order_release);  // pairs with the first load in copy(): the event is in sight
        COFLUX_EVENT_PROBE(static_cast<std::uint64_t>(kind), argument, first, second);
    }

    struct owner {
        char name[name_words * sizeof(std::uint64_t)];
        std::uint64_t thread;
        std::uint64_t dropped;  ///< events that are no more
    };
    /// Any thread: copies the events of the present owner, or of the last one, oldest first; `to` has room for size().
    /// Returns how many; none where the owner changes meanwhile.
    std::size_t copy(trace_event* to, owner& of) const noexcept {
        of = {};
        const std::uint64_t first = first_.load(memory_order_acquire);  // pairs with begin()
        if (first == nowhere) return 0;
        for (std::size_t i = 0; i < name_words; ++i) {
            const std::uint64_t word = name_[i].load(memory_order_acquire);  // pairs with begin()
            std::memcpy(of.name + i * sizeof word, &word, sizeof word);
        }
        of.thread = thread_.load(memory_order_acquire);
        // [trace.copy.head]
        const std::uint64_t end = head_.load(memory_order_acquire);  // pairs with add(): those events are in sight
        std::uint64_t begin = std::max(first, end - std::min<std::uint64_t>(end, size()));
        for (std::uint64_t i = begin; i < end; ++i) {
            const cell& from = cells_[i & mask_];
            // acquire: pair with the stores in add(); they stay before the second look, too
            // [trace.copy.words]
            const auto word = [&from](std::size_t w) { return from[w].load(memory_order_acquire); };
            to[i - begin] = {word(0), word(1), word(2), word(3)};
        }
        // relaxed: the loads above are before it
        // [trace.copy.second_look]
        const std::uint64_t now = head_.load(memory_order_relaxed);
        // [trace.copy.owner]
        if (first_.load(memory_order_relaxed) != first) return 0;
        // The event `now` is perhaps being written: it takes the place of the one that is size() before it.
        // [trace.copy.overwritten]
        const std::uint64_t kept = now >= size() ? std::min(std::max(begin, now - size() + 1), end) : begin;
        std::copy(to + (kept - begin), to + (end - begin), to);
        of.dropped = kept - first;
        return static_cast<std::size_t>(end - kept);
    }

private:
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

    // Written by the thread that has the ring; read by any.
    //   head_    how many events were written; only grows, also from one owner to the next
    //   first_   head_ when the present owner began; nowhere: none has it yet, or one is about to
    //   name_, thread_  of the owner; torn only while first_ is nowhere
    //   cells_   event i is at i & mask_, until event i + size() takes its place
    cell* const cells_;
    const std::size_t mask_;
    atomic<std::uint64_t> head_{0};
    atomic<std::uint64_t> first_{nowhere};
    atomic<std::uint64_t> thread_{0};
    std::array<atomic<std::uint64_t>, name_words> name_{};
};

}  // namespace coflux::detail
