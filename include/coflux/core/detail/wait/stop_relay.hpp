// How an operation passes a stop of its coroutine on to the handles that were moved into it.
//
// A stop request goes down the tree, so it reaches what was made in the awaiting coroutine by itself. A handle may also
// have been made elsewhere: then the operation is stopped, and stops it. The page docs/design/stop.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

/// True if each stop that reaches `p` reaches what is made in `e`, too: that is `p`, its caller, or an environment
/// object of these.
[[nodiscard]] bool reaches(const promise_base& p, const environment& e) noexcept;

/// True if `parent` is above `p`, and `p` is stopped only with it. Looks at what is above `p` alone, so `parent` may be
/// gone.
[[nodiscard]] bool is_part_of(const promise_base& p, const environment* parent) noexcept;

/// True only if each stop that reaches `p` reaches `child`, too, which was made in `p` or in what `p` is a part of.
/// Elsewhere the child may end meanwhile, and with it whatever it was made in; so what was made in an environment
/// object below `p` is stopped twice.
[[nodiscard]] inline bool is_stopped_with(const promise_base& p, frame_control& child) noexcept {
    const environment* const parent = promise_base::of(child).parent();
    return parent == &p || is_part_of(p, parent);
}

/// is_stopped_with() where a stop of `p` may have been requested before it waits (`stop_requested`). `p` is then
/// unwound at once, which joins what was made in `p` itself, and nothing else. Coroutines that were made in an
/// environment object that `p` is a part of may still use the frame.
[[nodiscard]] inline bool is_stopped_with(const promise_base& p, frame_control& child, bool stop_requested) noexcept {
    const environment* const parent = promise_base::of(child).parent();
    return parent == &p || (!stop_requested && is_part_of(p, parent));
}

/// Requests a stop of a coroutine whose frame the caller keeps, if it has not ended.
void request_stop_of(frame_control& c) noexcept;

/// Suspends for the end of one that is not stopped with `p`, and stops it with `p`: what await_suspend must return.
/// Errors: std::bad_alloc; then nothing has happened.
COFLUX_COLD std::coroutine_handle<> await_relayed(promise_base& p, frame_control& child);

/// Suspends for the end of one with views or callbacks, or that was not made in `p` itself: what await_suspend must
/// return.
/// Errors: as await_relayed().
COFLUX_COLD std::coroutine_handle<> await_aside(promise_base& p, frame_control& child);

/// How an operation that has several handles requests their stops.
struct stop_calls {
    void (*request)(void* operation, std::size_t i) noexcept;  // a stop of handle `i`, if that has not ended
    void (*go_on)(void* operation) noexcept;  // all are requested, and the operation is left to the caller
};

/// A wait in which an operation learns of a stop, while it goes on waiting for its handles.
///
///     idle --listen--> listening --stopper--> requesting --requested all--> passed
///       |                  '--over--> done       '--over--> ended: the stopper goes on with the operation
///       '--stopper--> early: listen() says so, and the operation requests them, in steps by request_early()
class stop_relay : public wait_operation {
public:
    /// `calls.request` is called for each of `count` handles, of which there is one at least, on threads of stoppers,
    /// in steps; `calls.go_on` on the last of these, if over() was false.
    stop_relay(promise_base& p, void* operation, const stop_calls& calls, std::size_t count) noexcept
        : stop_relay(p, operation, calls, count, kind) {}
    ~stop_relay() = default;

    /// From now on a stop is passed on. False if one was requested before: then it is the caller's to pass on, and
    /// there is no over().
    /// Errors: std::bad_alloc, as begin().
    [[nodiscard]] bool listen();
    /// A stop was requested before, and it does not listen: passes it on, beside the wait.
    void request_early() noexcept;
    /// All that the operation waits for has ended, and nothing is passed on any more: true if the caller goes on with
    /// the operation.
    /// Threads: any, once, while the coroutine is suspended.
    [[nodiscard]] bool over() noexcept;

protected:
    stop_relay(promise_base& p, void* operation, const stop_calls& calls, std::size_t count,
               const wait_kind& k) noexcept
        : wait_operation(p, k),
          operation_(operation),
          calls_(&calls),
          count_(count) {}

    static bool claim(wait_operation& waiting) noexcept;
    static void pass_on(wait_operation& claimed) noexcept;

private:
    enum class state : std::uint8_t { idle, early, listening, requesting, passed, done, ended };

    static const wait_kind kind;

    static bool request_next(void* self) noexcept;

    void* operation_;
    const stop_calls* calls_;
    std::size_t count_;
    std::size_t next_ = 0;  // the first whose stop is not requested
    atomic<state> state_{state::idle};
};

/// The relay of an operation that seldom needs one: a pointer, and a block from the frame pool where it does.
class relay_if_needed {
public:
    relay_if_needed() noexcept = default;
    relay_if_needed(const relay_if_needed&) = delete;
    relay_if_needed& operator=(const relay_if_needed&) = delete;
    ~relay_if_needed() {
        if (has_relay()) [[unlikely]]
            free();
    }

    /// Before the operation waits for `count` handles, of which one at least is not stopped with `p`. `stop_requested`:
    /// of `p`, already. Where there is no memory for the relay, the handles are stopped at once, and has_failed()
    /// unless a stop was requested.
    COFLUX_COLD void begin(promise_base& p, bool stop_requested, void* operation, const stop_calls& calls,
                           std::size_t count) noexcept;
    /// As stop_relay::over().
    [[nodiscard]] bool over() noexcept { return !has_relay() || relay_->over(); }
    /// In `calls.go_on`: queues the coroutine on its own executor.
    void wake() noexcept { relay_->wake(); }
    [[nodiscard]] bool has_failed() const noexcept { return relay_ == no_memory(); }
    void throw_if_failed() const {
        if (has_failed()) [[unlikely]]
            throw_failure();
    }

private:
    [[nodiscard]] static stop_relay* no_memory() noexcept { return reinterpret_cast<stop_relay*>(alignof(stop_relay)); }
    [[nodiscard]] bool has_relay() const noexcept { return relay_ != nullptr && relay_ != no_memory(); }
    [[noreturn]] COFLUX_COLD static void throw_failure();
    COFLUX_COLD void free() noexcept;

    stop_relay* relay_ = nullptr;
};

}  // namespace coflux::detail
