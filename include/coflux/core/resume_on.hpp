// resume_on: moves the running coroutine to another executor.
#pragma once

#include <coroutine>
#include <source_location>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/executor.hpp>

namespace coflux {
namespace detail {

class [[nodiscard]] resume_on_awaiter {
public:
    resume_on_awaiter(promise_base& p, const executor_entry* to) noexcept : p_(p), to_(to) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept;
    void await_resume() const noexcept { this_thread.current = &p_; }

private:
    promise_base& p_;
    const executor_entry* to_;
};

/// `name`: that of an executor_key, which the environment does not have.
[[noreturn]] COFLUX_COLD void fail_resume_on(const char* name) noexcept;

struct [[nodiscard("co_await it")]] resume_on_request {
    const void* identity;
    const char* name;

    resume_on_awaiter await_in(promise_base& p, std::source_location where) const noexcept {
        const executor_entry* const to = p.data().find_object(identity);
        if (to == nullptr) [[unlikely]]
            fail_resume_on(name);
        p.set_await_location(where);
        return resume_on_awaiter(p, to);
    }
};

}  // namespace detail

/// `co_await resume_on(ex)` moves the running coroutine to `ex`: from then on that is its executor, where it resumes
/// after every await and where children that name no executor start.
///
/// Shapes: `ex` is one of the executors of the coroutine's environment.
/// Resumes: on `ex`, even if the coroutine is there already.
/// Errors: an executor that the environment does not have is a checked error.
/// Stops: a stop point; loses nothing.
/// Costs: one trip through the queue of `ex`.
template <executor E>
[[nodiscard("co_await it")]] detail::resume_on_request resume_on(E& ex) noexcept {
    static_assert(!detail::starts_inline<E>, "coflux: nothing can be resumed on an executor that does not schedule");
    const detail::executor_entry entry = detail::entry_for(ex);
    return {entry.identity, entry.key->name};
}

}  // namespace coflux
