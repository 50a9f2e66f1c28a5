#include <coflux/core/failure.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <coflux/base/assert.hpp>

namespace coflux {
namespace {

thread_local std::vector<std::exception_ptr> others_of_last;
thread_local std::exception_ptr last_thrown;

void print(const char* what, const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "  %s: %s\n", what, e.what());
    } catch (...) {
        std::fprintf(stderr, "  %s: not derived from std::exception\n", what);
    }
}

}  // namespace

std::span<const std::exception_ptr> other_errors() noexcept {
    if (last_thrown == nullptr || last_thrown != std::current_exception()) return {};
    return others_of_last;
}

namespace detail {

void failure::rethrow() {
    observe();
    const std::exception_ptr error = error_;
    if (others_.empty()) {
        others_of_last.clear();
        last_thrown = nullptr;
    } else {
        others_of_last = others_;  // copied: several views may rethrow the same failure
        last_thrown = error;
    }
    release();
    std::rethrow_exception(error);
}

failure* current_failure() noexcept {
    auto* const made = new (std::nothrow) failure(std::current_exception());
    COFLUX_VERIFY(made != nullptr, "out of memory while keeping an exception");
    return made;
}

void report_unobserved(error_handler handler, const failure& f) noexcept {
    if (handler != nullptr) {
        handler(f.error());
        for (const std::exception_ptr& other : f.others()) handler(other);
        return;
    }
    std::fprintf(stderr, "coflux: an error that nobody observed\n");
    print("error", f.error());
    for (const std::exception_ptr& other : f.others()) print("also", other);
    std::terminate();
}

}  // namespace detail
}  // namespace coflux
