// The smallest primitive that waits: opened once, from any thread. Tests of the core wait in it.
#pragma once

#include <coroutine>
#include <functional>
#include <source_location>

#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux_test {

class gate {
public:
    gate() = default;
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;

    class [[nodiscard]] awaiter : public coflux::detail::wait_operation {
    public:
        awaiter(coflux::detail::promise_base& p, gate& of) noexcept : wait_operation(p, kind), of_(of) {}

        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
            coflux::detail::promise_base& p = coroutine();
            if (p.begin_suspend() == coflux::detail::suspension::stop) return p.stop_here();
            begin();
            if (of_.before_queueing) of_.before_queueing();
            of_.lock_.lock();
            if (of_.open_) {
                of_.lock_.unlock();
                end();
                return coflux::detail::transfer(p.handle());
            }
            if (must_stop()) {
                of_.lock_.unlock();
                end();
                return p.stop_here();
            }
            waited_ = true;
            of_.waiters_.push_back(*this);
            of_.lock_.unlock();
            return suspended();
        }
        void await_resume() noexcept {
            if (waited_) end();
        }

    private:
        static bool claim(wait_operation& waiting) noexcept {
            gate& of = static_cast<awaiter&>(waiting).of_;
            const coflux::detail::adaptive_guard guard(of.lock_);
            return of.waiters_.remove(waiting);
        }
        static constexpr coflux::detail::wait_kind kind{&claim, &stop_claimed, "a gate"};

        gate& of_;
        bool waited_ = false;
    };

    struct [[nodiscard]] request {
        gate& of;
        awaiter await_in(coflux::detail::promise_base& p, std::source_location) const noexcept {
            return awaiter(p, of);
        }
    };
    /// Called when a wait is published and not yet queued.
    std::function<void()> before_queueing;

    /// Waits until the gate is open. Stops: loses nothing.
    request wait() noexcept { return {*this}; }

    void open() noexcept {
        lock_.lock();
        open_ = true;
        coflux::detail::wait_operation* const all = waiters_.take_all();
        lock_.unlock();
        wake_all(all);
    }
    /// Lets the first through, if there is one.
    bool let_one() noexcept {
        lock_.lock();
        coflux::detail::wait_operation* const first = waiters_.pop_front();
        lock_.unlock();
        if (first != nullptr) first->wake();
        return first != nullptr;
    }
    [[nodiscard]] bool has_waiter() noexcept {
        const coflux::detail::adaptive_guard guard(lock_);
        return !waiters_.empty();
    }

private:
    coflux::detail::adaptive_lock lock_;
    coflux::detail::wait_queue waiters_;
    bool open_ = false;
};

}  // namespace coflux_test
