// The events of all threads as what a viewer shows: slices, moments, and arrows between them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <coflux/inspect/trace.hpp>

#include "inspect/place_text.hpp"
#include "inspect/trace/trace_rings.hpp"

namespace coflux::detail::tracing {

/// Something that a thread did from `begin` to `end`, or at the moment `begin`.
struct item {
    enum class shape : std::uint8_t { slice, moment, span };

    item::shape kind;
    std::uint32_t thread;  ///< in timeline::threads
    std::uint64_t begin;   ///< nanoseconds of the steady clock
    std::uint64_t end;
    std::string name;
    std::string at;               ///< where the coroutine goes on; may be empty
    std::string from;             ///< where the worker has taken it; may be empty
    std::uint64_t arrow_out = 0;  ///< of the arrow that begins here, or 0
    std::uint64_t arrow_in = 0;   ///< of the one that ends here
};

class timeline {
public:
    /// Leaves out what ended earlier than `last` ago. Errors: std::bad_alloc.
    explicit timeline(std::chrono::nanoseconds last);

    struct thread {
        std::string name;
        std::uint64_t number;
        std::uint64_t dropped;
    };
    [[nodiscard]] const std::vector<thread>& threads() const noexcept { return threads_; }
    /// By the time of their begin.
    [[nodiscard]] const std::vector<item>& items() const noexcept { return items_; }
    [[nodiscard]] std::uint64_t now() const noexcept { return clock_.now(); }

private:
    struct sorted_event;

    void add_thread(const thread_events& of, std::uint32_t index, std::vector<sorted_event>& ends);
    void add_arrows(std::vector<sorted_event>& of);
    [[nodiscard]] const place_text& place(std::uint64_t address);
    [[nodiscard]] std::string name_of(const trace_event& e, const char* verb);

    cycle_clock clock_;
    std::vector<thread> threads_;
    std::vector<item> items_;
    std::unordered_map<std::uint64_t, place_text> places_;
};

void write_perfetto(const timeline& of, void* to, void (*write)(void* to, std::string_view text));
void write_chrome(const timeline& of, void* to, void (*write)(void* to, std::string_view text));
/// On stderr, for a check that fails.
void print_last_events() noexcept;

/// Pieces that go to a sink when they have grown to some KiB.
class piecewise {
public:
    piecewise(void* to, void (*write)(void* to, std::string_view text)) noexcept : to_(to), write_(write) {}
    std::string text;

    void flush_if_large() {
        if (text.size() >= 16 * 1024) flush();
    }
    void flush() {
        if (!text.empty()) write_(to_, text);
        text.clear();
    }

private:
    void* to_;
    void (*write_)(void* to, std::string_view text);
};

}  // namespace coflux::detail::tracing
