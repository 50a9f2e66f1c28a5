// How a coroutine waits for something that is no coroutine: a lock, a slot of a channel, a moment in time. All such
// waits begin in attempt_wait(), and end in wait_operation::resumed() or as stopped.
//
// The page docs/design/stop.md has the protocol (The door of all waits): how a stop request finds the waiters, and why
// none is missed.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/config.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/transfer.hpp>

namespace coflux::detail {

class wait_operation;

/// How a stop request ends a kind of wait. Called on the thread that requests the stop.
struct wait_kind {
    /// Takes the operation out of what it waits in: true if it was waiting there, and then only the stopper wakes it.
    /// False if it was woken already (what has completed stays completed), or if it has not begun to wait and will see
    /// the request itself. Called under locks of the stop tree: calls no code of users and resumes no coroutine.
    bool (*claim)(wait_operation& waiting) noexcept;
    /// Called for what was claimed, without locks. It ends with the coroutine resumed, as stopped in
    /// general: &wait_operation::stop_claimed.
    void (*stop)(wait_operation& claimed) noexcept;
    /// The thing that is waited for, in messages: "a mutex". nullptr: nothing; the operation only hears of a stop.
    const char* what = "something";
    /// Called for a wait whose coroutine no executor runs, once it was taken from the list of woken waits. nullptr:
    /// nothing is called.
    void (*taken)(wait_operation& woken) noexcept = nullptr;
    // A reader of the memory, which looks on from outside, asks the rest:
    /// Where in the operation, in bytes, the address of the thing is that is waited for; 0: it has none.
    std::size_t of_at = 0;
    /// Where in the operation a pointer is that is null unless a waker can find the operation; 0: it has none.
    std::size_t queued_at = 0;
    /// Where in the thing the word is that names its holder: a promise in all but the two low bits, or null.
    std::size_t holder_at = no_holder;

    static constexpr std::size_t no_holder = ~std::size_t{0};
};

class wait_operation;

/// The links of a wait in the record of its coroutine.
struct published_links {
    [[nodiscard]] static COFLUX_INLINE wait_operation*& next(wait_operation& of) noexcept;
    [[nodiscard]] static COFLUX_INLINE wait_operation*& previous(wait_operation& of) noexcept;
};

/// The waits in and below one coroutine that is no call, or one environment object. It exists from the first wait in or
/// below on, until the coroutine or the object ends.
struct wait_record {
    adaptive_lock lock;  // guards `asked`, `waiting`, `below`, and the links of what is in them
    bool asked = false;  // a request has come here, and goes on to all below
    intrusive_list<wait_operation, published_links> waiting;  // of the coroutine, and of calls made in it
    intrusive_list<wait_record> below;                        // records of children
    wait_record* above = nullptr;     // nullptr: the record of a root environment; set before it is published
    wait_record* next = nullptr;      // among the records below one record
    wait_record* previous = nullptr;  //
    environment* of;                  //
    failure* failures = nullptr;      // what environment::failures_ held

    explicit wait_record(environment& e) noexcept : of(&e) {}
};

/// One wait of one coroutine; the base of its awaiter.
///
///     begin, [primitive's lock: must_stop, queue], suspended  →  a waker dequeues it, wake   →  end
///                                                             →  a stop request claims it  →  stopped; no end
///
/// Threads: the coroutine's own, but for wake().
/// Lifetime: after the coroutine was woken it may be gone.
class wait_operation {
public:
    wait_operation(const wait_operation&) = delete;
    wait_operation& operator=(const wait_operation&) = delete;

    [[nodiscard]] COFLUX_INLINE promise_base& coroutine() const noexcept { return *coroutine_; }
    [[nodiscard]] const wait_kind& kind() const noexcept { return *kind_; }

    /// From now on a stop request finds this wait. Before it is queued anywhere.
    /// Errors: std::bad_alloc in the first wait of a coroutine; then nothing has happened.
    void begin();

    /// True if a stop has been requested: then it must not be queued, but end() and stop_here(). After begin(), under
    /// the lock that claim() takes, so that a request is either seen here or finds the operation queued.
    /// Pre: begun, and not ended.
    [[nodiscard]] COFLUX_INLINE bool must_stop() const noexcept {
        // acquire pairs with the walk, which marks the record's environment before it claims what is in the record.
        // [stop.must_stop.mark]
        return (record_->of->marks_.load(memory_order_acquire) & environment::stop_asked) != 0 ||
               coroutine_->is_stop_requested();  // a call may be stopped without the coroutine that has the record
    }

    /// The result for await_suspend when the operation is queued, and may be gone by now.
    [[nodiscard]] static COFLUX_INLINE std::coroutine_handle<> suspended() noexcept {
        const bool inside_creator = this_thread.below != nullptr;
        promise_base::clear_current();
        worker* const w = this_thread.queues;
        // The coroutine below on this stack goes on: a creator, or an awaiter.
        if (w == nullptr || inside_creator || this_thread.nested_limit >= nested_closed) [[unlikely]]
            return no_coroutine();
        return transfer(w->next_ready());
    }

    /// Queues the coroutine on its own executor; never runs it here. After it was dequeued, and without the lock. The
    /// operation may be gone when this returns.
    COFLUX_INLINE void wake() noexcept {
        promise_base& p = *coroutine_;
        const executor_entry* const own = p.runs_on();
        worker* const w = this_thread.queues;
        if (own == nullptr || w == nullptr || w->executor() != own->identity) [[unlikely]]
            return wake_elsewhere();
        w->push_ready(p.handle());
    }

    /// The wait is over: no other thread touches the operation any more. The coroutine runs.
    COFLUX_INLINE void end() noexcept {
        withdraw();
        this_thread.current = coroutine_;
    }
    /// First thing of await_resume, where an await may have gone on without a wait: end(), if it waited.
    COFLUX_INLINE void resumed() noexcept {
        if (has_begun()) withdraw();
        this_thread.current = coroutine_;
    }
    /// It is published: begin() was called, and neither end() nor a stop request has taken it out.
    /// Threads: the coroutine's; others while they have claimed it.
    [[nodiscard]] COFLUX_INLINE bool has_begun() const noexcept { return record_ != nullptr; }
    /// Ends the wait of a coroutine that may not come to its end(), because it is woken to stop. Called by the waker.
    COFLUX_INLINE void withdraw() noexcept {
        const adaptive_guard guard(record_->lock);  // waits for a stop request that looks at the operation
        unpublish();
    }

    /// wait_kind::stop for most: the coroutine is resumed as stopped, on its own executor.
    static void stop_claimed(wait_operation& claimed) noexcept;

    /// Links in what it waits in; see wait_queue. The stopper's, once it is claimed.
    wait_operation* next = nullptr;
    wait_operation* previous = nullptr;
    /// wait_kind::queued_at of those that wait in a wait_queue.
    static constexpr std::size_t previous_at = sizeof(void*);

protected:
    /// While it waits: what end() touches, into the cache.
    void prefetch_record() const noexcept { __builtin_prefetch(record_); }

    COFLUX_INLINE wait_operation(promise_base& p, const wait_kind& kind) noexcept : coroutine_(&p), kind_(&kind) {}
    ~wait_operation() { (void)is_unresumed(); }

    /// For destructors. Where results are taken late (COFLUX_LATE_RESULTS), an await that was completed may end here
    /// because another one of its expression threw or was stopped. True, once, for one that was woken and did
    /// not come to its end(): it is withdrawn, and has what it waited for.
    COFLUX_INLINE bool is_unresumed() noexcept {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (record_ != nullptr) [[unlikely]] {
                withdraw_left();
                return true;
            }
        }
        return false;
    }

private:
    friend struct stop_walk;
    friend struct layout_access;
    friend class wait_records;
    friend void for_each_wait(wait_record& root, void (*f)(wait_operation& w, void* context), void* context);

    void wake_elsewhere() noexcept;
    COFLUX_COLD void withdraw_left() noexcept;
    COFLUX_INLINE void unpublish() noexcept {
        record_->waiting.remove(*this);
        record_ = nullptr;
    }
    /// Its record ends before it: no request finds it any more.
    void detach_from_record() noexcept {
        unpublish();
        record_ = no_record();
    }
    [[nodiscard]] wait_record* no_record() noexcept { return reinterpret_cast<wait_record*>(this); }

    promise_base* coroutine_;
    const wait_kind* kind_;
    wait_record* record_ = nullptr;
    friend struct published_links;
    wait_operation* published_next_;  // in record_->waiting
    wait_operation* published_previous_;
};

COFLUX_INLINE wait_operation*& published_links::next(wait_operation& of) noexcept {
    return of.published_next_;
}
COFLUX_INLINE wait_operation*& published_links::previous(wait_operation& of) noexcept {
    return of.published_previous_;
}

/// How an attempt to wait went.
enum class wait_attempt : std::uint8_t {
    ready,  ///< nothing to wait for: the wait is over
    stop,   ///< a stop was requested: the wait is over
    waits,  ///< its waker will find it: the operation and the coroutine may be gone
};

/// The door of all waits, behind promise_base::begin_suspend().
///
/// 1. begin(): from now on a stop request finds the wait.
/// 2. `enter()`, under the lock, or by the change of the word, by which a waker or wait_kind::claim takes the wait:
///    must_stop()          -> wait_attempt::stop
///    nothing to wait for  -> wait_attempt::ready
///    else the wait is put where its waker finds it -> wait_attempt::waits
/// 3. end(), if it does not wait.
///
/// Errors: as begin() and `enter()`; then nothing has happened.
template <typename Enter>
COFLUX_INLINE wait_attempt attempt_wait(wait_operation& w, Enter enter) {
    w.begin();
    wait_attempt went = wait_attempt::waits;
    if constexpr (noexcept(enter())) {
        went = enter();
    } else {
        try {
            went = enter();
        } catch (...) {
            w.end();
            throw;
        }
    }
    if (went != wait_attempt::waits) w.end();
    return went;
}

/// attempt_wait() for a coroutine that is about to suspend, and that a stop unwinds: what await_suspend returns.
template <typename Enter>
COFLUX_INLINE std::coroutine_handle<> wait_by(wait_operation& w, Enter enter) {
    promise_base& p = w.coroutine();
    if (p.begin_suspend() == suspension::stop) [[unlikely]]
        return p.stop_here();
    switch (attempt_wait(w, enter)) {
    case wait_attempt::ready: return transfer(p.handle());
    case wait_attempt::stop: return p.stop_here();
    case wait_attempt::waits: break;
    }
    return wait_operation::suspended();
}

/// Calls `f(w, context)` for each wait in and below `root`. Without a lock: no coroutine runs, starts or ends
/// meanwhile.
void for_each_wait(wait_record& root, void (*f)(wait_operation& w, void* context), void* context);

}  // namespace coflux::detail
