#include "core/detail/scope/left_behind.hpp"

#include <cstdio>
#include <source_location>
#include <string_view>

#include <coflux/core/detail/wait/turn.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {
namespace {

/// A fork that the library makes around what is no fork: its name would say nothing to a reader.
bool is_wrapper(const environment& e) noexcept {
    if (environment_tree::is_object(e)) return false;
    const frame_control& c = environment_tree::coroutine(const_cast<environment&>(e)).control();
    return std::string_view(c.location().file_name()).ends_with("coflux/core/detail/handle/wrapper.hpp");
}

/// The coroutine that users wrote around it.
const environment* maker_of(const environment& e) noexcept {
    const environment* up = environment_tree::parent(e);
    while (up != nullptr && (environment_tree::is_object(*up) || is_wrapper(*up))) up = environment_tree::parent(*up);
    return up;
}

}  // namespace

location_text::location_text(const environment& e) noexcept {
    if (environment_tree::is_object(e)) {
        std::snprintf(text_.data(), text_.size(), "an environment of make_environment");
    } else {
        write(environment_tree::coroutine(const_cast<environment&>(e)).control());
    }
}

location_text::location_text(const char* text) noexcept {
    std::snprintf(text_.data(), text_.size(), "%s", text);
}

location_text::location_text(std::coroutine_handle<> h) noexcept {
    write(frame_control::of(turn_frame::coroutine_of(h)));
}

void location_text::write(const frame_control& c) noexcept {
    const std::source_location at = c.location();
    if (at.line() == 0) {
        const bool failed = c.word.has(frame_flags::has_error);
        std::snprintf(text_.data(), text_.size(), "a coroutine %s", failed ? "that failed" : "before its first await");
    } else {
        std::snprintf(text_.data(), text_.size(), "%s at %s:%u", readable_name(at.function_name()).c_str(),
                      at.file_name(), static_cast<unsigned>(at.line()));
    }
}

void left_behind::add(const environment& e, const char* does) noexcept {
    const environment* const outside = is_wrapper(e) ? maker_of(e) : nullptr;
    const environment& named = outside != nullptr ? *outside : e;
    const location_text text(named);
    if (++count_ == 1) std::snprintf(first_.data(), first_.size(), "%s %s", text.c_str(), does);
    if (count_ > most_named) return;
    std::fprintf(stderr, "coflux: left behind: %s %s\n", text.c_str(), does);
    std::size_t printed = 0;
    for (const environment* up = maker_of(named); up != nullptr && printed < most_above; up = maker_of(*up), ++printed)
        std::fprintf(stderr, "  in %s\n", location_text(*up).c_str());
}

}  // namespace coflux::detail
