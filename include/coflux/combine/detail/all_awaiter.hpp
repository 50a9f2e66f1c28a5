// Waiting for several coroutines with one waiter and no counter: from the youngest to the oldest, one at a time.
//
// All of them run already, so the order of waiting does not change when the last one ends. But the youngest is the
// newest of this worker's forks: it is popped and runs nested, then the next one, and so on. So a join costs what as
// many single awaits cost. There is no atomic counter, and what has ended meanwhile is passed by.
#pragma once

#include <coroutine>
#include <cstddef>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>

namespace coflux::detail {

/// `Children` has `frame_control& operator[](std::size_t)`, in the order of their creation, and says whether they may
/// be `many`, and whether a stopped or failed child is a result like another (`takes_stops`). Many have
/// `fetch(std::size_t)` ahead of that, which is an access, `fetch_control(std::size_t)` of what give_all() needs, and
/// of children that may not be there: operator[] checks.
/// `frame_after_nested_run` says what becomes of a frame that ran nested. Where it is freed, the results are words:
/// `keep_result(i, word)` takes what it left, and `take_ended(i)` the result of one that has ended elsewhere, whose
/// frame it frees. After `forget(i)`, or `forget_all()`, `has_frame(i)` is false. Children have their
/// `words_in_handles`, or words beside them.
template <typename Children>
class all_awaiter : private waiter {
public:
    all_awaiter(const all_awaiter&) = delete;
    all_awaiter& operator=(const all_awaiter&) = delete;

    [[nodiscard]] bool await_ready() noexcept {
        if constexpr (Children::frame_after_nested_run == nested_frame::freed) {
            if (run_newest_nested()) [[likely]]
                return true;
        }
        while (frame_control* const c = next_running()) {
            if (!run_nested(c)) return false;
        }
        return !stops_awaiting();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        promise_base& p = *coroutine;
        const bool stop_requested = p.begin_suspend() == suspension::stop;
        if (give_all(stop_requested)) [[unlikely]] {
            relayed_from_ = left_;
            relays_ = true;
            relay_.begin(p, stop_requested, this, stops_of_all, count_);
        } else if (stop_requested) [[unlikely]] {
            return p.stop_here();
        }
        return transfer(advance());
    }

    /// All have ended: true if that stops the awaiting coroutine, unless it takes it as an outcome. An error is never
    /// lost to a stop.
    [[nodiscard]] bool stops() const noexcept {
        return !Children::takes_stops && stopped_ && !failed_ && !relay_.has_failed();
    }
    [[nodiscard]] promise_base& awaiting() const noexcept { return *coroutine; }

    /// How many children ahead the frames are fetched into the cache where there may be many.
    static constexpr int prefetched = 8;
    static COFLUX_INLINE void prefetch(const void* c) noexcept {
        __builtin_prefetch(c);
        __builtin_prefetch(static_cast<const char*>(c) + cache_line);
    }

protected:
    all_awaiter(promise_base& p, std::size_t count) noexcept : left_(count), count_(count) {
        coroutine = &p;
        ended = &all_awaiter::child_ended;
        alone = true;
    }
    ~all_awaiter() = default;

    [[nodiscard]] Children& children() noexcept { return static_cast<Children&>(*this); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// The children from here on have left words; where Children::words_in_handles, in their handles.
    [[nodiscard]] std::size_t words_from() const noexcept {
        if (relays_) return relayed_from_;
        return failed_ || stopped_ ? count_ : left_;
    }

    /// After the last: throws the first error in the order of creation if there is one; the other errors are reachable
    /// from it.
    void rethrow_failures() {
        this_thread.current = coroutine;
        if (Children::takes_stops || !failed_) [[likely]] {
            if (stopped_) relay_.throw_if_failed();
            return;
        }
        joined_failures failures;
        for (std::size_t i = 0; i < count_; ++i) {
            if (!has_frame(i)) continue;
            frame_control& c = children()[i];
            if (c.word.end() != ending::error) continue;
            c.error->retain();
            failures.add(*c.error);
        }
        failures.release()->rethrow();
    }

private:
    /// One that is the newest of this worker's forks has not begun: it is not asked whether it has ended. True if all
    /// were, and have ended here with values.
    COFLUX_INLINE bool run_newest_nested() noexcept {
        promise_base& p = *coroutine;
        std::size_t left = left_;  // in a register: a compiler must take it that a child changes what lies in memory
        while (left != 0 && p.template run_fork_nested<nested_frame::freed>(&children()[left - 1]))
            children().keep_result(--left, thread_result());
        left_ = left;
        if (left == 0) [[likely]] {
            if constexpr (!Children::words_in_handles) children().forget_all();
            return true;
        }
        if constexpr (!Children::words_in_handles) {
            for (std::size_t i = left; i != count_; ++i) children().forget(i);
        }
        return false;
    }
    /// True if the last of those left has ended here, with a value.
    template <bool Given = false>
    COFLUX_INLINE bool run_nested(frame_control* c) noexcept {
        if (!coroutine->template run_fork_nested<Children::frame_after_nested_run, Given>(c)) return false;
        --left_;
        if constexpr (Children::frame_after_nested_run == nested_frame::freed) {
            children().keep_result(left_, thread_result());
            if (!Children::words_in_handles || failed_ || stopped_) children().forget(left_);
        }
        return true;
    }
    [[nodiscard]] bool has_frame(std::size_t i) noexcept {
        if constexpr (Children::frame_after_nested_run == nested_frame::kept) return true;
        return (!Children::words_in_handles || i < words_from()) && children().has_frame(i);
    }
    frame_control* next_running() noexcept {
        while (left_ != 0) {
            if constexpr (Children::many) {
                if (left_ > prefetched) children().fetch(left_ - 1 - prefetched);
            }
            frame_control& c = children()[left_ - 1];
            if (!c.done()) return &c;
            pass(c);
        }
        return nullptr;
    }
    /// The last of those left has ended. Where results are words it goes at once: a frame that waits for the others
    /// would be fetched into the cache once more.
    void pass(frame_control& c) noexcept {
        const ending end = c.word.end();
        if constexpr (Children::frame_after_nested_run == nested_frame::freed) {
            if (!relays_) {
                if (end == ending::value) [[likely]] {
                    children().take_ended(left_ - 1);
                    if (failed_ || stopped_) children().forget(left_ - 1);
                } else if (Children::words_in_handles && !failed_ && !stopped_) {
                    // Nobody takes the values any more.
                    for (std::size_t i = left_; i != count_; ++i) children().forget(i);
                }
            }
        }
        --left_;
        failed_ |= end == ending::error;
        stopped_ |= end == ending::stopped;
    }
    [[nodiscard]] bool stops_awaiting() const noexcept {
        return stops() && !coroutine->control().word.has(frame_flags::takes_stop);
    }

    /// Before the wait: true if a stop of the awaiting coroutine does not reach all that it waits for by itself. Goes
    /// to all, so that each has been checked, and is known to be awaited; from the oldest on, so that the youngest,
    /// which are next, are left in the cache.
    [[nodiscard]] bool give_all(bool stop_requested) noexcept {
        bool others = false;
        for (std::size_t i = 0; i != left_; ++i) {
            if constexpr (Children::many) {
                if (left_ - i > prefetched) children().fetch_control(i + prefetched);
            }
            frame_control& c = children()[i];
            if (c.done()) continue;
            promise_base::of(c).give();
            others |= !is_stopped_with(*coroutine, c, stop_requested);
        }
        return others;
    }
    static void request_stop(void* self, std::size_t i) noexcept {
        auto& all = *static_cast<all_awaiter*>(self);
        if (all.has_frame(i)) request_stop_of(all.children()[i]);
    }
    static void go_on(void* self) noexcept { static_cast<all_awaiter*>(self)->relay_.wake(); }
    static constexpr stop_calls stops_of_all{&request_stop, &go_on};

    /// Goes on with the next child that has not ended, or with the awaiting coroutine.
    std::coroutine_handle<> advance() noexcept {
        promise_base& p = *coroutine;
        return advance(identity_of(p.runs_on()));
    }
    std::coroutine_handle<> advance(const void* here) noexcept {
        promise_base& p = *coroutine;
        while (frame_control* const c = next_running()) {
            switch (p.await_frame(*c, *this)) {
            case join_result::popped: return c->frame();
            case join_result::registered: return no_coroutine();
            case join_result::completed: break;
            }
        }
        if (stops_awaiting()) p.begin_unwind();
        if (!relay_.over()) [[unlikely]] {
            p.clear_current();
            return no_coroutine();
        }
        return promise_base::resume_from(p, here);
    }

    static std::coroutine_handle<> child_ended(waiter& self, frame_control& c, const void* here) noexcept {
        auto& all = static_cast<all_awaiter&>(self);
        all.pass(c);
        all.go_on_nested(here);
        return all.advance(here);
    }
    /// After the end of a child that was waited for, on executor `here`: those that have not begun go on as before the
    /// wait, nested, below the end of that child.
    void go_on_nested(const void* here) noexcept {
        // Not beside a creator whose call this is in, nor where the awaiting coroutine would not run.
        if (this_thread.current != nullptr || identity_of(coroutine->runs_on()) != here || relays_) return;
        while (left_ != 0 && run_nested<true>(&children()[left_ - 1])) {}
        this_thread.current = nullptr;
    }

    std::size_t left_;  // children [0, left_) may still run
    std::size_t count_;
    std::size_t relayed_from_;  // while relays_: `left_` at its beginning; the frames of the others stay
    bool failed_ = false;
    bool stopped_ = false;
    bool relays_ = false;
    relay_if_needed relay_;
};

}  // namespace coflux::detail
