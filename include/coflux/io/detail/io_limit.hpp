// The limit of an operation of I/O: a timer in its awaiter. The page docs/design/io.md has the protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/timer_queue.hpp>
#include <coflux/time/limited.hpp>

namespace coflux::detail {

class io_operation;

/// Ends the wait of an operation at a moment. It takes it out as a stop would; what is tried at that moment counts.
class io_limit : private deferred_timer {
public:
    io_limit(io_operation& op, limit_time end) noexcept : deferred_timer(how_it_ends, end), op_(op) {}
    io_limit(const io_limit&) = delete;
    io_limit& operator=(const io_limit&) = delete;
    ~io_limit() { disarm(); }

    /// The time was up before the operation ended. The coroutine's thread, after its wait.
    [[nodiscard]] bool is_over() const noexcept { return is_over_; }
    /// Where it waits, asked under the lock of that: it must not go on to wait.
    [[nodiscard]] bool has_come() const noexcept {
        return has_come_.load(memory_order_relaxed);  // stored before the limit takes that lock
    }
    /// It does not wait any more because has_come().
    void set_over() noexcept { is_over_ = true; }

    /// Before the wait begins: chooses where to be armed. False: the time is up.
    /// Errors: as sleep_for().
    [[nodiscard]] bool prepare(promise_base& p);
    /// After begin() of the wait, and before it is anywhere.
    void arm() noexcept;
    /// From now on it does nothing.
    void disarm() noexcept {
        if (is_armed_) [[unlikely]]
            disarm_now();
    }

private:
    void disarm_now() noexcept;
    static void come_due(timer& t) noexcept;
    static const environment& whose(const timer& t) noexcept;
    static const timer_kind how_it_ends;

    io_operation& op_;
    bool is_armed_ = false;          // or deferred
    bool is_over_ = false;           // written by the thread that then wakes the coroutine
    atomic<bool> has_come_{false};   // set before the limit looks for the operation
    atomic<bool> has_acted_{false};  // true: the limit touches nothing any more (release)
};

/// The await of a limited operation.
template <typename Operation>
class [[nodiscard]] limited_awaiter : public Operation {
    using value = decltype(std::declval<Operation&>().await_resume());

public:
    using single_use = void;

    template <typename... Args>
    limited_awaiter(promise_base& p, limit_time end, Args&... args) : Operation(p, args...),
                                                                      limit_(*this, end) {
        this->limit_by(limit_);
    }

    limited<value> await_resume() {
        // Data that is there by now counts; the operation may not have been tried yet.
        if (limit_.is_over() && !this->attempt()) {
            this->resumed();
            return std::nullopt;
        }
        if constexpr (std::is_void_v<value>) {
            Operation::await_resume();
            return limited<void>(std::in_place);
        } else {
            return limited<value>(std::in_place, Operation::await_resume());
        }
    }

private:
    io_limit limit_;
};

}  // namespace coflux::detail
