// semaphore: a number of permits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/permit_count.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux {

/// Permits that coroutines acquire and release: `auto permit = co_await s.acquire_guard();` First come, first served: a
/// request for many is not overtaken by later ones for few, even where there would be enough for those.
///
/// Threads: all members from any.
/// Costs: two locked instructions for an acquire and a release while there are no waiters; never an allocation.
/// Lifetime: outlives its permits and its waiters; the destructor checks the latter.
class semaphore : private detail::permit_count {
    class acquire_awaiter;
    class guard_awaiter;
    template <typename Awaiter>
    using request = detail::request<Awaiter, semaphore&, std::size_t>;

public:
    /// Pre: `available` is below 2^62, and remains so.
    constexpr explicit semaphore(std::size_t available) noexcept : permit_count(available) {}
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;
    ~semaphore() { COFLUX_VERIFY(!is_awaited(), "a semaphore was destroyed while coroutines wait for it"); }

    class permit;

    /// `co_await acquire(n)`: takes `n` permits; `release(n)` releases them.
    ///
    /// Returns: nothing.
    /// Resumes: on the coroutine's executor, in the order in which they came.
    /// Errors: std::bad_alloc in the first wait ever of a coroutine; then it has not waited.
    /// Stops: a stop point where it must wait; a coroutine that is stopped has taken nothing, and those behind it move
    /// up.
    [[nodiscard("nothing is acquired until this is awaited: co_await it")]] request<acquire_awaiter>
    acquire(std::size_t n = 1) noexcept {
        return request<acquire_awaiter>(*this, n);
    }
    /// `co_await acquire_guard(n)`: acquire(n) as a `permit`, which releases them.
    [[nodiscard("nothing is acquired until this is awaited: co_await it")]] request<guard_awaiter>
    acquire_guard(std::size_t n = 1) noexcept {
        return request<guard_awaiter>(*this, n);
    }

    /// Takes `n` permits if that many are free and there are no waiters.
    [[nodiscard]] COFLUX_INLINE bool try_acquire(std::size_t n = 1) noexcept { return permit_count::try_acquire(n); }
    /// try_acquire() as a permit, which owns nothing if that failed.
    [[nodiscard]] permit try_acquire_guard(std::size_t n = 1) noexcept;

    /// Gives `n` permits back, or new ones. The waiters that now have enough are queued on their executors.
    COFLUX_INLINE void release(std::size_t n = 1) noexcept { (void)permit_count::release(n); }

    /// How many there are now, which may be past before it is looked at.
    [[nodiscard]] std::size_t available() const noexcept { return free(); }

private:
    friend class detail::list_wait<semaphore>;
    friend class detail::lazy_wait<semaphore>;
    friend class detail::lock_wait<semaphore>;
    static constexpr const char* waits_for = "a semaphore";

    permit owned(std::size_t n) noexcept;
};

/// Owns permits of a semaphore, or none; releases them in its destructor or by `release()`, on any thread.
class [[nodiscard("the permits are given back at once: keep the permit")]] semaphore::permit {
public:
    /// Owns nothing.
    permit() noexcept = default;
    permit(permit&& other) noexcept : of_(std::exchange(other.of_, nullptr)), count_(other.count_) {}
    permit& operator=(permit&& other) noexcept {
        permit taken(std::move(other));
        std::swap(of_, taken.of_);
        std::swap(count_, taken.count_);
        return *this;
    }
    COFLUX_INLINE ~permit() {
        if (of_ != nullptr) of_->release(count_);
    }

    /// How many it owns.
    [[nodiscard]] std::size_t count() const noexcept { return of_ != nullptr ? count_ : 0; }
    /// True if it owns what was asked for, which may be no permit.
    explicit operator bool() const noexcept { return of_ != nullptr; }
    /// Gives them back before it dies.
    void release() noexcept {
        COFLUX_VERIFY(of_ != nullptr, "release() of a permit that owns nothing");
        std::exchange(of_, nullptr)->release(count_);
    }

private:
    friend class semaphore;
    void keep() noexcept { of_ = nullptr; }
    COFLUX_INLINE permit(semaphore* of, std::size_t count) noexcept : of_(of), count_(count) {}

    semaphore* of_ = nullptr;
    std::size_t count_ = 0;
};

class [[nodiscard]] semaphore::acquire_awaiter : detail::lock_wait<semaphore> {
public:
    COFLUX_INLINE acquire_awaiter(semaphore& of, std::size_t n) noexcept : of_(of), count_(n) {}
    COFLUX_INLINE ~acquire_awaiter() {
        if (is_unresumed()) of_.release(count_);
    }
    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept {
        semaphore& of = of_;  // not read again after may_try()
        const std::size_t n = count_;
        return may_try() && taken_if(of.try_acquire(n));
    }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        return wait(h.promise(), of_, want{.count = count_});
    }
    COFLUX_INLINE void await_resume() noexcept { (void)resumed(); }
    using has_two_steps = acquire_awaiter;
    static auto claim(semaphore& of, std::size_t n) noexcept { return request<guard_awaiter>(of, n); }
    static void finish(permit taken, semaphore&, std::size_t) noexcept { taken.keep(); }

protected:
    semaphore& of_;
    const std::size_t count_;
};

class [[nodiscard]] semaphore::guard_awaiter : public acquire_awaiter {
public:
    using acquire_awaiter::acquire_awaiter;
    COFLUX_INLINE permit await_resume() noexcept {
        acquire_awaiter::await_resume();
        return of_.owned(count_);
    }
};

inline semaphore::permit semaphore::try_acquire_guard(std::size_t n) noexcept {
    return permit(try_acquire(n) ? this : nullptr, n);
}
COFLUX_INLINE semaphore::permit semaphore::owned(std::size_t n) noexcept {
    return permit(this, n);
}

extern template class detail::list_wait<semaphore>;

}  // namespace coflux
