#include <coflux/core/detail/handle/wrapper.hpp>

#include "core/detail/scope/scope_children.hpp"

namespace coflux::detail {

void destroy_unbegun(frame_control& c) noexcept {
    const bool counted = c.word.is_counted_atomically();
    environment* e = promise_base::of(c).parent();
    if (c.word.has(frame_flags::listed)) scope_children::unlist(*e, c);
    c.frame().destroy();
    // Made in an environment object: counted there when it was made, and nowhere else before it begins.
    while (counted && e != nullptr) {
        environment* const above = scope_children::counted_with(*e);  // first: it may be gone afterwards
        const children_left left = scope_children::count(*e).release();
        // The caller keeps the scope open.
        COFLUX_VERIFY(left == children_left::some, "an environment was joined while a call was made in it");
        e = above;
    }
}

void fail_argument(const char* operation, const char* kind, std::size_t position, const char* why) noexcept {
    fail(__FILE__, __LINE__, "valid()", "%s: %s %zu %s", operation, kind, position + 1, why);
}

void fail_used_up(const char* operation, const char* kind, std::size_t position) noexcept {
    fail_argument(operation, kind, position,
                  "is a handle that was awaited, moved from or attached, or never had a coroutine");
}

}  // namespace coflux::detail
