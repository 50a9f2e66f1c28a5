// The handle that names no coroutine to go on with.
#pragma once

#include <coroutine>

#include <coflux/base/config.hpp>

namespace coflux::detail {

/// Begins like a coroutine frame of either compiler: the functions that resume() and destroy() call.
struct empty_frame {
    void (*resume)(void*) noexcept;
    void (*destroy)(void*) noexcept;
};
inline void resume_nothing(void*) noexcept {}
COFLUX_SHARED inline constinit empty_frame no_frame{resume_nothing, resume_nothing};

/// A function returns it in place of the coroutine to go on with, where there is none. To resume it does nothing.
/// One handle in the program, so that it can be compared: std::noop_coroutine() may give another one at each call, and
/// that of libc++ gives one for each translation unit.
/// Source: https://eel.is/c++draft/coroutine.noop.coroutine
[[nodiscard]] inline std::coroutine_handle<> no_coroutine() noexcept {
    return std::coroutine_handle<>::from_address(&no_frame);
}

}  // namespace coflux::detail
