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

/// `law` repetitions in an optimised build; an eighth of them at -O0 and a fortieth under a sanitizer.
constexpr std::size_t repetitions(std::size_t law) noexcept {
    if (sanitized) return law / 40;
    return optimized ? law : law / 8;
}

/// What the laws call ten million. A fortieth of it elsewhere than in an optimised build: a completion that left the
/// two words of a call behind would still fill the small stack (small_stack.hpp) eight times.
inline constexpr std::size_t ten_million = optimized && !sanitized ? 10'000'000 : 10'000'000 / 40;
/// Rounds of a race between two threads.
inline constexpr std::size_t race_rounds = repetitions(100'000);

}  // namespace coflux_test
