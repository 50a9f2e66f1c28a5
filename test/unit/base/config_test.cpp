#include <coflux/base/config.hpp>

#include <gtest/gtest.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>

// There if and only if the program is linked with AddressSanitizer's runtime: the fact that COFLUX_ASAN states.
extern "C" __attribute__((weak)) int __asan_address_is_poisoned(const volatile void* address);

namespace {

TEST(config, knows_whether_the_build_has_address_sanitizer) {
    EXPECT_EQ(COFLUX_ASAN != 0, &__asan_address_is_poisoned != nullptr);
}

TEST(config, keeps_atomics_of_two_threads_on_different_lines) {
    struct shared {
        alignas(coflux::detail::cache_line) char mine;
        alignas(coflux::detail::cache_line) char yours;
    };
    EXPECT_GE(offsetof(shared, yours) - offsetof(shared, mine), 64U);
}

#if COFLUX_TAIL_CALLS

struct passing {
    struct promise_type {
        passing get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

/// Where the stack is lowest while two coroutines pass control to and fro.
struct exchange {
    std::coroutine_handle<> other;
    std::uintptr_t lowest = UINTPTR_MAX;

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) noexcept {
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        if (here < lowest) lowest = here;
        const std::coroutine_handle<> next = other;
        other = self;
        return next;
    }
    void await_resume() const noexcept {}
};

passing pass_on(exchange& e, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) co_await e;
}

TEST(config, promises_tail_calls_where_transfers_use_constant_stack) {
    exchange e{};
    constexpr std::size_t times = 100'000;
    const passing a = pass_on(e, times);
    const passing b = pass_on(e, times);
    e.other = b.handle;
    const auto before = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    a.handle.resume();
    EXPECT_LT(before - e.lowest, 64U * 1024U);
    a.handle.destroy();
    b.handle.destroy();
}

#endif

}  // namespace
