// One operation of a descriptor that may have to wait. The page docs/design/io.md has its states.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/io/detail/io_limit.hpp>
#include <coflux/io/endpoint.hpp>

namespace coflux::detail {

class descriptor;
class epoll_source;
class io_source;
class socket_calls;

/// The direction that an operation waits for.
enum class direction : std::uint8_t { in, out };

/// A call that the system makes for an operation, and ends with its result, where the event source can have that.
struct io_submission {
    /// Datagrams have receive_whole, which gives no name, and receive_message, which has a header. Pipes have read.
    enum class kind : std::uint8_t { receive, receive_whole, receive_message, read, send, accept, connect };
    kind call = kind::receive;
    void* address = nullptr;             ///< of the bytes, of the peer's name, or of the header
    std::size_t size = 0;                ///< of what is there
    std::uint32_t* name_size = nullptr;  ///< accept: in, the room for the name; out, what it took

    /// Its result does not say whether more is there.
    [[nodiscard]] bool leaves_more_untold() const noexcept {
        return call == kind::receive_whole || call == kind::receive_message || call == kind::read;
    }
};

/// The steps of a kind of operation. `prepare` and `take` are both there, or neither.
struct io_kind {
    /// Makes the system call. False: it would block, and nothing has happened. Called by one thread at a time.
    bool (*attempt)(class io_operation& op) noexcept;
    direction way;
    wait_kind stops;
    /// Describes the call, which is not tried. False: it is not to be had now, but a poll and `attempt` are. Called
    /// under locks.
    bool (*prepare)(class io_operation& op, io_submission& call) noexcept = nullptr;
    /// `result` is that of the call, or its negative error, and no would_block(). False: there is a rest to be
    /// submitted. Called by one thread at a time.
    bool (*take)(class io_operation& op, std::ptrdiff_t result) noexcept = nullptr;
};

/// The base of its awaiter.
class io_operation : public wait_operation {
public:
    io_operation(const io_operation&) = delete;
    io_operation& operator=(const io_operation&) = delete;

    [[nodiscard]] descriptor& on() const noexcept { return on_; }
    [[nodiscard]] direction way() const noexcept { return kind_.way; }
    [[nodiscard]] bool attempt() noexcept { return kind_.attempt(*this); }
    [[nodiscard]] bool prepare(io_submission& call) noexcept {
        return kind_.prepare != nullptr && kind_.prepare(*this, call);
    }
    [[nodiscard]] bool take(std::ptrdiff_t result) noexcept { return kind_.take(*this, result); }

    /// It will be ended: fetches it into the cache, and then what its coroutine touches first.
    void prefetch() const noexcept {
        __builtin_prefetch(this);
        __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + cache_line);
    }
    void prefetch_more() const noexcept;

    /// For wait_kind::claim.
    static bool claim(wait_operation& waiting) noexcept;

    /// It has not been tried, because the last read left nothing: it is to wait for what comes after that, which may
    /// have come.
    [[nodiscard]] bool is_untried() const noexcept { return is_untried_; }

    /// Where it waits, under the lock of that: it must not go on to wait, but end_early().
    [[nodiscard]] bool must_end() const noexcept { return must_stop() || (limit_ != nullptr && limit_->has_come()); }
    /// It must_end(), after it had waited: its coroutine is stopped, or goes on because time is up.
    void end_early() noexcept;

protected:
    io_operation(promise_base& p, descriptor& on, const io_kind& kind) noexcept
        : wait_operation(p, kind.stops),
          on_(on),
          kind_(kind) {}
    ~io_operation() {
        if (counted_) leave();  // it was stopped
    }

    /// await_ready(): tries it, unless the coroutine has gone on without a suspension for long, or the system is to be
    /// asked at once.
    [[nodiscard]] bool try_now() noexcept;
    /// await_ready(), where it is done without a call of the system.
    [[nodiscard]] bool is_done_at_once() noexcept;
    /// await_suspend().
    /// Errors: std::system_error, if the system has no event source; std::bad_alloc in the first wait of a coroutine.
    /// Then nothing has happened.
    std::coroutine_handle<> suspend();
    /// The same, where an error is a value, in `refused`: the coroutine goes on with it.
    /// Errors: std::invalid_argument, for a choice of the user that there is not.
    std::coroutine_handle<> suspend(std::error_code& refused);
    /// await_resume(), first.
    void resumed() noexcept {
        wait_operation::resumed();
        if (!counted_) return;
        if (limit_ != nullptr) limit_->disarm();
        leave();
    }

    /// Before it waits. It dies before the operation does.
    void limit_by(io_limit& limit) noexcept { limit_ = &limit; }

private:
    /// It waits for its descriptor no more, which may die from now on.
    void leave() noexcept;
    /// Behind the door of all waits: it enters its place in `home`.
    wait_attempt enter(io_source& home) noexcept;

    descriptor& on_;
    const io_kind& kind_;
    io_limit* limit_ = nullptr;
    bool counted_ = false;  // by its descriptor
    bool is_late_ = false;  // its round was over before it was tried
    bool is_untried_ = false;
    bool lets_others_run_ = false;  // it is done, and its round is over
};

/// Owns a descriptor of the system; with the event source that it has its home in, and the name of its peer.
class descriptor_handle {
public:
    descriptor_handle() noexcept = default;
    /// Takes over an open descriptor of `by`, or of the system; -1: none, only the name of the peer.
    /// Errors: std::bad_alloc; then it is closed.
    descriptor_handle(int opened, const endpoint& peer, socket_calls* by = nullptr);
    descriptor_handle(descriptor_handle&& other) noexcept : owned_(std::exchange(other.owned_, nullptr)) {}
    descriptor_handle& operator=(descriptor_handle&& other) noexcept;
    ~descriptor_handle() { close("dies"); }

    /// Errors: a checked error if an operation waits for it.
    void close(const char* how) noexcept;
    /// A second owner, so that each owns one direction.
    [[nodiscard]] descriptor_handle share() const noexcept;
    [[nodiscard]] bool is_shared() const noexcept;
    /// close() of an owner of one direction: the descriptor is closed with the last of its owners.
    void close_way(direction way, const char* how) noexcept;
    [[nodiscard]] bool is_open() const noexcept { return owned_ != nullptr; }
    /// Errors: a checked error if it is closed, or was moved from.
    [[nodiscard]] descriptor& get() const noexcept;
    [[nodiscard]] int number() const noexcept;
    [[nodiscard]] const endpoint& peer() const noexcept;

private:
    descriptor* owned_ = nullptr;
};

/// The error of a call that gave `result`, which is negative, at `where`.
[[noreturn]] void throw_io_error(std::ptrdiff_t result, const char* what, const endpoint& where);
[[nodiscard]] inline std::error_code io_error(std::ptrdiff_t result) noexcept {
    return {static_cast<int>(-result), std::system_category()};
}

}  // namespace coflux::detail
