// timeout, deadline: an operation that is stopped, and joined, when its time is up.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/combine/detail/outcome_awaiter.hpp>
#include <coflux/core/deadline.hpp>  // IWYU pragma: export
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/limited_wait.hpp>
#include <coflux/time/limited.hpp>

namespace coflux {
namespace detail {

/// The environment of one operation with a nearer deadline; what is not a fork or task yet begins in it.
struct nearer_deadline {
    static constexpr const char* name = "deadline";
    environment_data data;
    nearer_deadline(const environment_data& outer, clock_tick end) noexcept : data(outer) {
        // A coroutine keeps the entry of the executor that it runs on, and may outlive the operation: the entries are
        // those of the environment around it.
        data.first = no_executor;
        data.others = {};
        data.outer = &outer;
        data.around = &outer;
        const auto deadline = static_cast<std::int64_t>(end);
        if (deadline < data.deadline) data.deadline = deadline;
    }
    template <typename Handle>
    void enter(Handle& handle) noexcept {
        if constexpr (requires(promise_base& p) { handle.begin(p); })
            promise_base::of(await_access::used(handle)).use_data(data);
    }
};
struct same_deadline {
    static constexpr const char* name = "timeout";
    same_deadline(const environment_data&, clock_tick) noexcept {}
    template <typename Handle>
    void enter(Handle&) noexcept {}
};

template <typename Handle, typename Deadline>
class [[nodiscard]] timeout_awaiter : private limited_wait {
    using value = typename Handle::value_type;

public:
    timeout_awaiter(promise_base& p, Handle&& handle, clock_tick end)
        : limited_wait(p, end),
          seen_(data_around(p, handle), end) {
        if constexpr (is_owned_handle<Handle>) {
            if (!await_access::used(handle).has_ended()) arm_limit(await_access::used(handle));
        } else {
            arm_limit(await_access::used(handle));  // it has not begun
        }
        seen_.enter(handle);
        begin_if_wrapper(handle, p);
        take_over(await_access::release(handle));
    }

    [[nodiscard]] bool await_ready() const noexcept { return is_ready() && goes_on(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept { return wait(); }
    limited<value> await_resume() {
        frame_control* const c = resumed();
        if (c == nullptr) return std::nullopt;
        if constexpr (std::is_void_v<value>) {
            consume<void>(*c);
            return limited<void>(std::in_place);
        } else if constexpr (std::is_reference_v<value>) {
            return limited<value>(std::in_place, detail::address_of(consume<value>(*c)));
        } else {
            return limited<value>(std::in_place, consume<value>(*c));
        }
    }

    using limited_wait::awaiting;
    using limited_wait::stops;

private:
    /// A call that was made in an environment object lives there.
    static const environment_data& data_around(const promise_base& p, const Handle& handle) noexcept {
        if constexpr (is_owned_handle<Handle>) {
            return p.data();
        } else {
            return promise_base::of(await_access::used(handle)).data();
        }
    }

    [[no_unique_address]] Deadline seen_;
};

template <typename A, typename Deadline>
struct timeout_operation : with_outcome<timeout_operation<A, Deadline>> {
    static_assert(!single_use_lvalue<A>,
                  "coflux: this handle can be awaited once: write timeout(std::move(handle), d)");

    static auto bind(promise_base& p, auto& awaited, limit_time limit) {
        const clock_tick end = limit.from_now();
        check_arguments(Deadline::name, awaited);
        (void)p.open_scope();  // what is no fork yet becomes one here
        using handle = std::remove_cvref_t<decltype(as_handle(p, std::forward<A>(awaited)))>;
        return timeout_awaiter<handle, Deadline>(p, as_handle(p, std::forward<A>(awaited)), end);
    }
};
template <typename A>
consteval void check_limited() {
    static_assert(!await_access::loses_its_lock<A>(),
                  "coflux: a limit would leave the guard without its lock: write changed.wait_for(guard, d), or "
                  "changed.wait_until(guard, t)");
}
template <typename A, typename Deadline>
using timeout_request = request<timeout_operation<A, Deadline>, A&&, limit_time>;

}  // namespace detail

/// `if (auto reply = co_await coflux::timeout(ask(here, peer), 50ms))`: waits no longer than `d`, counted from
/// this await; then the operation is stopped, and joined.
///
/// Shapes: a fork or task (moved), a call, a view, or any other awaitable. An operand that is not running yet begins at
/// the await, once the limit is armed. If `d` is not positive, it is stopped at its first stop point: a call then never
/// begins, and what need not wait is no stop point, as a receive() where there is a value.
/// Returns: limited of the value, which reads as a std::optional; for void it is true if the operation ended.
/// timed_out() if time was up and the operation stopped. One that completes nevertheless counts, however late: its
/// value is not lost. Under as_outcome(), an operation that stops before its time is `stopped`, and a time that was up
/// is a value.
/// Resumes: on the coroutine's own executor, once the operation has ended: an operation that cannot be stopped, as a
/// foreign awaitable, or one that computes and does not ask its stop token, is waited for. The fork behind a view goes
/// on; only the wait for it ends.
/// Errors: those of the operation, in time or late. As sleep_for(), and std::bad_alloc: then the operation has not
/// begun, and a handle is still the caller's.
/// Stops: a stop point; a stop loses the result. One that comes while it waits, and the limit, reach the operation, all
/// handles that were moved into it, and those in turn, wherever they were made. The body of an async_generator hears of
/// no limit of its next(): put the limit inside. An operation that stops before its time stops the awaiting coroutine
/// in turn, unless as_outcome() asks.
/// Threads: as sleep_for().
/// Costs: a small block from the frame pool if the operation is not ready; a frame for what is neither fork nor task.
template <typename A, typename Rep, typename Period>
[[nodiscard("nothing is limited until it is awaited: co_await it")]]
detail::timeout_request<A, detail::same_deadline> timeout(A&& awaited COFLUX_LIFETIMEBOUND,
                                                          std::chrono::duration<Rep, Period> d) noexcept {
    detail::check_limited<A>();
    return {std::forward<A>(awaited), detail::limit_of(d)};
}

// Not by a number.
template <typename A, typename N>
    requires std::is_arithmetic_v<N>
detail::timeout_request<A, detail::same_deadline> timeout(A&& awaited, N) noexcept {
    static_assert(detail::never<N>, "coflux: a number has no unit: write timeout(x, 5ms), or 5s, with "
                                    "`using namespace std::chrono_literals;`");
    return {std::forward<A>(awaited), detail::limit_time()};
}

/// Waits no longer than until a moment, which the operation can see: `this_coroutine::deadline()` in it gives `t`, or
/// what was nearer already.
///
/// Shapes: as timeout(). Forks and tasks see the deadline of the environment that they were made in;
/// make_environment(here, t) makes one with a deadline. `t` may be of any clock, as in sleep_until().
template <typename A, typename Clock, typename Duration>
[[nodiscard("nothing is limited until it is awaited: co_await it")]]
detail::timeout_request<A, detail::nearer_deadline> deadline(A&& awaited COFLUX_LIFETIMEBOUND,
                                                             std::chrono::time_point<Clock, Duration> t) noexcept {
    detail::check_limited<A>();
    return {std::forward<A>(awaited), detail::limit_of(t)};
}

}  // namespace coflux
