// A mutex with a planted fault, or none.
#pragma once

#include <coroutine>
#include <source_location>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux_test {

enum class mutex_fault {
    none,
    lets_two_in,       ///< an unlock while coroutines wait hands over, and also leaves it open
    last_come_first,   ///< the youngest waiter is served
    forgets_a_waiter,  ///< with two waiting, one of them is dropped from the queue and woken only by a stop
    stop_unlocks,      ///< a stop of a waiter unlocks it
};

/// All under one lock.
template <mutex_fault Fault>
class faulty_mutex {
    using wait_operation = coflux::detail::wait_operation;

public:
    class guard {
    public:
        guard() noexcept = default;
        explicit guard(faulty_mutex* of) noexcept : of_(of) {}
        guard(guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        guard& operator=(guard&& other) noexcept {
            std::swap(of_, other.of_);
            return *this;
        }
        ~guard() {
            if (of_ != nullptr) unlock();
        }
        [[nodiscard]] bool owns_lock() const noexcept { return of_ != nullptr; }
        void unlock() noexcept { std::exchange(of_, nullptr)->leave(); }

    private:
        faulty_mutex* of_ = nullptr;
    };

    class [[nodiscard]] awaiter : public wait_operation {
    public:
        awaiter(coflux::detail::promise_base& p, faulty_mutex& of) noexcept : wait_operation(p, kind), of_(of) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
            return coflux::detail::wait_in(of_.waiters_, *this, [this] {
                const bool entered = of_.enter();
                waited_ = !entered;
                return entered;
            });
        }
        guard await_resume() noexcept {
            if (waited_) end();
            return guard(&of_);
        }

    private:
        static bool claim(wait_operation& w) noexcept {
            faulty_mutex& of = static_cast<awaiter&>(w).of_;
            const coflux::detail::adaptive_guard section(of.waiters_.lock);
            const bool waits = of.waiters_.queue.remove(w) || of.forgotten_ == &w;
            if (of.forgotten_ == &w) of.forgotten_ = nullptr;
            if (Fault == mutex_fault::stop_unlocks && waits) of.locked_ = false;
            return waits;
        }
        static constexpr coflux::detail::wait_kind kind{&claim, &wait_operation::stop_claimed};

        faulty_mutex& of_;
        bool waited_ = false;
    };
    struct [[nodiscard]] request {
        faulty_mutex& of;
        awaiter await_in(coflux::detail::promise_base& p, std::source_location) const noexcept {
            return awaiter(p, of);
        }
    };

    request lock() noexcept { return {*this}; }
    guard try_lock() noexcept {
        const coflux::detail::adaptive_guard section(waiters_.lock);
        return guard(enter() ? this : nullptr);
    }

private:
    bool enter() noexcept { return !std::exchange(locked_, true); }
    void leave() noexcept {
        wait_operation* next = nullptr;
        {
            const coflux::detail::adaptive_guard section(waiters_.lock);
            if (Fault == mutex_fault::forgets_a_waiter && forgotten_ == nullptr && !waiters_.queue.empty() &&
                waiters_.queue.front()->next != nullptr)
                forgotten_ = waiters_.queue.pop_front();
            next = waiters_.queue.front();
            if (Fault == mutex_fault::last_come_first && next != nullptr) {
                while (next->next != nullptr) next = next->next;
            }
            if (next != nullptr) waiters_.queue.remove(*next);
            if (next == nullptr || Fault == mutex_fault::lets_two_in) locked_ = false;
        }
        if (next != nullptr) next->wake();
    }

    bool locked_ = false;
    wait_operation* forgotten_ = nullptr;
    coflux::detail::wait_list waiters_;
};

}  // namespace coflux_test
