#include <coflux/combine/detail/some_awaiter.hpp>

#include <stdexcept>
#include <string>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/detail/scope/failure.hpp>

#include "core/detail/scope/scope_failures.hpp"
#include "core/detail/wait/stop_steps.hpp"

namespace coflux::detail {
namespace {

constexpr std::uint64_t one_with_value = 1;
constexpr std::uint64_t one_stopped = std::uint64_t{1} << 31;
constexpr std::uint64_t erred = std::uint64_t{1} << 62;
constexpr std::uint64_t error_decided = std::uint64_t{1} << 63;

constexpr std::size_t values_in(std::uint64_t ends) noexcept {
    return ends & (one_stopped - 1);
}
constexpr std::size_t stopped_in(std::uint64_t ends) noexcept {
    return (ends & (erred - 1)) >> 31;
}

}  // namespace

void throw_bad_count(const char* operation, std::size_t wanted, std::size_t of) {
    throw std::invalid_argument("coflux: " + std::string(operation) + ": " + std::to_string(wanted) + " of " +
                                std::to_string(of) + " are wanted; it takes at least one, and no more than there are");
}

void some_awaiter::give_up() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        if (nodes_[i].child != nullptr) promise_base::drop(*nodes_[i].child);
    }
}

void some_awaiter::watch(some_node* nodes, std::size_t count) noexcept {
    nodes_ = nodes;
    count_ = count;
    pending_.store(count + 1, memory_order_relaxed);  // pairs with nothing: no other thread knows this object yet
}

bool some_awaiter::await_ready() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        if (!nodes_[i].child->done()) return false;
    }
    for (std::size_t i = 0; i < count_; ++i) note(i);
    pending_.store(0, memory_order_relaxed);  // pairs with nothing: no other thread touches this object
    return !stops_awaiting();
}

std::coroutine_handle<> some_awaiter::await_suspend(std::coroutine_handle<>) noexcept {
    promise_base& p = coroutine_;
    const bool stop_requested = p.begin_suspend() == suspension::stop;
    // relaxed: no other thread knows this object yet
    if (pending_.load(memory_order_relaxed) == 0) return p.stop_here();
    if (has_foreign_handles(stop_requested)) [[unlikely]] {
        static constexpr stop_calls calls{&request_stop, &go_on};
        relay_.begin(p, stop_requested, this, calls, count_);
    } else if (stop_requested) [[unlikely]] {
        return p.stop_here();
    }
    if (count_ > longest_stop_step) p.open_for_waits();  // a child of it may stop the others
    std::size_t ended = 1;                               // the registration's own unit
    std::coroutine_handle<> next = no_coroutine();
    for (std::size_t i = 0; i < count_; ++i) {
        some_node& node = nodes_[i];
        // No coroutine: the awaiting one may be woken by another child's end, so this end must not change its own count
        // of children.
        node.of = this;
        node.ended = &child_ended;
        frame_control& c = *node.child;
        switch (i + 1 == count_ ? p.await_frame(c, node) : p.join_frame(c, node)) {
        case join_result::popped: next = c.frame(); break;
        case join_result::registered: break;
        case join_result::completed:
            node.of = nullptr;
            note(i);
            ++ended;
            break;
        }
    }
    if (pending_.fetch_sub(ended, memory_order_acq_rel) != ended) return transfer(next);  // this object may be gone
    if (stops_awaiting()) p.begin_unwind();
    if (!relay_.over()) return no_coroutine();
    return transfer(p.handle());
}

std::coroutine_handle<> some_awaiter::child_ended(waiter& self, frame_control&, const void* here) noexcept {
    auto& node = static_cast<some_node&>(self);
    some_awaiter& of = *node.of;
    of.note(static_cast<std::size_t>(&node - of.nodes_));
    return of.give_back_unit(here);
}

/// On a thread that runs another coroutine, or none.
std::coroutine_handle<> some_awaiter::give_back_unit(const void* here) noexcept {
    if (pending_.fetch_sub(1, memory_order_acq_rel) != 1) return no_coroutine();  // this object may be gone
    promise_base& p = coroutine_;
    if (stops_awaiting()) p.begin_unwind();
    if (!relay_.over()) return no_coroutine();
    return promise_base::resume_from(p, here);
}

bool some_awaiter::has_foreign_handles(bool stop_requested) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        frame_control& c = *nodes_[i].child;
        if (!c.done() && !is_stopped_with(coroutine_, c, stop_requested)) return true;
    }
    return false;
}

void some_awaiter::request_stop(void* self, std::size_t i) noexcept {
    request_stop_of(*static_cast<some_awaiter*>(self)->nodes_[i].child);
}

void some_awaiter::go_on(void* self) noexcept {
    static_cast<some_awaiter*>(self)->relay_.wake();
}

void some_awaiter::note(std::size_t i) noexcept {
    bool decides = false;
    switch (nodes_[i].child->word.end()) {
    case ending::value:
        if (is_late_ != nullptr && is_late_(*nodes_[i].child)) break;
        decides = note_value(i);
        break;
    case ending::error: {
        if (errors_ == some_errors::wait) {
            ends_.fetch_or(erred, memory_order_relaxed);
            break;
        }
        // Set only where it decides: an error that comes after enough values changes nothing.
        std::uint64_t before = ends_.load(memory_order_relaxed);
        while ((before & error_decided) == 0 && values_in(before) < wanted_) {
            if (!ends_.compare_exchange_weak(before, before | error_decided, memory_order_relaxed,
                                             memory_order_relaxed))
                continue;
            failed_ = i;
            decides = true;
            break;
        }
        break;
    }
    case ending::stopped: {
        const std::uint64_t before = ends_.fetch_add(one_stopped, memory_order_relaxed);
        // From this one on there cannot be enough values.
        decides = errors_ == some_errors::decide && (before & error_decided) == 0 && values_in(before) < wanted_ &&
                  stopped_in(before) == count_ - wanted_;
        break;
    }
    }
    if (decides) stop_others();
}

bool some_awaiter::note_value(std::size_t i) noexcept {
    const std::uint64_t before = ends_.fetch_add(one_with_value, memory_order_relaxed);
    const std::size_t rank = values_in(before);
    if ((before & error_decided) != 0 || rank >= wanted_) return false;
    nodes_[rank].ranked = i;
    return rank + 1 == wanted_ && wanted_ != count_;  // where all must give values, the last leaves none to stop
}

/// The party that has noted the end has a unit of pending_, and gives that back after this.
void some_awaiter::stop_others() noexcept {
    static constexpr stop_calls calls{
        &request_stop, [](void* self) noexcept { (void)static_cast<some_awaiter*>(self)->give_back_unit(nullptr); }};
    pending_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: the caller's is out
    if (many_stops(this, calls, count_).request(coroutine_)) pending_.fetch_sub(1, memory_order_relaxed);
}

bool some_awaiter::has_values() const noexcept {
    const std::uint64_t ends = ends_.load(memory_order_relaxed);  // all ends are noted
    return (ends & error_decided) == 0 && values_in(ends) >= wanted_;
}

std::size_t some_awaiter::first_late() const noexcept {
    std::size_t i = is_late_ != nullptr ? 0 : count_;
    while (i != count_ && nodes_[i].child->word.end() != ending::value) ++i;
    return i;
}

bool some_awaiter::stops() const noexcept {
    return !has_values() && (ends_.load(memory_order_relaxed) & (erred | error_decided)) == 0 && !relay_.has_failed() &&
           first_late() == count_;
}

bool some_awaiter::stops_awaiting() const noexcept {
    return stops() && !coroutine_.control().word.has(frame_flags::takes_stop);
}

void some_awaiter::settle() {
    this_thread.current = &coroutine_;
    if (!has_values()) {
        if ((ends_.load(memory_order_relaxed) & (erred | error_decided)) == 0) {
            relay_.throw_if_failed();
            nodes_[0].ranked = first_late();
            return;
        }
        rethrow();
    }
    if (values_in(ends_.load(memory_order_relaxed)) == count_) [[likely]]
        return;
    for (std::size_t i = 0; i < count_; ++i) {
        frame_control& c = *nodes_[i].child;
        if (c.word.end() != ending::error) continue;
        if (errors_ == some_errors::wait) {
            c.error->observe();
        } else if (nodes_[i].of != nullptr && !c.join.is_shared()) {
            // The error was not observed (law 12). That of a child that ended before, or that has views, is with its
            // scope already.
            scope_failures::record(coroutine_.open_scope(), *c.error);
        }
    }
}

void some_awaiter::rethrow() {
    joined_failures failures;
    const auto add = [&](std::size_t i) {
        frame_control& c = *nodes_[i].child;
        if (c.word.end() != ending::error) return;
        c.error->retain();
        failures.add(*c.error);
    };
    if (errors_ == some_errors::decide) add(failed_);
    for (std::size_t i = 0; i < count_; ++i) {
        if (errors_ == some_errors::wait || i != failed_) add(i);
    }
    failures.release()->rethrow();
}

}  // namespace coflux::detail
