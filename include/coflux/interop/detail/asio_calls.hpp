// The functions of Asio that an executor of Coflux was given and that have not ended. docs/design/asio.md: their end.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <coflux/base/assert.hpp>

namespace coflux::detail {

/// A function in its frame. Its context's lock guards all but the function.
struct asio_call {
    enum class place : std::uint8_t { listed, being_destroyed, destroyed };

    void (*destroy_function)(asio_call& of) noexcept;
    asio_call* previous = nullptr;
    asio_call* next = nullptr;
    place where = place::listed;
};
template <typename F>
struct asio_call_of : asio_call {
    explicit asio_call_of(F f)
        : asio_call{[](asio_call& of) noexcept { static_cast<asio_call_of&>(of).function.reset(); }},
          function(std::move(f)) {}
    std::optional<F> function;
};

/// Those of one context. The calls share it: one that the executor runs when the context is gone finds itself destroyed.
class asio_calls {
public:
    /// False: the context ends, and takes no more.
    [[nodiscard]] bool take(asio_call& c) noexcept {
        const std::scoped_lock guard(lock_);
        if (is_closed_) return false;
        c.next = first_;
        if (first_ != nullptr) first_->previous = &c;
        first_ = &c;
        return true;
    }
    /// On the executor. False: the function is destroyed. True: end() has to follow when it is.
    [[nodiscard]] bool begin(asio_call& c) noexcept {
        std::unique_lock guard(lock_);
        if (c.where == asio_call::place::listed) {
            unlink(c);
            ++running_;
            return true;
        }
        changed_.wait(guard, [&c] { return c.where == asio_call::place::destroyed; });
        return false;
    }
    void end() noexcept {
        const std::scoped_lock guard(lock_);
        if (--running_ == 0 && is_closed_) changed_.notify_all();
    }
    /// Destroys the functions that have not begun, and returns when those that have begun have ended.
    void close() noexcept {
        COFLUX_VERIFY(running_here != this,
                      "an asio_context dies in a function that its executor runs: destroy it elsewhere");
        std::unique_lock guard(lock_);
        is_closed_ = true;
        while (first_ != nullptr) {
            asio_call& c = *first_;
            unlink(c);
            c.where = asio_call::place::being_destroyed;  // so that its frame waits
            guard.unlock();
            c.destroy_function(c);
            guard.lock();
            c.where = asio_call::place::destroyed;
            changed_.notify_all();
        }
        changed_.wait(guard, [this] { return running_ == 0; });
    }

    /// Whose function this thread runs.
    static inline constinit thread_local const asio_calls* running_here = nullptr;

private:
    void unlink(asio_call& c) noexcept {
        (c.previous != nullptr ? c.previous->next : first_) = c.next;
        if (c.next != nullptr) c.next->previous = c.previous;
    }

    std::mutex lock_;
    std::condition_variable changed_;
    asio_call* first_ = nullptr;
    std::size_t running_ = 0;
    bool is_closed_ = false;
};

/// A call as what an executor takes: a coroutine of its own, which frees itself.
struct asio_call_frame {
    struct promise_type {
        template <typename F>
        promise_type(const std::shared_ptr<asio_calls>& /*all*/, asio_call_of<F>& c) noexcept : call(c) {}
        asio_call_frame get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

        asio_call& call;  // the parameter's copy in the frame
    };
    std::coroutine_handle<promise_type> handle;
};
template <typename F>
asio_call_frame run_asio_call(std::shared_ptr<asio_calls> all, asio_call_of<F> c) {
    if (!all->begin(c)) co_return;
    const asio_calls* const outer = std::exchange(asio_calls::running_here, all.get());
    std::move (*c.function)();
    c.function.reset();
    asio_calls::running_here = outer;
    all->end();
}

}  // namespace coflux::detail
