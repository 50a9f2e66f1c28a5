// Facts about compiler and build; the only header that tests predefined macros.
#pragma once

#if defined(__clang__) && __clang_major__ < 18
#    error "coflux: clang before 18 is not tested (README, Compilers): apt-get install clang-19"
#elif !defined(__clang__) && (__GNUC__ < 13 || (__GNUC__ == 13 && __GNUC_MINOR__ < 3))
#    error "coflux: g++ before 13.3 miscompiles co_await (README, Compilers): apt-get install clang-19, or a newer g++"
#endif

#include <cstddef>

#if defined(__clang__)
#    define COFLUX_CLANG 1
#else
#    define COFLUX_CLANG 0
#endif

// clang compiles a symmetric transfer to a tail call at every level of optimisation. g++ does so only from -O2 on and
// never under a sanitizer, and no macro distinguishes -O1 from -O2: there, transfers are bounded
// (core/detail/thread/transfer.hpp).
#define COFLUX_TAIL_CALLS COFLUX_CLANG

// g++ completes all awaits of an expression before it takes their results, but for objects of a class. Where one of
// them throws, or the coroutine is stopped in one, awaiters die that were completed and never resumed from
// (docs/design/sync.md, rule 7). clang takes each result before the next await begins.
#define COFLUX_LATE_RESULTS (!COFLUX_CLANG)

// g++ tells operator new no frame's alignment, but rounds the size up to it. clang does not round.
#define COFLUX_ROUNDED_FRAMES (!COFLUX_CLANG)

#if defined(__SANITIZE_ADDRESS__)
#    define COFLUX_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define COFLUX_ASAN 1
#    endif
#endif
#if !defined(COFLUX_ASAN)
#    define COFLUX_ASAN 0
#endif

// clang's checks of objects' sizes see through a promise to the variable that it is until the coroutine is split, and
// take the words in front of its frame for out of bounds.
#if COFLUX_CLANG && defined(__has_feature)
#    if __has_feature(undefined_behavior_sanitizer)
#        define COFLUX_HIDE_ORIGIN(pointer) asm("" : "+r"(pointer))
#    endif
#endif
// clang computes the pointer anew, from what it was made of, where it would otherwise keep it in a register.
#if COFLUX_CLANG
#    define COFLUX_REMATERIALIZE(pointer) asm volatile("" : "+r"(pointer))
#else
#    define COFLUX_REMATERIALIZE(pointer) static_cast<void>(0)
#endif
#if !defined(COFLUX_HIDE_ORIGIN)
#    define COFLUX_HIDE_ORIGIN(pointer) static_cast<void>(0)
#endif

// Not by force without optimisation. Copies at each call were more than half of an object file of tests there, with
// ThreadSanitizer; and clang 19 with AddressSanitizer reports the locals of functions that it inlined into a
// coroutine's clean-up as used after their scope (test/compiler_bugs/coflux_forms.cpp).
#if defined(__OPTIMIZE__)
#    define COFLUX_INLINE inline __attribute__((always_inline))
#else
#    define COFLUX_INLINE inline
#endif
// A parameter to which the result of a function refers: clang warns of a temporary that dies before the result.
#if defined(__clang__)
#    define COFLUX_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#    define COFLUX_LIFETIMEBOUND
#endif
#define COFLUX_NOINLINE __attribute__((noinline))
#define COFLUX_COLD __attribute__((noinline, cold))
// A message's look at what another thread may be writing: words that are written whole, at worst a moment old.
#if COFLUX_CLANG
#    define COFLUX_GLANCE __attribute__((noinline, no_sanitize("thread")))
#else
#    define COFLUX_GLANCE __attribute__((noinline, no_sanitize_thread))
#endif
// The arguments of a promise's constructor and operator new. g++ passes a lambda's closure along, as it does to
// coroutine_traits, and warns of a mismatch with operator delete if operator new is a template; clang leaves the
// closure out.
#if COFLUX_CLANG
#    define COFLUX_COROUTINE_ARGUMENTS(Args, Given) template <typename... Given>
#    define COFLUX_ARGUMENT(Args, Given) Given
#else
#    define COFLUX_COROUTINE_ARGUMENTS(Args, Given)
#    define COFLUX_ARGUMENT(Args, Given) std::remove_reference_t<Args>
#endif
// A slow path that keeps the caller's registers, so that a fast path around the call needs no prologue. clang only; and
// only for functions that cannot throw: the unwinder does not restore the registers that the caller then counts on. It
// is hidden, because the loader clobbers such registers where it binds a function in its first call; so what it keeps
// beyond a call is COFLUX_SHARED. A shared library cannot hide it from its users: there it is an ordinary function
// (COFLUX_SHARED_LIBRARIES). The tags make it an error of the linker, and not a crash, to mix these ways, or a library
// that g++ built with a program of clang.
#if COFLUX_CLANG && !defined(COFLUX_SHARED_LIBRARIES)
#    define COFLUX_ASIDE __attribute__((noinline, preserve_most, visibility("hidden"), abi_tag("aside")))
#elif COFLUX_CLANG
#    define COFLUX_ASIDE __attribute__((noinline, abi_tag("aside_shared")))
#else
#    define COFLUX_ASIDE __attribute__((noinline))
#endif

// A class of one pointer that is returned in a register although it has a destructor. clang only. The tag becomes part
// of the names of functions that return one: files of g++ and of clang that disagree about it do not link.
#if COFLUX_CLANG
#    define COFLUX_IN_REGISTER __attribute__((trivial_abi))
#    define COFLUX_NAMED_SO __attribute__((abi_tag("in_register")))  // where it is first declared
#else
#    define COFLUX_IN_REGISTER
#    define COFLUX_NAMED_SO
#endif

// Around coroutines of a header that have types of its users in their frames: g++ warns where such a type is of an
// unnamed namespace.
#if COFLUX_CLANG
#    define COFLUX_TYPES_OF_USERS_BEGIN
#    define COFLUX_TYPES_OF_USERS_END
#else
#    define COFLUX_TYPES_OF_USERS_BEGIN \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wsubobject-linkage\"")
#    define COFLUX_TYPES_OF_USERS_END _Pragma("GCC diagnostic pop")
#endif

// State that a process has once, also where a library that uses Coflux hides its symbols.
#define COFLUX_SHARED __attribute__((visibility("default")))

// See core/stop.hpp; models have shorter trees.
#if !defined(COFLUX_LONGEST_LOOK)
#    define COFLUX_LONGEST_LOOK 32
#endif
// See src/core/detail/wait/stop_walk.hpp.
#if !defined(COFLUX_LONGEST_STOP_STEP)
#    define COFLUX_LONGEST_STOP_STEP 512
#endif

// Facts that the optimiser may rely on.
#if COFLUX_CLANG
#    define COFLUX_ASSUME(condition) __builtin_assume(condition)
#else
#    define COFLUX_ASSUME(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#endif

namespace coflux::detail {

/// False, but not before it is asked for `T`: for the sentence that a template says which only a wrong program chooses.
template <typename T>
inline constexpr bool never = false;

/// Distance that keeps two atomics out of each other's cache line; a constant, because the compilers' own value is part
/// of no ABI and may differ between translation units.
inline constexpr std::size_t cache_line = 64;

/// A hint to the processor that it waits for another: cheaper on the sibling thread, and about 25 ns here.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace coflux::detail
