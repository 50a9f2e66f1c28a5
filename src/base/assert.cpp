#include <coflux/base/assert.hpp>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <coflux/base/atomic.hpp>

namespace coflux {
namespace {

// Each: nullptr until a handler is registered; written whole, read whole, so relaxed order suffices.
detail::atomic<assertion_handler> handler_in_use{nullptr};
detail::atomic<detail::failure_context> context_in_use{nullptr};
detail::atomic<detail::failure_context> trace_in_use{nullptr};

}  // namespace

assertion_handler set_assertion_handler(assertion_handler handler) noexcept {
    return handler_in_use.exchange(handler, detail::memory_order_acq_rel);  // pairs with the acquire in fail()
}

namespace detail {

void set_failure_context(failure_context print) noexcept {
    context_in_use.store(print, memory_order_release);  // pairs with the acquire in fail()
}

void set_failure_trace(failure_context print) noexcept {
    trace_in_use.store(print, memory_order_release);  // pairs with the exchange in fail()
}

void fail(const char* file, int line, const char* expression, const char* format, ...) noexcept {
    char message[1024];
    const int used = std::snprintf(message, sizeof message, "coflux: ");
    va_list values;
    va_start(values, format);
    std::vsnprintf(message + used, sizeof message - static_cast<std::size_t>(used), format, values);
    va_end(values);
    std::fprintf(stderr, "%s\n  check failed: %s\n  at %s:%d\n", message, expression, file, line);
    if (const failure_context print = context_in_use.load(memory_order_acquire))
        print();  // pairs with set_failure_context
    // Once: a check that fails while it prints does not begin again.
    if (const failure_context print = trace_in_use.exchange(nullptr, memory_order_acquire))
        print();  // pairs with set_failure_trace
    std::fflush(stderr);
    if (const assertion_handler handler = handler_in_use.load(memory_order_acquire))
        handler(message);  // pairs with set_assertion_handler
    std::abort();
}

}  // namespace detail
}  // namespace coflux
