// How the await of a handle takes a result that views still look at.
#pragma once

#include <type_traits>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

/// Copies results of type T. Only view() and callbacks make what copies: a type may say that it can be copied, and not
/// compile where it is, as a std::vector of what only moves does, and a class that has one.
template <typename T>
class copied_result {
    using kept = kept_result<T>;

public:
    /// Before a frame gets its first view or callback, which publishes it.
    static void made_possible() noexcept {
        if constexpr (!std::is_trivially_copy_constructible_v<kept>) copy_.store(&copy, memory_order_relaxed);
    }
    static COFLUX_INLINE kept of(const kept& result) {
        if constexpr (std::is_trivially_copy_constructible_v<kept>) {
            return result;
        } else {
            return copied_aside(result);
        }
    }

private:
    static COFLUX_NOINLINE kept copied_aside(const kept& result) {
        const auto copies = copy_.load(memory_order_relaxed);
        COFLUX_VERIFY(copies != nullptr,
                      "a result has views or callbacks that were made by another library, which hides its symbols");
        return copies(result);
    }
    static kept copy(const kept& result) { return result; }

    COFLUX_SHARED static inline constinit atomic<kept (*)(const kept&)> copy_{nullptr};
};

}  // namespace coflux::detail
