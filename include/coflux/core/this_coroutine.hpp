// Questions that a running coroutine may ask of itself: `co_await coflux::this_coroutine::…`.
#pragma once

#include <coroutine>
#include <memory_resource>

#include <coflux/core/deadline.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/stop.hpp>

namespace coflux {

/// A reference to the executor of a coroutine.
/// Lifetime: must not outlive the coroutine's environment.
class executor_ref {
public:
    explicit executor_ref(const detail::executor_entry* entry) noexcept : entry_(entry) {}

    /// False for a coroutine that no executor runs: one below noop executors only.
    explicit operator bool() const noexcept { return entry_ != nullptr; }
    /// Queues `h`.
    /// Pre: *this is not empty.
    void execute(std::coroutine_handle<> h) const noexcept {
        COFLUX_VERIFY(entry_ != nullptr, "this coroutine has no executor");
        entry_->post(h);
    }
    /// True if both name the same executor.
    friend bool operator==(const executor_ref& a, const executor_ref& b) noexcept {
        return a.entry_ == b.entry_ ||
               (a.entry_ != nullptr && b.entry_ != nullptr && stand_for_the_same(*a.entry_, *b.entry_));
    }
    /// True if this is `e`.
    template <executor E>
    [[nodiscard]] bool is(const E& e) const noexcept {
        return entry_ != nullptr && stand_for_the_same(*entry_, detail::entry_for(const_cast<E&>(e)));
    }

private:
    /// A simulation gives one executor several identities (docs/design/simulation.md).
    static bool stand_for_the_same(const detail::executor_entry& a, const detail::executor_entry& b) noexcept {
        return a.identity == b.identity || a.object == b.object;
    }

    const detail::executor_entry* entry_;
};

namespace detail {

/// An answer that needs no suspension.
template <typename T>
class [[nodiscard]] answer_awaiter {
public:
    explicit answer_awaiter(T answer) noexcept : answer_(answer) {}
    [[nodiscard]] bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    T await_resume() const noexcept { return answer_; }

private:
    T answer_;
};

/// A question about the running coroutine; `Ask` is a function of its promise.
template <auto Ask>
struct asked {
    using keeps_location = void;
    static COFLUX_INLINE auto bind(promise_base& p) noexcept { return answer_awaiter(Ask(p)); }
};
template <auto Ask>
using question = request<asked<Ask>>;

inline executor_ref ask_executor(promise_base& p) noexcept {
    return executor_ref(p.runs_on());
}
inline std::pmr::memory_resource* ask_memory(promise_base& p) noexcept {
    return p.memory_resource();
}
inline stop_token ask_stop_token(promise_base& p) noexcept {
    return p.stop_token();
}
inline auto ask_deadline(promise_base& p) noexcept {
    return p.deadline();
}

class [[nodiscard]] stop_awaiter {
public:
    explicit stop_awaiter(promise_base& p) noexcept : p_(p) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept {
        (void)p_.begin_suspend();
        return p_.stop_here();
    }
    [[noreturn]] void await_resume() const noexcept {
        COFLUX_VERIFY(false, "a stopped coroutine was resumed");
        __builtin_unreachable();
    }

private:
    promise_base& p_;
};
using stop_request = request<stop_awaiter>;

class [[nodiscard]] yield_awaiter {
public:
    explicit yield_awaiter(promise_base& p) noexcept : p_(p) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept {
        return p_.runs_on() == nullptr && !p_.is_stop_requested();
    }
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        promise_base& p = p_;
        if (p.begin_suspend() == detail::suspension::stop) [[unlikely]]
            return p.stop_here();
        return suspend_behind_ready<true>(p, h);
    }
    COFLUX_INLINE void await_resume() const noexcept { this_thread.current = &p_; }

private:
    promise_base& p_;
};
using yield_request = request<yield_awaiter>;

}  // namespace detail

namespace this_coroutine {

/// `co_await executor()`: the executor that the coroutine runs on.
/// Costs: none; never suspends.
[[nodiscard("co_await it")]] constexpr auto executor() noexcept {
    return detail::question<detail::ask_executor>{};
}
/// `co_await memory_resource()`: where the frames of its children come from.
/// Costs: none; never suspends.
[[nodiscard("co_await it")]] constexpr auto memory_resource() noexcept {
    return detail::question<detail::ask_memory>{};
}
/// `co_await stop_token()`: asks whether a stop was requested, without stopping.
/// Costs: none; never suspends.
[[nodiscard("co_await it")]] constexpr auto stop_token() noexcept {
    return detail::question<detail::ask_stop_token>{};
}
/// `co_await deadline()`: the nearest deadline set above, if any.
/// Costs: none; never suspends.
[[nodiscard("co_await it")]] constexpr auto deadline() noexcept {
    return detail::question<detail::ask_deadline>{};
}
/// `co_await stop()`: ends the running coroutine as stopped: its children are joined, then its locals die, then its
/// awaiter is stopped, too, unless it asked for the outcome. It does not request a stop of the children; request_stop()
/// of the environment does.
[[nodiscard("co_await it")]] constexpr auto stop() noexcept {
    return detail::stop_request{};
}
/// `co_await yield()`: lets the other ready coroutines of the executor run.
/// Resumes: on the same executor, behind the coroutines that were ready.
/// Stops: a stop point; loses nothing.
/// Costs: about 6 ns in a pool when no other coroutine is ready; no allocation.
[[nodiscard("co_await it")]] constexpr auto yield() noexcept {
    return detail::yield_request{};
}

}  // namespace this_coroutine

/// `co_await coflux::yield()` is this_coroutine::yield().
[[nodiscard("co_await it")]] constexpr auto yield() noexcept {
    return detail::yield_request{};
}

}  // namespace coflux
