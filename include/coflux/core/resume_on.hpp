// resume_on: moves the running coroutine to another executor.
#pragma once

#include <coroutine>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/executor.hpp>

namespace coflux {
namespace detail {

/// `name`: that of an executor_key, which the environment does not have.
[[noreturn]] COFLUX_COLD void fail_resume_on(const char* name) noexcept;

class [[nodiscard]] resume_on_awaiter {
public:
    /// To the executor with that `identity`.
    resume_on_awaiter(promise_base& p, const void* identity, const char* name) noexcept
        : p_(p),
          to_(p.data().find_object(identity)) {
        if (to_ == nullptr) [[unlikely]]
            fail_resume_on(name);
    }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept;
    void await_resume() const noexcept { this_thread.current = &p_; }

private:
    promise_base& p_;
    const executor_entry* to_;
};

using resume_on_request = request<resume_on_awaiter, const void*, const char*>;

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
