// A record of what the workers of pools did, as a time line for Perfetto and other viewers of traces.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <coflux/base/config.hpp>

namespace coflux::inspect {

enum class trace_format : std::uint8_t {
    perfetto,  ///< the protobuf messages of ui.perfetto.dev
    chrome,    ///< JSON, which that shows, too, and speedscope
};

struct trace_options {
    trace_format format = trace_format::perfetto;
    /// Leaves out what ended earlier than this ago.
    std::chrono::nanoseconds last = std::chrono::nanoseconds::max();
};

}  // namespace coflux::inspect

namespace coflux::detail {

class trace_ring;

/// The ring of this thread; nullptr: it is not traced.
COFLUX_SHARED inline constinit thread_local trace_ring* ring_of_this_thread = nullptr;

void trace_span(trace_ring& to, const char* name, std::uint64_t begun) noexcept;
[[nodiscard]] std::uint64_t trace_now() noexcept;
void write_trace(void* to, void (*write)(void* to, std::string_view text), const inspect::trace_options& options);

}  // namespace coflux::detail

namespace coflux::inspect {

/// A part of a program that a trace shows by its name: from its constructor to its destructor, with all awaits between
/// them.
///
/// Threads: begins and ends on any; it is kept if both are workers of pools that are traced.
/// Costs: no allocation; 15 ns each end where the thread is traced, and else a load and a test.
/// Lifetime: `name` lives as long as the process, as a string literal does.
/// Example: examples/68_trace.cpp
class [[nodiscard("the span ends at once: give it a name that lives as long as what it shows")]] span {
public:
    explicit span(const char* name) noexcept : name_(name) {
        if (detail::ring_of_this_thread != nullptr) begun_ = detail::trace_now();
    }
    ~span() {
        if (begun_ == 0) return;
        if (detail::trace_ring* const to = detail::ring_of_this_thread; to != nullptr)
            detail::trace_span(*to, name_, begun_);
    }
    span(const span&) = delete;
    span& operator=(const span&) = delete;

private:
    const char* name_;
    std::uint64_t begun_ = 0;
};

/// Writes the events that the workers of pools with a thread_pool_options::trace have kept: of each worker the last
/// ones, also of a pool that has ended, until a worker of another pool has taken its place.
///
/// Shapes: `sink(std::string_view)` is called several times, with some KiB at most.
/// Errors: std::bad_alloc, and what `sink` throws.
/// Threads: any, while the workers go on. No lock is held.
/// Costs: a copy of all events, and some 0.3 us an event.
/// Example: examples/68_trace.cpp
template <std::invocable<std::string_view> Sink>
void write_trace(Sink&& sink, const trace_options& options = {}) {
    auto call = [&sink](std::string_view text) { (void)sink(text); };
    detail::write_trace(
        &call, [](void* to, std::string_view text) { (*static_cast<decltype(call)*>(to))(text); }, options);
}

/// The same, as a whole.
/// Errors: std::bad_alloc.
[[nodiscard]] std::string trace(const trace_options& options = {});

}  // namespace coflux::inspect
