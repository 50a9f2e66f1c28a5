// Checks of programming errors: always on but for one, print the expression and the async back-trace, then abort.
#pragma once

#include <coflux/base/config.hpp>

namespace coflux {

/// Called by a failed check with its message, before the process aborts.
///
/// Threads: any.
/// Costs: none until a check fails.
using assertion_handler = void (*)(const char* message) noexcept;

/// Replaces the handler of failed checks and returns the one before; nullptr restores the default, which prints to
/// stderr.
///
/// Threads: any; the last writer wins.
assertion_handler set_assertion_handler(assertion_handler handler) noexcept;

namespace detail {

/// Formats `format` (printf style), prints it with the location, calls the handler and aborts.
[[noreturn]] COFLUX_COLD void fail(const char* file, int line, const char* expression, const char* format, ...) noexcept
    __attribute__((format(printf, 4, 5)));

/// A function that adds lines to a failed check's message: core registers the async back-trace here, so that base needs
/// not know it.
using failure_context = void (*)() noexcept;
void set_failure_context(failure_context print) noexcept;
/// The same for the trace, which comes behind it.
void set_failure_trace(failure_context print) noexcept;

}  // namespace detail
}  // namespace coflux

/// Always-on check: COFLUX_VERIFY(condition, "printf format", values...).
#define COFLUX_VERIFY(condition, ...)                                            \
    do {                                                                         \
        if (!(condition)) [[unlikely]]                                           \
            ::coflux::detail::fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
    } while (false)

/// The same where NDEBUG is not defined: of an error that a program can go on after, as a peer may choose the time.
#ifdef NDEBUG
#    define COFLUX_DEBUG_VERIFY(condition, ...) static_cast<void>(0)
#else
#    define COFLUX_DEBUG_VERIFY(condition, ...) COFLUX_VERIFY(condition, __VA_ARGS__)
#endif
