// The page docs/design/io.md has the states.
#include <coflux/io/detail/io_operation.hpp>

#include <new>
#include <system_error>

#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/turn.hpp>

#include "core/detail/thread/steps.hpp"
#include "descriptor.hpp"
#include "io_counts.hpp"

namespace coflux::detail {
namespace {

/// So many calls of a socket that end at once count as one step: a call that comes after the last step of its round
/// suspends, which costs a resumption, and makes the portion that a look finds a smaller one.
constexpr unsigned calls_in_a_step = 4;
constinit thread_local unsigned calls_made = 0;

/// A coroutine is about to make one: true as spend_steps().
bool spend_call() noexcept {
    if (this_thread.queues != nullptr && ++calls_made % calls_in_a_step != 0) return false;
    return spend_steps(1);
}

}  // namespace

bool io_operation::try_now() noexcept {
    is_untried_ = on_.take_empty(way());
    // It suspends in any case, and is a resumption of the round that it goes on in.
    if (kind_.prepare != nullptr && on_.is_submitted_at_once(way())) return false;
    // Also where it is not tried: another thread's look may have what it waits for, and then it does not suspend.
    is_late_ = spend_call();
    return !is_late_ && !is_untried_ && attempt();
}

bool io_operation::is_done_at_once() noexcept {
    lets_others_run_ = !goes_on();
    return !lets_others_run_;
}

void io_operation::prefetch_more() const noexcept {
    const promise_base& p = coroutine();
    __builtin_prefetch(&p);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(&p) + cache_line);
    on_.prefetch();
    prefetch_record();
}

std::coroutine_handle<> io_operation::suspend() {
    promise_base& p = coroutine();
    if (lets_others_run_) return let_others_run(p);
    if (p.begin_suspend() == detail::suspension::stop) [[unlikely]]
        return p.stop_here();
    if (limit_ != nullptr && !limit_->prepare(p)) return goes_on() ? transfer(p.handle()) : let_others_run(p);
    io_source& home = on_.begin_wait(p, way());  // before a stop request can find the wait: claim() asks the source
    counted_ = true;
    switch (attempt_wait(*this, [this, &home]() noexcept { return enter(home); })) {
    case wait_attempt::ready: return transfer(p.handle());
    case wait_attempt::stop: return p.stop_here();
    case wait_attempt::waits: break;
    }
    io_counts::count_wait();
    return suspended();  // this object may be gone
}

wait_attempt io_operation::enter(io_source& home) noexcept {
    if (limit_ != nullptr) limit_->arm();
    const io_slot at = on_.slot(way());
    const wait_attempt went = is_late_ ? home.arm_for_next_look(*this, at) : home.arm(*this, at);
    if (went != wait_attempt::stop || must_stop()) return went;
    limit_->set_over();
    return wait_attempt::ready;
}

std::coroutine_handle<> io_operation::suspend(std::error_code& refused) {
    try {
        return suspend();
    } catch (const std::system_error& e) {
        refused = e.code();
    } catch (const std::bad_alloc&) {
        refused = std::make_error_code(std::errc::not_enough_memory);
    }
    return transfer(coroutine().handle());
}

void io_operation::end_early() noexcept {
    if (!must_stop()) {
        limit_->set_over();
        return wake();
    }
    withdraw();  // it does not come to its end()
    stop_claimed(*this);
}

void io_operation::leave() noexcept {
    counted_ = false;
    on_.end_wait(way());
}

/// It is counted, so its descriptor is there, and stays in its home.
bool io_operation::claim(wait_operation& waiting) noexcept {
    auto& op = static_cast<io_operation&>(waiting);
    return op.on_.source(op.way()).claim(op, op.on_.slot(op.way()));
}

}  // namespace coflux::detail
