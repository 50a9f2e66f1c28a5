// context(): the running coroutine, as environment of its children.
#pragma once

namespace coflux {

/// Operand of `co_await coflux::context()`: the running coroutine as environment of its children; never suspends.
struct context_request {};
[[nodiscard("co_await it: it is the request, not the environment")]] constexpr context_request context() noexcept {
    return {};
}

}  // namespace coflux
