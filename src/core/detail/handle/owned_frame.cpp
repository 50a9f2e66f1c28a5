#include <coflux/core/detail/handle/owned_frame.hpp>

#include "core/detail/handle/fail_at.hpp"
#include "core/detail/scope/environment_tree.hpp"

namespace coflux::detail {
namespace {

/// Where the coroutine of this thread awaits something, or did last; nothing if there is none.
std::source_location location_of_current() noexcept {
    const environment* const e = this_thread.current;
    return e == nullptr || environment_tree::is_object(*e)
               ? std::source_location()
               : environment_tree::coroutine(*const_cast<environment*>(e)).control().location();
}

constexpr const char* used_up =
    "a handle was used after it was awaited, moved from or attached, or before it had a coroutine";

}  // namespace

void fail_empty() noexcept {
    const std::source_location last = location_of_current();
    if (last.line() != 0) fail_at(last, "valid(), after the coroutine's await at this location", used_up);
    fail(__FILE__, __LINE__, "valid()", "%s", used_up);
}

void fail_empty(promise_base& p, std::source_location where) noexcept {
    p.set_await_location(where);  // the back-trace is to begin here, and not at the last await that was right
    fail_at(where, "valid(), of what is awaited", used_up);
}

}  // namespace coflux::detail
