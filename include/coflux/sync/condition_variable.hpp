// condition_variable: waits, without the lock, for a change of what a mutex guards.
#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/sync/detail/optional_call.hpp>
#include <coflux/sync/mutex.hpp>

namespace coflux::detail {
struct limit_time;  // time/detail/timer_queue.hpp

template <typename T, typename None>
concept predicate_or = std::predicate<T> || std::same_as<T, None>;
}  // namespace coflux::detail

namespace coflux {

/// Waiting for a condition on what a `mutex` guards: `co_await changed.wait(guard, [&] { return !queue.empty(); });`
///
/// A coroutine that is notified moves from this queue to that of the mutex: it runs when it has the lock, never inside
/// notify.
///
/// Threads: all members from any; notify with or without the lock.
/// Costs: never an allocation, but for wait() with a predicate.
/// Lifetime: it outlives the awaits of wait(), and so does the mutex; its destructor checks that each waiter was
/// notified. The mutex also outlives the calls of notify that may find a waiter.
class condition_variable {
    class wait_awaiter;
    using wait_request = detail::request<wait_awaiter, condition_variable&, mutex::guard&>;
    template <typename Predicate>
    class predicate_awaiter;
    template <typename Predicate>
    using predicate_request =
        detail::request<predicate_awaiter<Predicate>, condition_variable&, mutex::guard&, Predicate>;
    struct any_change {};  // no predicate
    template <typename Predicate>
    class limited_awaiter;
    template <typename Predicate>
    using limited_request =
        detail::request<limited_awaiter<Predicate>, condition_variable&, mutex::guard&, detail::limit_time, Predicate>;

public:
    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    ~condition_variable() {
        COFLUX_VERIFY(mutex_.load(detail::memory_order_relaxed) == nullptr,
                      "a condition_variable was destroyed while coroutines wait in it");
    }

    /// `co_await wait(guard)`: gives the lock up, waits for a notification, and has the lock again.
    ///
    /// Shapes: `guard` owns a lock; the waiters at one time have locks of one mutex. It must outlive the await.
    /// Returns: nothing; `guard` owns the lock.
    /// Resumes: on the coroutine's executor; only after a notification, but the condition may have changed again.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it still has the lock.
    /// Stops: a stop point. A coroutine that is stopped while it waits, for the notification or then for the lock, does
    /// not have the lock, and `guard` owns nothing; what notify_one() gave it passes to the next. One that is stopped
    /// before it waits has the lock until the guard dies. A limit by timeout() would be such a stop, and does not
    /// compile: wait_for() waits again for the lock.
    [[nodiscard("co_await it")]] wait_request wait(mutex::guard& guard) noexcept { return {*this, guard}; }
    /// `co_await wait(guard, predicate)`: waits until `predicate()`, which is called with the lock, is true.
    ///
    /// Shapes: `guard` owns a lock, as for wait(guard). A predicate with captures that have destructors is given a name
    /// first, as in once::call().
    /// Errors: what `predicate` throws; `guard` then owns the lock.
    /// Costs: if it is false at first, one frame from the environment's resource. Otherwise as `while (!predicate())
    /// co_await wait(guard);`
    template <std::predicate Predicate>
    [[nodiscard("co_await it")]] predicate_request<Predicate> wait(mutex::guard& guard, Predicate predicate) {
        return predicate_request<Predicate>(*this, guard, std::move(predicate));
    }

    /// `co_await wait_for(guard, d)`: waits for a notification no longer than `d`, counted from this await, and has the
    /// lock again in either case. `co_await wait_for(guard, d, predicate)` waits until `predicate()` is true.
    ///
    /// Shapes: as wait(), and include <coflux/time/condition_wait.hpp>, as <coflux/coflux.hpp> does.
    /// Units: as sleep_for().
    /// Returns: limited<void>, true if it was notified, or if `predicate()` is true, also where the time was up; else
    /// timed_out(). `guard` owns the lock.
    /// Resumes: as wait(guard), however long it has to wait for the lock after its time was up.
    /// Errors: as wait(), and as timeout(): then it still has the lock.
    /// Stops: as wait(guard).
    /// Costs: two frames, and what timeout() costs; none if `predicate()` is true at first.
    template <typename Rep, typename Period, detail::predicate_or<any_change> Predicate = any_change>
    [[nodiscard("co_await it")]] limited_request<Predicate>
    wait_for(mutex::guard& guard, std::chrono::duration<Rep, Period> d, Predicate predicate = {});
    // Not a number.
    template <typename N, typename... Predicate>
        requires std::is_arithmetic_v<N>
    limited_request<std::conditional_t<detail::never<N>, N, any_change>> wait_for(mutex::guard& guard, N,
                                                                                  Predicate&&...) noexcept {
        static_assert(detail::never<N>, "coflux: a number has no unit: write wait_for(guard, 5ms), or 5s, with "
                                        "`using namespace std::chrono_literals;`");
        return wait_for(guard, std::chrono::duration<N>());
    }
    /// wait_for(), until a moment of any clock, as in sleep_until().
    template <typename Clock, typename Duration, detail::predicate_or<any_change> Predicate = any_change>
    [[nodiscard("co_await it")]] limited_request<Predicate>
    wait_until(mutex::guard& guard, std::chrono::time_point<Clock, Duration> t, Predicate predicate = {});

    /// Lets the longest waiter compete for the lock; does nothing if there are no waiters.
    void notify_one() noexcept { notify(false); }
    /// Lets all waiters compete for the lock, in the order in which they came.
    void notify_all() noexcept { notify(true); }

private:
    void notify(bool all) noexcept;
    bool remove(detail::wait_operation& w) noexcept;
    void pass_on(mutex& m) noexcept;

    // Both guarded by the lock of the mutex's list, so that a wait passes from this queue to that of the mutex in one
    // step. mutex_: nullptr: there are no waiters, and nothing here belongs to any mutex; else the mutex of the
    // waiters. Read without the lock by notify(), to find it.
    detail::atomic<mutex*> mutex_{nullptr};
    detail::wait_queue waiters_;
};

class [[nodiscard]] condition_variable::wait_awaiter : public detail::wait_operation {
public:
    using loses_its_lock = void;

    wait_awaiter(detail::promise_base& p, condition_variable& of, mutex::guard& guard) noexcept
        : wait_operation(p, kind),
          of_(of),
          guard_(guard),
          mutex_(mutex_of(guard)) {}
    ~wait_awaiter() {
        if (is_unresumed()) guard_ = mutex_.owned(mutex::want(nullptr));
    }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>);
    void await_resume() noexcept {
        end();
        guard_ = mutex_.owned(mutex::want(nullptr));
    }

    static mutex& mutex_of(const mutex::guard& guard) noexcept {
        COFLUX_VERIFY(guard.owns_lock(), "wait() of a condition_variable with a guard that owns no lock");
        return *guard.of_;
    }

private:
    friend class condition_variable;
    static bool claim(detail::wait_operation& w) noexcept;
    static const detail::wait_kind kind;

    condition_variable& of_;  // first, as of_at says
    mutex::guard& guard_;
    mutex& mutex_;
    // Where it waits; guarded by the lock of the mutex's list.
    enum class queue_kind : unsigned char {
        condition,           // in the queue of the condition
        mutex,               // in that of the mutex, by a notify_all()
        mutex_by_notify_one  // in that of the mutex, by a notify_one()
    } queued_in_ = queue_kind::condition;
};

template <typename Predicate>
class [[nodiscard]] condition_variable::predicate_awaiter : detail::optional_call {
public:
    using single_use = void;
    using loses_its_lock = void;

    predicate_awaiter(detail::promise_base& p, condition_variable& of, mutex::guard& guard, Predicate& predicate)
        : p_(p),
          of_(of),
          guard_(guard),
          predicate_(std::move(predicate)) {
        COFLUX_VERIFY(guard.owns_lock(), "wait() of a condition_variable with a guard that owns no lock");
    }
    [[nodiscard]] bool await_ready() { return ready_if(static_cast<bool>(predicate_())); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return begin(h, [this] { return waits(p_.open_scope(), of_, guard_, predicate_); });
    }
    void await_resume() { resumed(); }

private:
    static call<void> waits(environment&, condition_variable& of, mutex::guard& guard, Predicate& predicate) {
        for (bool holds = false; !holds; holds = static_cast<bool>(predicate())) co_await of.wait(guard);
    }

    detail::promise_base& p_;
    condition_variable& of_;
    mutex::guard& guard_;
    Predicate predicate_;
};

}  // namespace coflux
