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

void failure::add(const std::exception_ptr& other) noexcept {
    try {
        others_.push_back(other);
    } catch (const std::bad_alloc&) {
        COFLUX_VERIFY(false, "out of memory while keeping several errors");
    }
}

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
    const std::exception_ptr error = std::current_exception();
    auto* const made = new (std::nothrow) failure(error);
    COFLUX_VERIFY(made != nullptr, "out of memory while keeping an exception");
    // An error that comes through a second coroutine brings along what came with it.
    if (last_thrown != nullptr && last_thrown == error) {
        for (const std::exception_ptr& other : others_of_last) made->add(other);
    }
    return made;
}

namespace {

/// A failure with the error of `first`, whose reference it takes over, and what came with it.
failure* begin_joined(failure* first) noexcept {
    auto* const joined = new (std::nothrow) failure(first->error());
    COFLUX_VERIFY(joined != nullptr, "out of memory while keeping several errors");
    for (const std::exception_ptr& other : first->others()) joined->add(other);
    first->observe();
    first->release();
    return joined;
}

/// The same with one of the others.
void add_joined(failure& joined, failure* other) noexcept {
    joined.add(other->error());
    for (const std::exception_ptr& with_it : other->others()) joined.add(with_it);
    other->observe();
    other->release();
}

}  // namespace

failure* join_failures(failure* first, std::span<failure* const> others) noexcept {
    if (first == nullptr) {
        if (others.empty()) return nullptr;
        first = others.front();
        others = others.subspan(1);
    }
    if (others.empty()) return first;
    failure* const joined = begin_joined(first);
    for (failure* const f : others) add_joined(*joined, f);
    return joined;
}

failure* join_failures(failure* first, failure* others) noexcept {
    if (first == nullptr) {
        if (others == nullptr) return nullptr;
        first = others;
        others = std::exchange(first->next, nullptr);
    }
    if (others == nullptr) return first;
    failure* const joined = begin_joined(first);
    while (others != nullptr) {
        failure* const f = others;
        others = std::exchange(f->next, nullptr);
        add_joined(*joined, f);
    }
    return joined;
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
