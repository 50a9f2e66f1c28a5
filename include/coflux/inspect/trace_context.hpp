// The trace that work belongs to, across processes: the values of the headers `traceparent` and `tracestate` of W3C's
// Trace Context (https://www.w3.org/TR/trace-context-2/).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coflux {

/// The place of some work in a distributed trace. An environment that is given one has it for all that is made in it:
/// `auto env = coflux::make_environment(here, *incoming);` Any coroutine there asks `here.trace()`.
///
/// Costs: no byte of a frame, and no instruction of a coroutine that does not ask.
/// Example: examples/70_trace_context.cpp
struct trace_context {
    std::array<std::uint8_t, 16> trace_id{};  ///< of the whole trace; not all zero
    std::array<std::uint8_t, 8> span_id{};    ///< of this part of it, the parent of what is called; not all zero
    std::uint8_t flags = 0;                   ///< sampled, random_id
    std::string state;                        ///< the header `tracestate` as it came; may be empty

    static constexpr std::uint8_t sampled = 1;    ///< the caller may record this trace
    static constexpr std::uint8_t random_id = 2;  ///< the last seven bytes of `trace_id` are random

    /// A new trace.
    ///
    /// Errors: std::system_error, if the system has no random numbers.
    /// Threads: any.
    /// Costs: a system call.
    [[nodiscard]] static trace_context make(std::uint8_t flags = sampled);
    /// The trace that the caller of a request names, or nothing where `traceparent` is none: then begin a new one, as
    /// the recommendation asks. A `tracestate` of over 512 bytes, or with bytes that a header may not have, is left
    /// out. It keeps the flags that are named above, or of a later version than 00 `sampled` alone.
    [[nodiscard]] static std::optional<trace_context> parse(std::string_view traceparent,
                                                            std::string_view tracestate = {});
    /// The trace of the coroutine that runs on this thread, for code that is given no environment, as that of a log;
    /// nullptr where none runs. A coroutine is known once it has asked for its context; until then this is the trace of
    /// the one that made or awaits it. A part of its environment: copy what is kept.
    [[nodiscard]] static const trace_context* current() noexcept;
    /// The same trace with a new `span_id`, for a part of the work.
    ///
    /// Errors, costs: as make().
    [[nodiscard]] trace_context child() const;

    /// The value of the header: `00-<trace_id>-<span_id>-<flags>`, 55 characters.
    [[nodiscard]] std::string traceparent() const;
    /// As logs and viewers of traces show it: 32 and 16 lower-case hexadecimal digits.
    [[nodiscard]] std::string trace_id_text() const;
    [[nodiscard]] std::string span_id_text() const;

    friend bool operator==(const trace_context&, const trace_context&) = default;
};

namespace detail {

/// Names the fork or task that runs on this thread, also while a call of it runs; nullptr: none.
const void* running_part() noexcept;

}  // namespace detail
}  // namespace coflux
