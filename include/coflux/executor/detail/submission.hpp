// A coroutine's request to a shard: a message that lies in its await. The page docs/design/shards.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/executor/detail/call_result.hpp>

namespace coflux::detail {

class shard_set;
class shard_thread;

/// A submission without its types.
class submission : public wait_operation {
public:
    submission(const submission&) = delete;
    submission& operator=(const submission&) = delete;

protected:
    submission(promise_base& p, shard_set& of, std::size_t to, void (*call)(submission&) noexcept);
    ~submission() = default;

    /// True if this is the thread of the shard: then the function is called in place.
    [[nodiscard]] bool is_here() const noexcept;
    /// Sends it.
    std::coroutine_handle<> send();

private:
    friend class shard_thread;
    static const wait_kind how_it_stops;
    static bool claim(wait_operation&) noexcept { return false; }

    shard_thread* const to_;
    shard_thread* from_ = nullptr;  // where the reply goes; nullptr: to the coroutine's executor
    void (*const call_)(submission&) noexcept;
    submission* next_sent_ = nullptr;  // in an outbox
    bool done_ = false;                // it is a reply

    /// A shard resumes it where the sender is none: begins like a coroutine frame of either compiler.
    struct frame {
        void (*resume)(void*);
        void (*destroy)(void*);
        submission* of;
    } frame_{};
};

/// The await of shard_group::submit_to(). `F` is kept in the request.
template <typename F>
class [[nodiscard]] submit_awaiter : private submission {
    using result = std::invoke_result_t<F&>;

public:
    submit_awaiter(promise_base& p, shard_set* of, std::size_t to, F& f)
        : submission(p, *of, to, &call),
          f_(std::move(f)) {}

    [[nodiscard]] bool await_ready() noexcept {
        if (!is_here()) return false;
        call(*this);
        return goes_on();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
        return is_here() ? let_others_run(coroutine()) : send();
    }
    result await_resume() {
        resumed();
        return result_.take();
    }

private:
    static void call(submission& s) noexcept {
        auto& self = static_cast<submit_awaiter&>(s);
        self.result_.keep([&self]() -> result { return std::invoke(self.f_); });
    }

    F f_;
    call_result<result> result_;
};

/// The result of submit_to().
template <typename F>
class [[nodiscard("nothing is submitted until this is awaited: co_await it")]] submit_request
    : public request<submit_awaiter<F>, shard_set*, std::size_t, F> {
public:
    using single_use = void;

    submit_request(shard_set* of, std::size_t to, F f)
        : request<submit_awaiter<F>, shard_set*, std::size_t, F>(of, static_cast<std::size_t&&>(to), std::move(f)) {}
    submit_request(const submit_request&) = delete;
    submit_request& operator=(const submit_request&) = delete;
};

}  // namespace coflux::detail
