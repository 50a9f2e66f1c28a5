// wait_for and wait_until of a condition_variable.
#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include <coflux/sync/condition_variable.hpp>
#include <coflux/time/limited.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux {

/// The wait is stopped when its time is up. The stop gives the lock up, so it then waits for that again, without a
/// limit.
template <typename Predicate>
class [[nodiscard]] condition_variable::limited_awaiter : detail::optional_call {
    static constexpr bool asks = !std::is_same_v<Predicate, any_change>;

public:
    using single_use = void;
    using loses_its_lock = void;

    limited_awaiter(detail::promise_base& p, condition_variable& of, mutex::guard& guard, detail::limit_time limit,
                    Predicate& predicate)
        : p_(p),
          of_(of),
          guard_(guard),
          mutex_(wait_awaiter::mutex_of(guard)),
          end_{limit.from_now(), false},
          predicate_(std::move(predicate)) {}
    [[nodiscard]] bool await_ready() {
        if constexpr (asks) has_come_ = static_cast<bool>(predicate_());
        return ready_if(has_come_);
    }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return begin(h, [this] { return waits(p_.open_scope(), *this); });
    }
    limited<void> await_resume() {
        resumed();
        return has_come_ ? limited<void>(std::in_place) : limited<void>();
    }

private:
    using limited_wait_request = detail::timeout_request<wait_request, detail::same_deadline>;

    static call<void> waits(environment&, limited_awaiter& self) {
        for (bool in_time = true; in_time && !self.has_come_;) {
            in_time = co_await limited_wait_request(self.of_.wait(self.guard_), self.end_);
            // One that was stopped before it waited still has the lock.
            if (!self.guard_.owns_lock()) self.guard_ = co_await self.mutex_.lock();
            if constexpr (asks) {
                self.has_come_ = static_cast<bool>(self.predicate_());
            } else {
                self.has_come_ = in_time;
            }
        }
    }

    detail::promise_base& p_;
    condition_variable& of_;
    mutex::guard& guard_;
    mutex& mutex_;
    detail::limit_time end_;  // a moment: a wait that was not the last one has the same
    Predicate predicate_;
    bool has_come_ = false;
};

template <typename Rep, typename Period, detail::predicate_or<condition_variable::any_change> Predicate>
auto condition_variable::wait_for(mutex::guard& guard, std::chrono::duration<Rep, Period> d, Predicate predicate)
    -> limited_request<Predicate> {
    return limited_request<Predicate>(*this, guard, detail::limit_of(d), std::move(predicate));
}
template <typename Clock, typename Duration, detail::predicate_or<condition_variable::any_change> Predicate>
auto condition_variable::wait_until(mutex::guard& guard, std::chrono::time_point<Clock, Duration> t,
                                    Predicate predicate) -> limited_request<Predicate> {
    return limited_request<Predicate>(*this, guard, detail::limit_of(t), std::move(predicate));
}

}  // namespace coflux
