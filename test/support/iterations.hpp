// How often the tests repeat themselves: as often as a law says where that is a matter of seconds, less often
// elsewhere.
#pragma once

#include <cstddef>

#include <coflux/base/config.hpp>

#if defined(__SANITIZE_THREAD__)
#    define COFLUX_TEST_TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define COFLUX_TEST_TSAN 1
#    endif
#endif
#if !defined(COFLUX_TEST_TSAN)
#    define COFLUX_TEST_TSAN 0
#endif

namespace coflux_test {

inline constexpr bool sanitized = COFLUX_ASAN != 0 || COFLUX_TEST_TSAN != 0;
#if defined(__OPTIMIZE__)
inline constexpr bool optimized = true;
#else
inline constexpr bool optimized = false;
#endif

/// A build whose coroutines run as fast as a user's. Elsewhere the tests do less of what takes long.
inline constexpr bool at_full_speed = optimized && !sanitized;

/// `law` repetitions at full speed, a fortieth of them elsewhere.
constexpr std::size_t repetitions(std::size_t law) noexcept {
    return at_full_speed ? law : law / 40;
}

/// The ten million of the laws. With a fortieth of it, a completion that left the two words of a call behind would
/// still fill the small stack (small_stack.hpp) eight times.
inline constexpr std::size_t ten_million = repetitions(10'000'000);
/// Rounds of a race between two threads.
inline constexpr std::size_t race_rounds = repetitions(100'000);

}  // namespace coflux_test
