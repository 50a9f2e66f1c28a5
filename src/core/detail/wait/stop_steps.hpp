// How a request for much is made in steps, so that no thread is kept from its queue for long.
//
// The page docs/design/stop.md has the protocol (In steps).
#pragma once

#include <coroutine>
#include <cstddef>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/core/fork.hpp>

#include "core/detail/wait/stop_walk.hpp"

namespace coflux::detail {

/// Goes on behind what is queued on the coroutine's executor. No stop point.
class [[nodiscard]] to_the_back {
public:
    explicit to_the_back(promise_base& p) noexcept : p_(p) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        (void)p_.begin_suspend();
        promise_base::clear_current();
        p_.runs_on()->post(h);
        return no_coroutine();
    }
    void await_resume() const noexcept { this_thread.current = &p_; }

private:
    promise_base& p_;
};

template <typename Steps>
fork<void> goes_on(environment&, Steps rest) {
    while (!rest.is_done()) {
        co_await request<to_the_back>();
        rest.step();
    }
}

/// True if a child of `to` may be made by this thread: a memory resource of the user may be for the threads of its
/// executor alone.
[[nodiscard]] bool can_leave_to_child_of(const environment& to) noexcept;

/// Leaves `rest` to a child of `to`, on the executor of that, which goes to the back of the queue before each step.
/// False if there is no executor, or no memory: then nothing has happened.
template <typename Steps>
[[nodiscard]] bool leave_to_child_of(environment& to, const Steps& rest) noexcept {
    if (!can_leave_to_child_of(to)) return false;
    try {
        goes_on(to, rest).attach();
        return true;
    } catch (...) {
        return false;
    }
}

/// Stops of many handles, which one operation requests. It keeps their frames, and does not end before all are
/// requested.
class many_stops {
public:
    /// Pre: there is one at least.
    many_stops(void* operation, const stop_calls& calls, std::size_t count) noexcept
        : operation_(operation),
          calls_(&calls),
          count_(count) {}

    /// Requests all of them. False if a child of `of`, which is suspended, does the rest and then calls go_on().
    /// Pre: the scope of `of` is open, where the handles are more than a step.
    [[nodiscard]] bool request(promise_base& of) noexcept {
        if (request_some()) return true;
        if (leave_to_child_of(of, *this)) return false;
        while (!is_done()) calls_->request(operation_, next_++);
        return true;
    }

    void step() noexcept {
        if (request_some()) calls_->go_on(operation_);
    }
    [[nodiscard]] bool is_done() const noexcept { return next_ == count_; }

private:
    bool request_some() noexcept {
        return request_in_step(
            this,
            [](void* self) noexcept {
                auto& of = *static_cast<many_stops*>(self);
                of.calls_->request(of.operation_, of.next_++);
                return !of.is_done();
            },
            longest_stop_step);
    }

    void* operation_;
    const stop_calls* calls_;
    std::size_t count_;
    std::size_t next_ = 0;
};

}  // namespace coflux::detail
