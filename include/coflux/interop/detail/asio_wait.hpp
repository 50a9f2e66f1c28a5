// The wait for an operation of Asio, without its types. The page docs/design/asio.md has its states.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

#include <boost/asio/cancellation_signal.hpp>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

class asio_wait;

/// The steps of a kind of operation. All may throw; `begin_on_io` and `cancel_on_io` then have given their step up.
struct asio_kind {
    wait_kind stops;
    void (*begin_on_io)(asio_wait& w);        // has begin_operation() called, on the I/O object's executor
    void (*initiate)(asio_wait& w);           // begins the operation
    void (*cancel_on_io)(asio_wait& w);       // has cancel_operation() called there
    void (*end_work)(asio_wait& w) noexcept;  // gives up its executors, and lets their context run out of work
};

/// A function of the wait, as Asio takes it. One that Asio drops is called with false.
template <auto Function>
class asio_step {
public:
    explicit asio_step(asio_wait& of) noexcept : of_(&of) {}
    asio_step(asio_step&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    asio_step& operator=(asio_step&&) = delete;
    ~asio_step() {
        if (of_ != nullptr) (of_->*Function)(false);
    }
    void operator()() { (std::exchange(of_, nullptr)->*Function)(true); }

private:
    asio_wait* of_;
};

/// The base of its awaiter.
class asio_wait : public wait_operation {
public:
    asio_wait(const asio_wait&) = delete;
    asio_wait& operator=(const asio_wait&) = delete;

    [[nodiscard]] boost::asio::cancellation_slot slot() noexcept { return signal_.slot(); }
    /// On the I/O object's executor. False: it will never run there.
    void begin_operation(bool runs) noexcept {
        if (!runs) {
            dropped_ = true;
            return leave(2 * party);  // the operation's, too
        }
        try {
            kind_.initiate(*this);
        } catch (...) {
            error_ = std::current_exception();
        }
        // acq_rel pairs with claim(): a request that came before is carried out here, a later one finds it begun.
        const std::uint32_t s = word_.fetch_or(begun, memory_order_acq_rel);
        if ((s & asked) != 0 && (s & ended) == 0) signal_.emit(boost::asio::cancellation_type::terminal);
        leave(party);
    }
    void cancel_operation(bool runs) noexcept {
        // acquire pairs with completed(), which leaves nothing to cancel.
        if (runs && (word_.load(memory_order_acquire) & ended) == 0)
            signal_.emit(boost::asio::cancellation_type::terminal);
        leave(party);
    }

protected:
    asio_wait(promise_base& p, const asio_kind& kind) noexcept : wait_operation(p, kind.stops), kind_(kind) {}
    ~asio_wait() { end_foreign_wait(); }

    std::coroutine_handle<> suspend() {
        promise_base& p = coroutine();
        if (p.begin_suspend() == suspension::stop) return p.stop_here();
        if (attempt_wait(*this, [this]() noexcept { return must_stop() ? wait_attempt::stop : wait_attempt::waits; }) ==
            wait_attempt::stop)
            return p.stop_here();
        if (driver_ = this_thread.driver; driver_ != nullptr) [[unlikely]]
            driver_->begin_foreign_wait(p);
        try {
            kind_.begin_on_io(*this);
        } catch (...) {  // the step is gone, and with it the operation
            end_foreign_wait();
            end();
            throw;
        }
        if (!is_last(party)) return suspended();  // this object may be gone
        end_on_io();
        if (!stops()) return transfer(p.handle());
        wait_operation::resumed();
        return p.stop_here();
    }
    /// First thing of await_resume.
    void resumed() noexcept {
        wait_operation::resumed();
        end_foreign_wait();
    }
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

    /// The end of the operation; after this the object may be gone.
    void completed(bool aborted) noexcept {
        aborted_ = aborted;
        leave(party - ended);
    }
    void failed(std::exception_ptr error) noexcept { error_ = std::move(error); }
    /// Asio has destroyed the handler.
    void dropped() noexcept {
        dropped_ = true;
        leave(party - ended);
    }

    static bool claim(wait_operation& waiting) noexcept {
        auto& self = static_cast<asio_wait&>(waiting);
        std::uint32_t s = self.word_.load(memory_order_relaxed);
        for (;;) {
            if ((s & ended) != 0) return false;
            const bool has_begun = (s & begun) != 0;
            const std::uint32_t next = (s | asked) + (has_begun ? 2 * party : 0);  // the stopper, and its step
            // acq_rel pairs with begin_operation(), completed() and is_last().
            if (!self.word_.compare_exchange_weak(s, next, memory_order_acq_rel, memory_order_relaxed)) continue;
            return has_begun;
        }
    }
    static void cancel(wait_operation& claimed) noexcept {
        auto& self = static_cast<asio_wait&>(claimed);
        try {
            self.kind_.cancel_on_io(self);
        } catch (...) {
            // No memory: the step has left in its destructor, and the operation is waited for.
        }
        self.leave(party);  // now, as Asio may use its context to the end of that
    }
    static constexpr wait_kind stops_as{&claim, &cancel, "an operation of Asio"};

private:
    void leave(std::uint32_t what) noexcept {
        if (!is_last(what)) return;
        end_on_io();
        if (!stops()) return wake();
        if (has_begun()) withdraw();
        stop_claimed(*this);
    }
    [[nodiscard]] bool is_last(std::uint32_t what) noexcept {
        // acq_rel: the last sees what the others have written.
        return (word_.fetch_sub(what, memory_order_acq_rel) - what) / party == 0;
    }
    /// Pre: the last. Where Asio's context dies, its destructor runs this: what is of the context goes before it is
    /// gone.
    void end_on_io() noexcept {
        signal_.slot().clear();  // it may have an executor
        kind_.end_work(*this);
    }
    /// Pre: the last.
    [[nodiscard]] bool stops() const noexcept {
        if (error_ != nullptr) return false;
        if (dropped_) return true;
        return aborted_ && ((word_.load(memory_order_relaxed) & asked) != 0 || must_stop());
    }
    void end_foreign_wait() noexcept {
        if (driver_ != nullptr) [[unlikely]]
            std::exchange(driver_, nullptr)->end_foreign_wait(coroutine());
    }

    // word_ | states
    // ------|------------------------------------------------------------------------------------------------------
    // ended | set once: the operation has completed, or was dropped
    // asked | a stop is requested, before the operation ended
    // begun | set once: its initiation has returned; from now on a stopper cancels it
    // above | how many may still touch the wait, from 3: its coroutine, the initiation, the operation; a stopper and
    // its
    //       | cancellation, which come together
    static constexpr std::uint32_t ended = 1;
    static constexpr std::uint32_t asked = 2;
    static constexpr std::uint32_t begun = 4;
    static constexpr std::uint32_t party = 8;
    atomic<std::uint32_t> word_{3 * party};
    const asio_kind& kind_;
    thread_driver* driver_ = nullptr;  // that knows that the coroutine waits here
    boost::asio::cancellation_signal signal_;
    std::exception_ptr error_;  // of the initiation, or of the values' copies
    bool aborted_ = false;
    bool dropped_ = false;
};

}  // namespace coflux::detail
