// Where coroutines wait for a primitive: a list under a lock, and the one order in which all join it.
//
// The page docs/design/sync.md has the rules that all primitives keep.
#pragma once

#include <coroutine>
#include <cstdint>
#include <new>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

/// First in, first out: the waits at one primitive. Guarded by the primitive's lock.
using wait_queue = intrusive_queue<wait_operation>;

/// Wakes a chain that take_all() gave, in order. Without the primitive's lock.
inline void wake_all(wait_operation* chain) noexcept {
    while (chain != nullptr) {
        wait_operation* const w = chain;
        chain = w->next;  // before it is woken: then it may be gone
        w->wake();
    }
}

/// The waiters of one primitive.
struct wait_list {
    adaptive_lock lock;  // guards `queue`, and what the primitive says
    wait_queue queue;    //
};

/// Waits that were taken out under the lock and are woken without it, in order.
class wait_chain {
public:
    void add(wait_operation& w) noexcept { waits_.push_back(w); }
    /// Pre: the list's lock is held.
    void add_all(wait_queue& from) noexcept {
        while (wait_operation* const w = from.pop_front()) add(*w);
    }
    void wake() const noexcept { wake_all(waits_.front()); }

private:
    intrusive_chain<wait_operation> waits_;
};

/// How a wait enters a queue under a lock. `ready()` is asked under the lock: true if there is nothing to wait for any
/// more; else it has made sure that the side that changes that looks into the queue, and the operation waits.
/// Shapes: `Lock` has lock() and unlock(), `Queue` takes the `Operation`, a wait_operation, by push_back().
template <typename Lock, typename Queue, typename Operation, typename Ready>
COFLUX_INLINE wait_attempt enter_queue(Lock& lock, Queue& queue, Operation& w, Ready ready) noexcept {
    lock.lock();
    const bool stops = w.must_stop();
    if (stops || ready()) {
        lock.unlock();
        return stops ? wait_attempt::stop : wait_attempt::ready;
    }
    queue.push_back(w);
    lock.unlock();
    return wait_attempt::waits;
}
template <typename Lock, typename Queue, typename Operation, typename Ready>
COFLUX_INLINE wait_attempt try_to_queue(Lock& lock, Queue& queue, Operation& w, Ready ready) {
    return attempt_wait(w, [&]() noexcept { return enter_queue(lock, queue, w, ready); });
}
/// try_to_queue() for a coroutine that is about to suspend: gives what await_suspend returns.
template <typename Lock, typename Queue, typename Operation, typename Ready>
COFLUX_INLINE std::coroutine_handle<> wait_in(Lock& lock, Queue& queue, Operation& w, Ready ready) {
    return wait_by(w, [&]() noexcept { return enter_queue(lock, queue, w, ready); });
}
template <typename Ready>
std::coroutine_handle<> wait_in(wait_list& list, wait_operation& w, Ready ready) {
    return wait_in(list.lock, list.queue, w, ready);
}

/// How far an await is that makes its wait only if it has to.
enum class wait_progress : std::uint8_t {
    none,            ///< it has nothing: it has not begun, was stopped before it waited, or is over
    ready,           ///< there was nothing to wait for
    waited,          ///< the wait knows
    let_others_run,  ///< there was nothing to wait for, and the round was over
    tries_later      ///< the round was over before it was tried
};

/// A wait for something of which there may not be enough: what it wants, a `Want`.
template <typename Want>
class wanting : public wait_operation {
public:
    /// Guarded by the lock of the list.
    [[no_unique_address]] Want wants;

protected:
    wanting(promise_base& p, const wait_kind& kind, Want w) noexcept : wait_operation(p, kind), wants(w) {}
    ~wanting() = default;
};

/// A wait in the list of a primitive.
///
/// Shapes: `Primitive` has, for this class: `wait_list waiters_`; a type `want`; `ready_or_mark(want&)`, as `ready` of
/// enter_queue(); `unmark()`, called under the lock when a stop has taken the last waiter; `waits_for`, the words of
/// wait_kind::what. Where a waiter that is stopped may have kept other waiters from being served, it also has
/// `serve_next()`, called without the lock. Where it knows its holder, it has `holder_at`, as wait_kind::holder_at.
template <typename Primitive>
class list_wait final : public wanting<typename Primitive::want> {
public:
    list_wait(promise_base& p, Primitive& of, typename Primitive::want w) noexcept
        : wanting<typename Primitive::want>(p, kind, w),
          of_(of) {}

    using wait_operation::is_unresumed;

    /// The result for await_suspend. `at` changes under the list's lock, unless the coroutine is stopped.
    std::coroutine_handle<> suspend(wait_progress& at) {
        return wait_in(of_.waiters_, *this, [this, &at]() noexcept {
            const bool is_ready = of_.ready_or_mark(this->wants);
            at = is_ready ? wait_progress::ready : wait_progress::waited;
            return is_ready;
        });
    }

private:
    static consteval std::size_t holder_at() noexcept {
        if constexpr (requires { Primitive::holder_at; }) {
            return Primitive::holder_at;
        } else {
            return wait_kind::no_holder;
        }
    }
    static bool claim(wait_operation& w) noexcept {
        Primitive& of = static_cast<list_wait&>(w).of_;
        const adaptive_guard guard(of.waiters_.lock);
        if (!of.waiters_.queue.remove(w)) return false;
        // [permits.stop.unmarks]
        if (of.waiters_.queue.empty()) of.unmark();
        return true;
    }
    static void stop(wait_operation& w) noexcept {
        if constexpr (requires(Primitive& of) { of.serve_next(); }) static_cast<list_wait&>(w).of_.serve_next();
        wait_operation::stop_claimed(w);
    }
    static constexpr wait_kind kind{.claim = &claim,
                                    .stop = &stop,
                                    .what = Primitive::waits_for,
                                    .of_at = sizeof(wanting<typename Primitive::want>),
                                    .queued_at = wait_operation::previous_at,
                                    .holder_at = holder_at()};

    Primitive& of_;  // first, as of_at says
};

/// The wish of a waiter at a primitive that gives each waiter the same thing.
struct anything {};

template <typename Primitive>
class lock_wait;

/// Base of an awaiter whose node in the list is made only when it has to wait: an await that is ready pays for one
/// flag.
template <typename Primitive>
class lazy_wait {
public:
    lazy_wait(const lazy_wait&) = delete;
    lazy_wait& operator=(const lazy_wait&) = delete;

protected:
    using node = list_wait<Primitive>;
    using want = typename Primitive::want;

    COFLUX_INLINE lazy_wait() noexcept {}  // NOLINT(modernize-use-equals-default): the union has no value yet
    COFLUX_INLINE ~lazy_wait() { (void)is_unresumed(); }

    /// The result for await_ready; `taken` is true if the operation has been done.
    [[nodiscard]] COFLUX_INLINE bool ready_if(bool taken) noexcept {
        if (!taken) return false;
        if (!goes_on()) [[unlikely]] {
            progress_ = wait_progress::let_others_run;
            return false;
        }
        return note_taken();
    }
    /// The result for await_suspend.
    std::coroutine_handle<> wait(promise_base& p, Primitive& of, want wants = {}) {
        if (progress_ == wait_progress::let_others_run) [[unlikely]] {
            coroutine_ = &p;
            return detail::let_others_run(p);
        }
        return (::new (static_cast<void*>(&node_)) node(p, of, wants))->suspend(progress_);
    }
    /// First thing of await_resume; true if the coroutine has waited.
    COFLUX_INLINE bool resumed() noexcept {
        const wait_progress progress = progress_;
        if (progress >= wait_progress::waited) [[unlikely]] {
            if (progress == wait_progress::waited) {
                node_.end();
            } else {
                this_thread.current = coroutine_;
            }
        }
        if constexpr (COFLUX_LATE_RESULTS) progress_ = wait_progress::none;
        return progress == wait_progress::waited;
    }
    /// For destructors, as wait_operation::is_unresumed(): true if the operation has been done, and resumed() was not
    /// called. The destructor releases what it took.
    COFLUX_INLINE bool is_unresumed() noexcept {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (progress_ != wait_progress::none) [[unlikely]]
                return progress_ != wait_progress::waited || node_.is_unresumed();
        }
        return false;
    }
    /// Its wish, with the outcome in it. Pre: wait() was called.
    [[nodiscard]] const want& wanted() const noexcept { return node_.wants; }

private:
    friend class lock_wait<Primitive>;

    struct later_try : turn_frame {
        lock_wait<Primitive>& awaiter;
        Primitive& of;
        want wants;
    };

    COFLUX_INLINE bool note_taken() noexcept {
        if constexpr (COFLUX_LATE_RESULTS) progress_ = wait_progress::ready;
        return true;
    }

    wait_progress progress_ = wait_progress::none;
    union {
        node node_;
        promise_base* coroutine_;  // that lets others run
        later_try later_;
    };
};

/// lazy_wait for what keeps others out, as a lock does. Where the round is over it lets them run before it is tried: a
/// lock that was held meanwhile would be waited for by all that run, and handed from each to the next from then on.
///
/// Where others wait for it already, it waits behind them at once: that ends its step, too.
///
/// Shapes: `Primitive` also has `take_now(want)`, true if the operation has been done, and `is_awaited()`, true if
/// coroutines waited a moment ago.
template <typename Primitive>
class lock_wait : protected lazy_wait<Primitive> {
    using base = lazy_wait<Primitive>;

protected:
    using typename base::want;

    /// The first question of await_ready, which then returns taken_if().
    [[nodiscard]] COFLUX_INLINE bool may_try() noexcept {
        if (goes_on()) [[likely]]
            return true;
        base::progress_ = wait_progress::tries_later;
        return false;
    }
    COFLUX_INLINE bool taken_if(bool taken) noexcept { return taken && base::note_taken(); }
    /// The result for await_suspend.
    std::coroutine_handle<> wait(promise_base& p, Primitive& of, want wants = {}) {
        if (base::progress_ == wait_progress::tries_later) [[unlikely]]
            return try_later(p, of, wants);
        return base::wait(p, of, wants);
    }

private:
    COFLUX_COLD std::coroutine_handle<> try_later(promise_base& p, Primitive& of, want wants) {
        base::progress_ = wait_progress::none;
        // [lock_wait.behind_waiters]
        if (of.is_awaited()) return base::wait(p, of, wants);
        make_record(p, of, wants);
        (void)p.begin_suspend();  // a stop is looked for where it must wait
        if (p.runs_on() == nullptr) return take_or_wait(p, of, wants);
        auto& later = *::new (static_cast<void*>(&this->later_))
                          typename base::later_try{{p, &lock_wait::come}, *this, of, wants};
        return suspend_behind_ready(p, later.handle());
    }
    /// A wait that begins when the coroutine has suspended must not fail.
    void make_record(promise_base& p, Primitive& of, want wants) {
        typename base::node first(p, of, wants);
        first.begin();
        first.end();
    }
    std::coroutine_handle<> take_or_wait(promise_base& p, Primitive& of, want wants) {
        if (!of.take_now(wants)) return base::wait(p, of, wants);
        base::progress_ = wait_progress::let_others_run;
        this->coroutine_ = &p;
        return transfer(p.handle());
    }
    static void come(turn_frame& turn) noexcept {
        const auto later = static_cast<typename base::later_try&>(turn);
        run_next(later.awaiter.take_or_wait(*later.coroutine, later.of, later.wants));
    }
};

}  // namespace coflux::detail
