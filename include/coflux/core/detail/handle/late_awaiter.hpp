// The awaiter of a handle, on compilers that take results late.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// The await of a handle, where results are taken late (COFLUX_LATE_RESULTS): a result that went by the thread waits
/// here. Elsewhere the handle is its own awaiter, and an await costs no store for one.
template <typename Handle, typename T>
class [[nodiscard]] late_awaiter {
public:
    COFLUX_INLINE explicit late_awaiter(Handle& handle) noexcept : handle_(handle), result_(thread_result) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return handle_.await_ready(); }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const {
        h.promise().clear_takes_stop();
        return handle_.await_suspend(h);
    }
    COFLUX_INLINE T await_resume() const {
        return handle_.take([this]() noexcept { return result_; });
    }

private:
    Handle& handle_;
    std::uint64_t result_;
};

/// await_transform returns it for a handle that gives a T, and whose await has begun.
template <typename T, typename Handle>
COFLUX_INLINE decltype(auto) begun_awaiter(Handle& handle) noexcept {
    if constexpr (COFLUX_LATE_RESULTS) {
        return late_awaiter<Handle, T>(handle);
    } else {
        return static_cast<Handle&>(handle);
    }
}

}  // namespace coflux::detail
