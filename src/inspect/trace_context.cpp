#include <coflux/inspect/trace_context.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <system_error>

#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/environment.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "os/process/random.hpp"

namespace coflux {
namespace {

// traceparent: version, trace_id, span_id and flags, with a dash between.
constexpr std::size_t trace_at = 3, span_at = 36, flags_at = 53, length = 55;
constexpr std::size_t longest_state = 512;

std::optional<std::uint8_t> digit(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);  // upper case is refused there
    return std::nullopt;
}

bool read(std::string_view digits, std::span<std::uint8_t> into) noexcept {
    for (std::uint8_t& byte : into) {
        const auto high = digit(digits[0]), low = digit(digits[1]);
        if (!high || !low) return false;
        byte = static_cast<std::uint8_t>(*high << 4 | *low);
        digits.remove_prefix(2);
    }
    return true;
}

void write(std::span<const std::uint8_t> bytes, std::string& to) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const std::uint8_t byte : bytes) {
        to += digits[byte >> 4];
        to += digits[byte & 15];
    }
}

bool is_zero(std::span<const std::uint8_t> id) noexcept {
    return std::ranges::all_of(id, [](std::uint8_t byte) { return byte == 0; });
}

void make_random(std::span<std::uint8_t> id) {
    do {
        if (const int error = detail::os::fill_random(id.data(), id.size()); error < 0)
            throw std::system_error(-error, std::system_category(), "coflux: no random number for a trace_context");
    } while (is_zero(id));
}

bool may_be_state(std::string_view state) noexcept {
    return state.size() <= longest_state && std::ranges::all_of(state, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

trace_context trace_context::make(std::uint8_t flags) {
    trace_context made;
    make_random(made.trace_id);
    make_random(made.span_id);
    made.flags = flags | random_id;
    return made;
}

std::optional<trace_context> trace_context::parse(std::string_view traceparent, std::string_view tracestate) {
    if (traceparent.size() < length) return std::nullopt;
    for (const std::size_t dash : {trace_at, span_at, flags_at})
        if (traceparent[dash - 1] != '-') return std::nullopt;
    std::uint8_t version[1], flags[1];
    trace_context parsed;
    if (!read(traceparent, version) || !read(traceparent.substr(trace_at), parsed.trace_id) ||
        !read(traceparent.substr(span_at), parsed.span_id) || !read(traceparent.substr(flags_at), flags))
        return std::nullopt;
    if (version[0] == 0xff || is_zero(parsed.trace_id) || is_zero(parsed.span_id)) return std::nullopt;
    // A later version may have more behind a further dash.
    if (traceparent.size() > length && (version[0] == 0 || traceparent[length] != '-')) return std::nullopt;
    parsed.flags = flags[0] & (version[0] == 0 ? sampled | random_id : sampled);
    if (may_be_state(tracestate)) parsed.state = tracestate;
    return parsed;
}

const trace_context* trace_context::current() noexcept {
    const environment* const running = detail::this_thread.current;
    return running != nullptr ? running->trace() : nullptr;
}

trace_context trace_context::child() const {
    trace_context made = *this;
    make_random(made.span_id);
    return made;
}

std::string trace_context::traceparent() const {
    std::string text = "00-";
    text.reserve(length);
    write(trace_id, text);
    text += '-';
    write(span_id, text);
    text += '-';
    write({&flags, 1}, text);
    return text;
}

std::string trace_context::trace_id_text() const {
    std::string text;
    write(trace_id, text);
    return text;
}

std::string trace_context::span_id_text() const {
    std::string text;
    write(span_id, text);
    return text;
}

const void* detail::running_part() noexcept {
    const environment* running = this_thread.current;
    while (running != nullptr && environment_tree::is_call(*running)) running = environment_tree::parent(*running);
    return running;
}

}  // namespace coflux
