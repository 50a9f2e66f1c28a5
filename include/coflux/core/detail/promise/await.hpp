// How a coroutine awaits: what becomes of the operand of co_await; a frame that is awaited, nested on the awaiter's
// stack, by transfer into a popped child, or registered in its word; and the handles of coroutines as awaiters.
//
// The page docs/design/fork_join.md has the argument.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/base/no_coroutine.hpp>
#include <coflux/base/stack.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/promise/coroutine_kind.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/foreign_awaiter.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/thread/thread_driver.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>

namespace coflux::detail {

// --- the operand of co_await

template <typename A>
inline constexpr bool is_context_request = std::is_same_v<std::remove_cvref_t<A>, context_request>;

/// Something of ours: knows how to wait inside a coroutine of ours.
template <typename A>
concept native_awaitable = await_access::is_operand<A>();

/// How a foreign type becomes an awaitable of ours: specialised with `static R request(A)`, where R is a native
/// awaitable that need not outlive the binding of the await.
template <typename A>
struct awaited_as;

template <typename A>
concept translated_awaitable = requires(A&& a) { awaited_as<std::remove_cvref_t<A>>::request(std::forward<A>(a)); };

/// A handle that may be awaited once, used as an lvalue.
template <typename A>
concept single_use_lvalue = std::is_lvalue_reference_v<A> && await_access::is_single_use<A>();

class context_awaiter {
public:
    explicit context_awaiter(promise_base& self) noexcept : self_(self) {}
    [[nodiscard]] bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    [[nodiscard]] COFLUX_INLINE environment& await_resume() const noexcept { return self_.open_scope(); }

private:
    promise_base& self_;
};

/// With COFLUX_TEST_POINTS defined as 1, in all files of a program that have coroutines, a simulation is called for
/// each await (testing/simulation.hpp). The library is compiled without: its coroutines, those of stream jobs among
/// them, have no such points.
template <typename A>
COFLUX_INLINE void pass_test_point() {
#if defined(COFLUX_TEST_POINTS) && COFLUX_TEST_POINTS
    if constexpr (!await_access::never_throws<A>()) {
        if (thread_driver* const d = this_thread.driver; d != nullptr) d->at_await();
    }
#endif
}

template <typename A>
COFLUX_INLINE decltype(auto) bind_operand(promise_base& p, A&& awaited, std::source_location where) {
    if constexpr (is_context_request<A>) {
        return context_awaiter(p);
    } else if constexpr (single_use_lvalue<A>) {
        static_assert(
            !single_use_lvalue<A>,
            "coflux: this handle can be awaited once: write co_await std::move(handle), or take handle.view() for "
            "several readers. An operation is written in its await, co_await when_any(a(here), b(here)): it refers to "
            "its operands");
        return context_awaiter(p);
    } else if constexpr (native_awaitable<A>) {
        return await_access::await_in(std::forward<A>(awaited), p, where);
    } else if constexpr (translated_awaitable<A>) {
        return await_access::await_in(awaited_as<std::remove_cvref_t<A>>::request(std::forward<A>(awaited)), p, where);
    } else {
        return foreign_awaiter<A>(p, std::forward<A>(awaited));
    }
}

#ifndef NDEBUG
/// The coroutine awaits something: it may be found elsewhere from now on. A sibling that it has made before, and
/// hands to no operation with this await, is told.
class begun_await {
public:
    explicit begun_await(const promise_base& p) noexcept : p_(p) { this_thread.begun = nullptr; }
    begun_await(const begun_await&) = delete;
    begun_await& operator=(const begun_await&) = delete;
    ~begun_await() {
        if (this_thread.sibling.maker == &p_) [[unlikely]]
            tell_of_sibling();
    }

private:
    const promise_base& p_;
};
#endif

/// Every await of a coroutine of ours begins here, the one place that notes its location.
template <typename A>
COFLUX_INLINE decltype(auto) bind_await(promise_base& p, A&& awaited, std::source_location where) {
    pass_test_point<A>();
    // To ask for the context is not to wait: the coroutine is the one that runs here before and after.
    if constexpr (is_context_request<A>) {
        return bind_operand(p, std::forward<A>(awaited), where);
    } else {
#ifndef NDEBUG
        const begun_await begun(p);
#endif
        if constexpr (!await_access::keeps_location<A>()) p.set_await_location(where);
        return bind_operand(p, std::forward<A>(awaited), where);
    }
}
/// The await inside of one that has begun.
template <typename A>
COFLUX_INLINE decltype(auto) bind_inner_await(promise_base& p, A&& awaited, std::source_location where) {
    pass_test_point<A>();
    return bind_operand(p, std::forward<A>(awaited), where);
}

// --- the await of a frame

/// Every await is a stop point: one whose coroutine may be stopped suspends first.
COFLUX_INLINE bool promise_base::may_go_on(std::uint32_t requests) noexcept {
    return !may_be_stopped(requests) || !rematerialized_this()->must_suspend_first();
}

/// A call needs no worker: outside of one it has a part of the stack, too.
COFLUX_INLINE bool promise_base::has_room_for_call() noexcept {
    const std::uintptr_t at = stack_address();
    return at > this_thread.nested_limit || this_thread.calls.has(at) || rematerialized_this()->finds_room_for_call();
}

/// The coroutine that ran nested on this one's stack has given control back: true if it has ended.
COFLUX_INLINE bool promise_base::ended_nested() noexcept {
    // [nested.ended.elsewhere]
    if (this_thread.nested_limit == no_room) [[unlikely]] {
        rematerialized_this()->regain_control();
        return false;
    }
    // A coroutine that has not asked for its context has left `current` as it was, and a load costs less than a store.
    promise_base* const self = rematerialized_this();
    if (this_thread.current != self) this_thread.current = self;
    return true;
}

template <nested_frame Frame, bool Given>
COFLUX_INLINE bool promise_base::run_fork_nested(frame_control* child) noexcept {
    // relaxed: as in begin_suspend().
    if (stack_address() <= this_thread.nested_limit || !may_go_on(stop_requests.load(memory_order_relaxed)))
        return false;
    const promise_base* const self = rematerialized_this();
    // The child of another coroutine is counted there. A child of this coroutine that another coroutine made is in this
    // sum, too.
    const parent_ref& parent = of(*child).parent_;
    if (!(Given ? parent.is_given_by(self) : parent.is_unshared(self))) [[unlikely]]
        return false;
    if (!this_thread.queues->pop_if_newest(child->frame())) return false;
    child->join.nest<Frame>(self);
    child->frame().resume();
    if (!ended_nested()) [[unlikely]]
        return false;
    own_.children.release_by_owner();
    return true;
}

template <nested_frame Frame>
COFLUX_INLINE bool promise_base::run_call_nested(frame_control& callee) noexcept {
    const std::uint32_t requests = stop_requests.load(memory_order_relaxed);
    if (!has_room_for_call() || !may_go_on(requests)) [[unlikely]] {
        callee.join.begin_unawaited_call();
        return false;
    }
    promise_base* const self = rematerialized_this();
    of(callee).use_executor_of(*this);
    // [call.nested.counts]
    of(callee).own_.begin(requests);  // this coroutine was found clean then, or later
    of(callee).become_part_of(*self);
    callee.join.begin_nested<Frame>(self);
    callee.frame().resume();
    return ended_nested();
}

/// True if `child` has not begun, and was popped, as the newest of this worker's forks: it goes on with `awaiter`.
template <typename Awaiter>
COFLUX_INLINE bool promise_base::pop_for(frame_control& child, Awaiter& awaiter) noexcept {
    worker* const w = this_thread.queues;
    if (w == nullptr || !w->pop_if_newest(child.frame())) return false;
    child.join.await_popped(awaiter);
    return true;
}

template <typename Awaiter>
COFLUX_INLINE join_result promise_base::join_frame(frame_control& child, Awaiter& awaiter) noexcept {
    check_not_self(child);
    return child.join.await(awaiter);
}

COFLUX_INLINE join_result promise_base::await_elsewhere(frame_control& child, waiter& w) noexcept {
    clear_current();
    return join_frame(child, w);
}

COFLUX_INLINE join_result promise_base::await_frame(frame_control& child, waiter& w) noexcept {
    if (!child.join.is_shared() && pop_for(child, w)) return join_result::popped;
    return await_elsewhere(child, w);
}

COFLUX_INLINE std::coroutine_handle<> promise_base::await_child(frame_control& child) noexcept {
    if (begin_suspend() == suspension::stop) [[unlikely]]
        return stop_here();
    if (pop_for(child, *this)) [[likely]]
        return transfer(child.frame());
    clear_current();
    return await_running(child);
}

// --- the handle as awaiter

/// A handle's pointer to a frame, and whether its await had to wait: if not, it ran in place to its end, and there is
/// nothing to ask of the frame but its value.
class awaited_frame {
public:
    COFLUX_INLINE explicit awaited_frame(frame_control* c) noexcept : pointer_(c) {}

    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return pointer_ == nullptr; }
    COFLUX_INLINE frame_control* take() noexcept {
        frame_control* const c = get();
        pointer_ = nullptr;
        return c;
    }
    COFLUX_INLINE void swap(awaited_frame& other) noexcept { std::swap(pointer_, other.pointer_); }
    [[nodiscard]] COFLUX_INLINE frame_control* get() const noexcept {
        return reinterpret_cast<frame_control*>(reinterpret_cast<std::uintptr_t>(pointer_) & ~waited_bit);
    }
    COFLUX_INLINE void clear() noexcept { pointer_ = nullptr; }
    /// In place of a pointer.
    COFLUX_INLINE void keep_word(std::uint64_t word) noexcept { pointer_ = reinterpret_cast<frame_control*>(word); }
    COFLUX_INLINE std::uint64_t take_word() noexcept {
        return reinterpret_cast<std::uintptr_t>(std::exchange(pointer_, nullptr));
    }
    /// Where it has not waited.
    [[nodiscard]] COFLUX_INLINE frame_control* const& plain() const noexcept { return pointer_; }
    COFLUX_INLINE void set_waited() noexcept {
        pointer_ = reinterpret_cast<frame_control*>(reinterpret_cast<std::uintptr_t>(pointer_) | waited_bit);
    }
    /// Gives the optimiser what it cannot know of a pointer that it loads again.
    COFLUX_INLINE void assume_not_waited() const noexcept {
        const bool waits = waited();
        COFLUX_ASSUME(!waits);
    }
    /// The await threw, and nothing has happened.
    COFLUX_INLINE void clear_waited() noexcept { pointer_ = get(); }
    [[nodiscard]] COFLUX_INLINE bool waited() const noexcept {
        return (reinterpret_cast<std::uintptr_t>(pointer_) & waited_bit) != 0;
    }

private:
    static constexpr std::uintptr_t waited_bit = 1;

    frame_control* pointer_;
};

/// Empties a handle at the end of a scope.
class emptied_frame {
public:
    COFLUX_INLINE explicit emptied_frame(awaited_frame& handle) noexcept : handle_(handle) {}
    COFLUX_INLINE ~emptied_frame() { handle_.clear(); }
    emptied_frame(const emptied_frame&) = delete;
    emptied_frame& operator=(const emptied_frame&) = delete;

private:
    awaited_frame& handle_;
};

/// Around a wait that may throw: clears `waited` unless dismissed.
class waited_guard {
public:
    COFLUX_INLINE explicit waited_guard(awaited_frame& handle) noexcept : handle_(&handle) {}
    COFLUX_INLINE ~waited_guard() {
        if (handle_ != nullptr) handle_->clear_waited();
    }
    waited_guard(const waited_guard&) = delete;
    waited_guard& operator=(const waited_guard&) = delete;
    COFLUX_INLINE void dismiss() noexcept { handle_ = nullptr; }

private:
    awaited_frame* handle_;
};

/// At the end of a scope frees a frame that ended nested on its awaiter's stack.
class plainly_freed_frame {
public:
    COFLUX_INLINE explicit plainly_freed_frame(awaited_frame& c) noexcept : c_(c) {}
    COFLUX_INLINE ~plainly_freed_frame() {
        promise_base::free_plainly(*c_.plain());
        c_.clear();
    }
    plainly_freed_frame(const plainly_freed_frame&) = delete;
    plainly_freed_frame& operator=(const plainly_freed_frame&) = delete;

private:
    awaited_frame& c_;
};

/// The await of a handle, where results are taken late (COFLUX_LATE_RESULTS): a result that went by the thread waits
/// here. Elsewhere the handle is its own awaiter, and an await costs no store for one.
template <typename Handle, typename T>
class [[nodiscard]] late_awaiter {
public:
    COFLUX_INLINE explicit late_awaiter(Handle& handle) noexcept : handle_(handle), result_(thread_result()) {}
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return handle_.await_ready(); }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const {
        h.promise().clear_takes_stop();
        return handle_.await_suspend(h);
    }
    COFLUX_INLINE T await_resume() const {
        return handle_.take([this]() noexcept { return result_; });
    }

private:
    Handle& handle_;
    std::uint64_t result_;
};

/// await_transform returns it for a handle that gives a T, and whose await has begun.
template <typename T, typename Handle>
COFLUX_INLINE decltype(auto) begun_awaiter(Handle& handle) noexcept {
    if constexpr (COFLUX_LATE_RESULTS) {
        return late_awaiter<Handle, T>(handle);
    } else {
        return static_cast<Handle&>(handle);
    }
}

/// An await of a fork or task as an outcome: error and stop are values.
template <typename Handle, typename T>
class [[nodiscard]] owned_outcome_awaiter {
public:
    owned_outcome_awaiter(promise_base& p, Handle& handle) noexcept : p_(p), handle_(handle) {}

    [[nodiscard]] bool await_ready() const noexcept { return handle_.used().done(); }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        p_.control().word.set(frame_flags::takes_stop);
        try {
            if (!is_stopped_with(p_, handle_.used())) [[unlikely]]
                return await_relayed(p_, handle_.used());
            return handle_.await_suspend(h);
        } catch (...) {  // no memory for a node in the list of a shared frame; the handle keeps the frame
            unavailable_ = std::current_exception();
            return transfer(h);
        }
    }
    outcome<T> await_resume() noexcept {
        this_thread.current = &p_;
        p_.control().word.clear(frame_flags::takes_stop);
        if (unavailable_ != nullptr) [[unlikely]] {
            handle_.assume_not_waited();
            return outcome<T>(std::move(unavailable_));
        }
        return consume_outcome<T>(handle_.release());
    }

private:
    promise_base& p_;
    Handle& handle_;
    std::exception_ptr unavailable_;
};

[[noreturn]] COFLUX_COLD void fail_empty() noexcept;
/// Fails for a handle that is empty in an await.
[[noreturn]] COFLUX_COLD void fail_empty(promise_base& p, std::source_location where) noexcept;
/// Fails for a call that `p` awaits a second time, where it is made.
[[noreturn]] COFLUX_COLD void fail_awaited_twice(promise_base& p) noexcept;

/// The frame that a handle owns, and the handle as awaiter: what the compiler and the library call, not users.
template <typename T, start_kind Start>
class COFLUX_IN_REGISTER owned_frame {
    static_assert(is_result<T>());

    static constexpr bool starts_in_creator = Start == start_kind::inline_start;

public:
    /// One that may run inside the call that makes it, and does not know until then, keeps its frame.
    static constexpr nested_frame frame_after_nested_run =
        Start == start_kind::queued ? nested_frame_for<T> : nested_frame::kept;
    using single_use = void;

    owned_frame() noexcept : control_(nullptr) {}
    COFLUX_INLINE explicit owned_frame(frame_control& c) noexcept : control_(&c) {}
    // Emptied last, so that the optimiser sees it when `other` dies at once.
    owned_frame(owned_frame&& other) noexcept : control_(other.control_.get()) { other.control_.clear(); }
    owned_frame(const owned_frame&) = delete;
    owned_frame& operator=(const owned_frame&) = delete;

    COFLUX_INLINE decltype(auto) await_in(promise_base& p, std::source_location where) && noexcept {
        if (control_.empty()) [[unlikely]]
            fail_empty(p, where);
        note_taken_over(used());
        if constexpr (!starts_in_creator) {
            if (p.run_fork_nested<frame_after_nested_run>(control_.plain())) {
                if constexpr (frame_after_nested_run == nested_frame::freed) {
                    control_.clear();
                } else {
                    control_.assume_not_waited();
                }
            } else {
                control_.set_waited();
            }
        }
        return begun_awaiter<T>(*this);
    }
    owned_outcome_awaiter<owned_frame, T> await_outcome_in(promise_base& p, std::source_location where) && noexcept {
        if (control_.empty()) fail_empty(p, where);
        note_taken_over(used());
        control_.set_waited();
        return owned_outcome_awaiter<owned_frame, T>(p, *this);
    }

    // The handle as awaiter. It keeps the frame until the coroutine resumes.
    [[nodiscard]] COFLUX_INLINE bool await_ready() const noexcept { return ended_in_place() || awaited().is_ready(); }
    template <typename P>
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        promise_base& p = *h.promise().rematerialized_this();
        // One look for all that is rare: views or callbacks, and a child of another environment, which a stop may not
        // reach.
        if (!promise_base::of(used()).is_unshared_child_of(p)) [[unlikely]] {
            waited_guard guard(control_);
            const std::coroutine_handle<> next = await_aside(p, used());
            guard.dismiss();
            return next;
        }
        return p.await_child(used());
    }
    COFLUX_INLINE T await_resume() {
        return take([]() noexcept { return thread_result(); });
    }
    /// `result()`: what went by the thread, if it ended in place and has no frame any more.
    template <typename Result>
    COFLUX_INLINE T take([[maybe_unused]] Result result) {
        if (ended_in_place()) {
            if constexpr (frame_after_nested_run == nested_frame::freed) {
                return take_from<T>(result());
            } else {
                const plainly_freed_frame frees(control_);
                return take_value<T>(*control_.plain());
            }
        }
        if constexpr (starts_in_creator) {
            // Emptied last: the optimiser then knows that there is nothing left to drop.
            const emptied_frame empties(control_);
            return consume_waited(awaited());
        } else {
            return consume_aside(release());
        }
    }

    /// For combinators: gives the frame up to the caller.
    [[nodiscard]] COFLUX_INLINE frame_control& release() noexcept { return *control_.take(); }
    /// For combinators: the frame, which was nested, has freed itself.
    COFLUX_INLINE void clear() noexcept { control_.clear(); }
    /// For combinators: empty, it keeps a result in place of its frame for a while.
    COFLUX_INLINE void keep_word(std::uint64_t word) noexcept { control_.keep_word(word); }
    [[nodiscard]] COFLUX_INLINE std::uint64_t take_word() noexcept { return control_.take_word(); }
    /// For combinators and awaiters: the frame, which the handle keeps.
    [[nodiscard]] COFLUX_INLINE frame_control& used() const noexcept { return *frame(); }
    /// For combinators and awaiters: the frame, or null.
    [[nodiscard]] COFLUX_INLINE frame_control* frame() const noexcept { return control_.get(); }
    /// For combinators: where the frame is or close to it, to be fetched into the cache.
    [[nodiscard]] COFLUX_INLINE const void* address() const noexcept { return control_.plain(); }
    /// For awaiters: the await threw, and nothing has happened.
    void assume_not_waited() noexcept { control_.clear_waited(); }
    /// For combinators and awaiters: used(), where the user may be wrong.
    [[nodiscard]] COFLUX_INLINE frame_control& checked() const noexcept {
        if (control_.empty()) [[unlikely]]
            fail_empty();
        return used();
    }

    [[nodiscard]] COFLUX_INLINE bool is_empty() const noexcept { return control_.empty(); }
    void swap(owned_frame& other) noexcept { control_.swap(other.control_); }

protected:
    ~owned_frame() = default;

private:
    /// In a plain await, which marks no handle of a coroutine that begins in the call that makes it.
    [[nodiscard]] COFLUX_INLINE frame_control& awaited() const noexcept {
        if constexpr (starts_in_creator) {
            return *control_.plain();
        } else {
            return used();
        }
    }
    /// Out of line, so that a caller that never comes here saves no registers for it.
    static COFLUX_NOINLINE T consume_aside(frame_control& c) { return consume_waited(c); }
    static COFLUX_INLINE T consume_waited(frame_control& c) {
        const join_snapshot own = c.join.own();
        // The awaiting coroutine still is where it waited; if it never suspended, it still is current.
        if (!own.has_no_coroutine()) {
            if (own.is_shared()) [[unlikely]]
                return consume<T>(c);
            this_thread.current = own.coroutine();
        }
        if (!c.word.ended_with_value()) [[unlikely]]
            return consume<T>(c);
        const destroyed_frame frees(c);
        return take_value<T>(c);
    }
    /// In an await: the frame ran to its end nested on the awaiting coroutine's stack.
    [[nodiscard]] COFLUX_INLINE bool ended_in_place() const noexcept {
        if constexpr (starts_in_creator) {
            return false;
        } else if constexpr (frame_after_nested_run == nested_frame::freed) {
            return control_.empty();
        } else {
            return !control_.waited();
        }
    }

    awaited_frame control_;
};

}  // namespace coflux::detail
