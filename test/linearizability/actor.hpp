// The user of the object that is checked: a coroutine that notes down what it does, and dawdles at random.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/turn.hpp>

#include "linearizability/history.hpp"
#include "support/random_numbers.hpp"

namespace coflux_test::linearizability {

inline void dawdle(unsigned pauses) noexcept {
    for (unsigned i = 0; i < pauses; ++i) coflux::detail::cpu_pause();
}

/// The common part of the actors of one history.
struct common_ground {
    timepiece clock;
    std::atomic<const void*> first_thread{nullptr};  // on which the first actor began
    std::atomic<bool> met{false};                    // another thread has begun, or was not waited for
    std::atomic<unsigned> suspending{0};             // actors inside an await_suspend
    std::atomic<unsigned> ended{0};                  // actors that have done all they will, or are being unwound
    std::atomic<std::uint32_t> values{0};            // values given out: each is sent once
};

/// One actor of one history. Threads: its coroutine's; the chronicle is read when that has ended.
class actor {
public:
    void prepare(common_ground& g, std::uint8_t number, std::uint64_t seed) noexcept {
        ground_ = &g;
        number_ = number;
        random = random_numbers(seed);
        done.clear();
    }
    moment tick() noexcept { return ground_->clock.tick(); }
    /// A number that no other send of this history has.
    std::uint8_t next_value() noexcept {
        return static_cast<std::uint8_t>(ground_->values.fetch_add(1, std::memory_order_relaxed) + 1);
    }
    /// First thing of an actor: the first one looks for a moment whether another has begun on another thread.
    void meet() noexcept {
        const void* first = nullptr;
        if (!ground_->first_thread.compare_exchange_strong(first, this_thread_mark(), std::memory_order_relaxed) &&
            first != this_thread_mark())
            ground_->met.store(true, std::memory_order_relaxed);
        for (int i = 0; i < 400 && !ground_->met.load(std::memory_order_relaxed); ++i) coflux::detail::cpu_pause();
        ground_->met.store(true, std::memory_order_relaxed);  // or given up
    }
    /// Between two operations.
    void dawdle_a_little() noexcept {
        if (!random.one_in(3)) dawdle(random.below(24));
    }

    random_numbers random{0};
    chronicle done;

private:
    friend class recording;
    friend class attendance;

    common_ground* ground_ = nullptr;
    std::uint8_t number_ = 0;
};

/// A local of an actor's coroutine: notes when it has come to its end, by whatever way.
class attendance {
public:
    explicit attendance(actor& a) noexcept : of_(a) { a.meet(); }
    attendance(const attendance&) = delete;
    attendance& operator=(const attendance&) = delete;
    ~attendance() { of_.ground_->ended.fetch_add(1, std::memory_order_relaxed); }

private:
    actor& of_;
};

/// One operation, from its call to its return. If it dies before returned() a stop has ended the operation.
class recording {
public:
    /// Pre: the chronicle is not full.
    recording(actor& a, unsigned kind, unsigned argument = 0, unsigned value = 0) noexcept
        : by_(a),
          operation_(a.done.add({})) {
        operation_.actor = a.number_;
        operation_.kind = static_cast<std::uint8_t>(kind);
        operation_.argument = static_cast<std::uint8_t>(argument);
        operation_.value = static_cast<std::uint8_t>(value);
        operation_.thread = this_thread_mark();
        operation_.called = a.tick();
    }
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;
    ~recording() {
        if (operation_.returned != never) return;
        operation_.stopped = true;
        operation_.returned = by_.tick();
    }
    void returned(unsigned result = 1) noexcept {
        operation_.returned = by_.tick();
        operation_.result = static_cast<std::uint8_t>(result);
    }

    /// `co_await r.watch(m.lock())`: the same as without, but the moment is noted from which on the operation surely
    /// is in its queue. Without it nothing would distinguish a wake-up that was lost, or a wrong order, from an
    /// operation that was slow to come.
    template <typename Request>
    class watched;
    template <typename Request>
    [[nodiscard]] watched<Request> watch(Request&& r) noexcept {
        return watched<Request>(*this, std::forward<Request>(r));
    }

private:
    actor& by_;
    operation& operation_;
};

template <typename Request>
class [[nodiscard]] recording::watched {
    using request_awaiter = decltype(coflux::detail::await_access::await_in(
        std::declval<Request>(), std::declval<coflux::detail::promise_base&>(), std::declval<std::source_location>()));

public:
    watched(recording& r, Request&& request) noexcept : recording_(r), request_(std::forward<Request>(request)) {}
    watched(const watched&) = delete;
    watched& operator=(const watched&) = delete;

    class awaiter {
    public:
        awaiter(recording& r, Request&& request, coflux::detail::promise_base& p, std::source_location where)
            : ground_(*r.by_.ground_),
              operation_(r.operation_),
              awaiter_(coflux::detail::await_access::await_in(std::forward<Request>(request), p, where)) {}
        awaiter(const awaiter&) = delete;
        awaiter& operator=(const awaiter&) = delete;
        [[nodiscard]] bool await_ready() {
            // A step begins: a lock that is tried when the others have run is in no queue until then.
            coflux::detail::ready_awaits_left = coflux::detail::ready_awaits_in_a_step - 1;
            return awaiter_.await_ready();
        }
        template <typename P>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
            // By the time the call returns this awaiter may be gone, and the history over but for the director, which
            // waits for this.
            common_ground& ground = ground_;
            operation& o = operation_;
            ground.suspending.fetch_add(1, std::memory_order_relaxed);
            const std::coroutine_handle<> next = awaiter_.await_suspend(h);
            o.queued = ground.clock.tick();
            ground.suspending.fetch_sub(1, std::memory_order_release);  // pairs with the director's load
            return next;
        }
        decltype(auto) await_resume() { return awaiter_.await_resume(); }

    private:
        common_ground& ground_;
        operation& operation_;
        request_awaiter awaiter_;
    };
    awaiter await_in(coflux::detail::promise_base& p, std::source_location where) && {
        return awaiter(recording_, std::forward<Request>(request_), p, where);
    }

private:
    recording& recording_;
    Request&& request_;
};

}  // namespace coflux_test::linearizability
