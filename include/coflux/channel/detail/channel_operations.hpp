// The operations at a channel that can wait, each as a `co_await` of its own and as a case of a select.
#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/channel/detail/channel_base.hpp>
#include <coflux/channel/permit.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>

namespace coflux {

namespace detail {

/// An operation is a node with: `attempt`, under the lock, true if it is done; `queue`, where it waits; `would_wait`, a
/// hint; `result`, what co_await gives. `Node` is a channel_wait or, in a select, a bare channel_node.
template <typename T, typename Node>
class send_operation : public Node {
public:
    using result_type = bool;

    template <typename... Context>
    send_operation(channel_base<T>& at, T* sent, Context&... context) noexcept : Node(context..., at) {
        Node::value = sent;
    }
    [[nodiscard]] COFLUX_INLINE bool attempt(channel_wakes& wakes) noexcept {
        this->outcome = at().send_locked(*static_cast<T*>(Node::value), wakes);
        return this->outcome != channel_outcome::pending;
    }
    [[nodiscard]] channel_queue& queue() noexcept { return this->core->senders(); }
    [[nodiscard]] COFLUX_INLINE bool would_wait() const noexcept { return this->core->send_would_wait(); }
    [[nodiscard]] bool result() noexcept { return this->outcome == channel_outcome::done; }

private:
    channel_base<T>& at() noexcept { return static_cast<channel_base<T>&>(*this->core); }
};

template <typename T, typename Node>
class receive_operation : public Node {
public:
    using result_type = std::optional<T>;

    template <typename... Context>
    receive_operation(channel_base<T>& at, T*, Context&... context) noexcept : Node(context..., at) {
        Node::value = &room_;
    }
    [[nodiscard]] COFLUX_INLINE bool attempt(channel_wakes& wakes) noexcept {
        this->outcome = static_cast<channel_base<T>*>(this->core)->receive_locked(room_, wakes);
        return this->outcome != channel_outcome::pending;
    }
    [[nodiscard]] channel_queue& queue() noexcept { return this->core->receivers(); }
    [[nodiscard]] COFLUX_INLINE bool would_wait() const noexcept { return this->core->receive_would_wait(); }
    [[nodiscard]] std::optional<T> result() noexcept { return std::move(room_); }

protected:
    std::optional<T> room_;
};

/// Receives into a variable.
template <typename T, typename Node>
class receive_into_operation : public receive_operation<T, Node> {
public:
    using result_type = bool;

    template <typename... Context>
    receive_into_operation(channel_base<T>& at, T* into, Context&... context) noexcept
        : receive_operation<T, Node>(at, into, context...),
          into_(into) {}
    /// As wait_operation::is_unresumed(). A received value is where it was to go.
    ~receive_into_operation() {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (this->outcome != channel_outcome::done) return;
            try {
                (void)result();
            } catch (...) {  // the value is lost, as in an await
            }
        }
    }
    [[nodiscard]] bool result() noexcept(std::is_nothrow_move_assignable_v<T>) {
        if (!this->room_.has_value()) return false;
        if constexpr (COFLUX_LATE_RESULTS) this->outcome = channel_outcome::pending;
        *into_ = std::move(*this->room_);
        return true;
    }

private:
    T* into_;
};

template <typename T, typename Node>
class reserve_operation : public Node {
public:
    using result_type = std::optional<permit<T>>;

    template <typename... Context>
    reserve_operation(channel_base<T>& at, T*, Context&... context) noexcept : Node(context..., at) {
        Node::value = nullptr;
    }
    /// As wait_operation::is_unresumed().
    ~reserve_operation() {
        if constexpr (COFLUX_LATE_RESULTS) {
            if (this->outcome != channel_outcome::done) return;
            if constexpr (requires { Node::is_unresumed(); })
                (void)Node::is_unresumed();  // a stopper looks at the channel
            at().give_back_reserved();
        }
    }
    [[nodiscard]] COFLUX_INLINE bool attempt(channel_wakes&) noexcept {
        this->outcome = this->core->reserve_locked();
        return this->outcome != channel_outcome::pending;
    }
    [[nodiscard]] channel_queue& queue() noexcept { return this->core->senders(); }
    [[nodiscard]] COFLUX_INLINE bool would_wait() const noexcept { return this->core->send_would_wait(); }
    [[nodiscard]] std::optional<permit<T>> result() noexcept {
        if (this->outcome != channel_outcome::done) return std::nullopt;
        if constexpr (COFLUX_LATE_RESULTS) this->outcome = channel_outcome::pending;  // the permit has the slot
        return std::optional<permit<T>>(permit<T>(at()));
    }

private:
    channel_base<T>& at() noexcept { return static_cast<channel_base<T>&>(*this->core); }
};

/// The awaiter of one operation. Stop: what is claimed has had no effect; the operation has not been done.
template <typename Operation>
class [[nodiscard]] channel_awaiter : private Operation {
public:
    template <typename T>
    channel_awaiter(promise_base& p, channel_base<T>& at, T* slot) noexcept : Operation(at, slot, p) {}

    [[nodiscard]] COFLUX_INLINE bool await_ready() noexcept {
        return !Operation::would_wait() && attempt() && goes_on();
    }
    COFLUX_INLINE std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
        if (this->outcome != channel_outcome::pending) [[unlikely]] {
            progress_ = wait_progress::let_others_run;
            return let_others_run(this->coroutine());
        }
        this->prepare(nullptr, 0);
        channel_wakes wakes;
        const auto to_run = wait_in(*this->core, Operation::queue(), static_cast<Operation&>(*this), [&]() noexcept {
            // Under the lock no other thread writes what the hint reads: now it is exact, but for reserves and decided
            // selects.
            const bool is_done = !Operation::would_wait() && attempt_again(wakes);
            if (!is_done) progress_ = wait_progress::waited;
            return is_done;
        });
        wakes.wake();  // from here on this may be gone
        return to_run;
    }
    [[nodiscard("it may be closed, or a value has come: use the result")]] COFLUX_INLINE auto await_resume() {
        if (progress_ != wait_progress::none) [[unlikely]]
            resumed();
        return Operation::result();
    }

private:
    COFLUX_INLINE bool attempt() noexcept {
        channel_wakes wakes;
        this->core->lock();
        const bool done = Operation::attempt(wakes);
        this->core->unlock();
        wakes.wake();
        return done;
    }
    COFLUX_NOINLINE bool attempt_again(channel_wakes& wakes) noexcept { return Operation::attempt(wakes); }
    COFLUX_INLINE void resumed() noexcept {
        if (progress_ == wait_progress::waited) return this->end();
        this_thread.current = &this->coroutine();
    }

    wait_progress progress_ = wait_progress::none;
};

/// The operand of `co_await` and select: an operation that has not begun.
template <template <typename, typename> class Operation, typename T>
class [[nodiscard(
    "nothing happens at the channel until this is awaited, and its result says what did: co_await it")]] channel_request
    : public request<channel_awaiter<Operation<T, channel_wait>>, channel_base<T>&, T*> {
public:
    using single_use = void;

    explicit channel_request(channel_base<T>& at, T* value = nullptr) noexcept
        : request<channel_awaiter<Operation<T, channel_wait>>, channel_base<T>&, T*>(at, value) {}
    channel_request(const channel_request&) = delete;
    channel_request& operator=(const channel_request&) = delete;

    /// As a case of a select.
    using as_case = Operation<T, channel_node>;
    [[nodiscard]] as_case make_case() const noexcept {
        return as_case(argument_at<0>(this->arguments()), argument_at<1>(this->arguments()));
    }
};

/// The copy that a send of an lvalue sends.
template <typename T>
struct channel_copy {
    T copy;
};

template <typename T>
class [[nodiscard(
    "nothing happens at the channel until this is awaited, and its result says what did: co_await it")]] send_copy_request
    : private channel_copy<T>,
      public channel_request<send_operation, T> {
public:
    send_copy_request(channel_base<T>& at, const T& value)
        : channel_copy<T>{value},
          channel_request<send_operation, T>(at, &this->copy) {}
};

}  // namespace detail
}  // namespace coflux
