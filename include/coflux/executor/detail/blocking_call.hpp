// The awaits of blocking(): a function, what it gives, and the wait for that.
#pragma once

#include <coroutine>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/executor/detail/blocking_job.hpp>
#include <coflux/executor/detail/call_result.hpp>

namespace coflux::detail {

/// A call of a function that the coroutine waits for. `F` is an object, or a reference to what outlives the await.
template <typename F>
class [[nodiscard]] blocking_awaiter : private blocking_job, private blocking_wait {
    using result = std::invoke_result_t<F>;

public:
    blocking_awaiter(promise_base& p, blocking_threads* of, std::remove_reference_t<F>& f) noexcept
        : blocking_job(how_it_runs),
          blocking_wait(p, *of, *this),
          f_(f) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    result await_resume() {
        resumed();
        return result_.take();
    }

private:
    static bool run(blocking_job& j) noexcept {
        auto& self = static_cast<blocking_awaiter&>(j);
        return self.result_.keep([&self]() -> result { return static_cast<F&&>(self.f_)(); });
    }
    static void fail(blocking_job& j, const std::exception_ptr& error) noexcept {
        static_cast<blocking_awaiter&>(j).result_.fail(error);
    }
    static constexpr blocking_job_kind how_it_runs{&run, &fail, nullptr};

    std::remove_reference_t<F>& f_;
    call_result<result> result_;
};

/// A call of a function that may outlive the await, with all that it uses.
template <typename F, typename... Args>
class abandonable_job : public blocking_job {
public:
    using result = std::invoke_result_t<F&, Args...>;

    template <typename... Given>
    explicit abandonable_job(const F& f, Given&&... args)
        : blocking_job(how_it_runs),
          f_(f),
          args_(std::forward<Given>(args)...) {}

    result take() { return result_.take(); }

private:
    static bool run(blocking_job& j) noexcept {
        auto& self = static_cast<abandonable_job&>(j);
        return self.result_.keep([&self]() -> result { return std::apply(self.f_, std::move(self.args_)); });
    }
    static void fail(blocking_job& j, const std::exception_ptr& error) noexcept {
        static_cast<abandonable_job&>(j).result_.fail(error);
    }
    static void destroy(blocking_job& j) noexcept { delete static_cast<abandonable_job*>(&j); }
    static constexpr blocking_job_kind how_it_runs{&run, &fail, &destroy};

    [[no_unique_address]] F f_;
    std::tuple<Args...> args_;
    call_result<result> result_;
};

/// Owns a job that has not been awaited.
template <typename Job>
class unawaited_job {
public:
    explicit unawaited_job(Job* owned) noexcept : job_(owned) {}
    unawaited_job(unawaited_job&& other) noexcept : job_(other.release()) {}
    unawaited_job(const unawaited_job&) = delete;
    unawaited_job& operator=(const unawaited_job&) = delete;
    ~unawaited_job() { delete job_; }
    [[nodiscard]] Job* release() noexcept { return std::exchange(job_, nullptr); }

private:
    Job* job_;
};

/// The await of an abandonable_job, which it owns until a stop leaves it to its thread.
template <typename Job>
class [[nodiscard]] abandoning_awaiter : private blocking_wait {
public:
    abandoning_awaiter(promise_base& p, blocking_threads* of, unawaited_job<Job>& given) noexcept
        : blocking_wait(p, *of, *given.release()) {}
    ~abandoning_awaiter() { delete owned(); }

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    typename Job::result await_resume() {
        resumed();
        return owned()->take();
    }

private:
    [[nodiscard]] Job* owned() const noexcept { return static_cast<Job*>(job()); }
};

#define COFLUX_NOT_AWAITED "the function is not called until this is awaited: co_await it"

/// The awaitable. `Call` is kept in it.
template <typename Awaiter, typename Call>
class [[nodiscard(COFLUX_NOT_AWAITED)]] blocking_request : public request<Awaiter, blocking_threads*, Call> {
public:
    using single_use = void;

    blocking_request(blocking_threads* of, Call&& call)
        : request<Awaiter, blocking_threads*, Call>(of, std::forward<Call>(call)) {}
    blocking_request(const blocking_request&) = delete;
    blocking_request& operator=(const blocking_request&) = delete;
};
#undef COFLUX_NOT_AWAITED

template <typename F>
using blocking_call = blocking_request<blocking_awaiter<F>, F>;
template <typename F, typename... Args>
using abandonable_call = blocking_request<abandoning_awaiter<abandonable_job<F, std::decay_t<Args>...>>,
                                          unawaited_job<abandonable_job<F, std::decay_t<Args>...>>>;

/// Nothing that a function may refer to.
template <typename F>
inline constexpr bool refers_to_nothing =
    std::is_empty_v<F> || (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>);

template <typename F, typename... Args>
abandonable_call<F, Args...> make_abandonable(blocking_threads* of, const F& f, Args&&... args) {
    static_assert(refers_to_nothing<F>,
                  "coflux: what a stop abandons runs on when the coroutine is gone, so it must not have captures: pass "
                  "what it needs as arguments, which are copied");
    static_assert((... && owns_itself<std::decay_t<Args>>),
                  "coflux: what a stop abandons runs on when the coroutine is gone, so its arguments must own what "
                  "they show: pass a std::string or std::vector in place of a view");
    using job = abandonable_job<F, std::decay_t<Args>...>;
    return abandonable_call<F, Args...>(of, unawaited_job<job>(new job(f, std::forward<Args>(args)...)));
}

}  // namespace coflux::detail
