// A coroutine that no runtime knows: what an executor is given by its own users.
#pragma once

#include <coroutine>
#include <exception>
#include <thread>
#include <utility>

#include <coflux/base/config.hpp>

namespace coflux_test {

/// Suspended at first; frees itself when it ends.
struct loose_coroutine {
    struct promise_type {
        loose_coroutine get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<> handle;
};

/// A coroutine that calls `f` once.
template <typename F>
std::coroutine_handle<> loose(F f) {
    return [](F call) -> loose_coroutine {
        call();
        co_return;
    }(std::move(f))
                             .handle;
}

/// The thread that runs this line. The compilers take pthread_self() for a constant, also across a suspension.
COFLUX_NOINLINE inline std::thread::id thread_here() noexcept {
    asm volatile("" ::: "memory");
    return std::this_thread::get_id();
}

}  // namespace coflux_test
