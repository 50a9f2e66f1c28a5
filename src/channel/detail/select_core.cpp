// The page docs/design/channel.md has the protocol.
#include <coflux/channel/detail/select_core.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/detail/wait/turn.hpp>

#include "core/detail/scope/scope_failures.hpp"
#include "core/detail/wait/stop_steps.hpp"

namespace coflux::detail {

void throw_select_of_nothing() {
    throw std::invalid_argument("coflux: select: of no case at all it would wait for ever");
}

select_child::~select_child() {
    if (control == nullptr) return;
    begun ? promise_base::drop(*control) : destroy_unbegun(*control);
}

namespace {

/// Writes the channels of the cases to `room`, each once, in the order of their addresses. Returns how many there are.
std::size_t channels_in_order(std::span<const select_entry> cases, channel_core** room) noexcept {
    channel_core** end = room;
    for (const select_entry& e : cases) {
        if (e.node != nullptr) *end++ = e.node->core;
    }
    if (!std::is_sorted(room, end, std::less<>())) std::sort(room, end, std::less<>());
    return static_cast<std::size_t>(std::unique(room, end) - room);
}

}  // namespace

/// Holds the locks of all channels of a select, taken in the order of their addresses: so that of two selects that
/// share channels neither waits for the other.
class select_core::all_locks {
public:
    explicit all_locks(const select_core& of) noexcept : channels_(of.channels_) {
        if (channels_.empty()) channels_ = {room_.data(), channels_in_order(of.cases_, room_.data())};
        for (channel_core* const c : channels_) c->lock();
    }
    all_locks(const all_locks&) = delete;
    all_locks& operator=(const all_locks&) = delete;
    void unlock() noexcept {
        for (channel_core* const c : channels_) c->unlock();
    }

private:
    std::span<channel_core* const> channels_;
    std::array<channel_core*, most_select_cases> room_;  // for those of few cases
};

const wait_kind select_core::kind{&select_core::claim, &select_core::stop, "one of several channels"};

void select_core::set_up() noexcept {
    channel_core* first = nullptr;
    for (std::uint32_t i = 0; i < cases_.size(); ++i) {
        select_entry& e = cases_[i];
        if (e.node != nullptr) {
            e.node->prepare(this, i);
            if (first == nullptr) first = e.node->core;
        } else if (e.child != nullptr) {
            e.child->ended = &select_core::child_ended;
            e.child->of = this;
            e.child->position = i;
            ++children_;
        } else {
            otherwise_ = i;
        }
    }
    if (first != nullptr) start_ = first->next_start(static_cast<std::uint32_t>(cases_.size()));
}

void select_core::set_up(std::span<select_entry> cases, channel_core** room) noexcept {
    cases_ = cases;
    channels_ = {room, channels_in_order(cases, room)};
    set_up();
}

/// A hint without locks: true if no channel's case could be done now.
bool select_core::would_wait() const noexcept {
    return std::ranges::none_of(cases_, [](const select_entry& e) {
        if (e.node == nullptr) return false;
        channel_core& c = *e.node->core;
        return !(e.queue == &c.senders() ? c.send_would_wait() : c.receive_would_wait());
    });
}

bool select_core::attempt_channels(channel_wakes& wakes) noexcept {
    const auto count = static_cast<std::uint32_t>(cases_.size());
    for (std::uint32_t k = 0, i = start_; k < count; ++k, i = i + 1 == count ? 0 : i + 1) {
        select_entry& e = cases_[i];
        if (e.node == nullptr || !e.attempt(*e.node, wakes)) continue;
        decide_at_once(i);
        return true;
    }
    return false;
}

/// Looks at the cases one after the other, without holding more than one lock: what can be done at once is done.
/// Coroutines that have not begun begin.
bool select_core::is_done_at_once() noexcept {
    promise_base& p = coroutine();
    if (children_ == 0) {
        if (otherwise_ == no_case && would_wait()) return false;
        channel_wakes wakes;
        all_locks locks(*this);
        const bool done = attempt_channels(wakes);
        locks.unlock();
        wakes.wake();
        if (!done && otherwise_ != no_case) decide_at_once(otherwise_);
        return is_decided();
    }
    const auto count = static_cast<std::uint32_t>(cases_.size());
    for (std::uint32_t k = 0, i = start_; k < count && !is_decided(); ++k, i = i + 1 == count ? 0 : i + 1) {
        select_entry& e = cases_[i];
        if (e.node != nullptr) {
            channel_wakes wakes;
            e.node->core->lock();
            const bool done = e.attempt(*e.node, wakes);
            e.node->core->unlock();
            wakes.wake();
            if (done) decide_at_once(i);
        } else {
            select_child& c = *e.child;
            if (!std::exchange(c.begun, true)) {
                promise_base::of(*c.control).begin_in_creator(c.control->frame());
                this_thread.current = &p;
            }
            if (c.control->done()) decide_at_once(i);
        }
    }
    if (!is_decided() || has_running_losers()) return false;
    const select_child* const winner = cases_[decided() - first_case].child;
    return winner == nullptr || !winner->control->word.ended_stopped();
}

bool select_core::await_ready() noexcept {
    if (!is_done_at_once()) return false;
    lets_others_run_ = !goes_on();
    return !lets_others_run_;
}

std::coroutine_handle<> select_core::await_suspend(std::coroutine_handle<>) {
    promise_base& p = coroutine();
    if (lets_others_run_) return let_others_run(p);
    const bool stops = p.begin_suspend() == suspension::stop;
    if (is_decided()) return join_losers();  // what is done stays done, whatever was requested
    if (stops) [[unlikely]]
        return stop_and_join();
    const bool alone = children_ == 0;
    channel_wakes wakes;
    wait_attempt went = wait_attempt::waits;
    try {
        went = attempt_wait(*this, [this, &wakes]() noexcept { return enter(wakes); });
    } catch (...) {
        // Nothing waits for them: at once.
        for (std::size_t i = 0; i != cases_.size(); ++i) stop_loser(this, i);
        throw;
    }
    if (went == wait_attempt::waits) return alone ? suspended() : wait_for_children();  // alone it may be gone
    if (went == wait_attempt::stop) return stop_and_join();
    wakes.wake();
    return join_losers();
}

wait_attempt select_core::enter(channel_wakes& wakes) noexcept {
    units_.store(2, memory_order_relaxed);  // the decision and ours; published by the CAS below
    all_locks locks(*this);
    if (attempt_channels(wakes)) {
        locks.unlock();
        return wait_attempt::ready;
    }
    // Queued before the word is open: from then on a stop request, which takes no lock, may resume the coroutine
    // elsewhere. It then leaves the queues, for which it needs these locks.
    for (select_entry& e : cases_) {
        if (e.node != nullptr) e.queue->push_back(*e.node);
    }
    parked_ = true;
    std::uint32_t before = idle;
    // acq_rel pairs with the CASes of claim() and decide(). If claim() was here first, the request is ours to see.
    if (must_stop() || !word_.compare_exchange_strong(before, open, memory_order_acq_rel, memory_order_relaxed))
        [[unlikely]] {
        for (const select_entry& e : cases_) {
            if (e.node != nullptr) (void)channel_queue::remove(*e.node);
        }
        parked_ = false;
        locks.unlock();
        return wait_attempt::stop;
    }
    locks.unlock();
    return wait_attempt::waits;
}

// --- coroutines among the cases
// --------------------------------------------------------------------------------------------------------------------

bool select_core::has_running_losers() const noexcept {
    return std::ranges::any_of(cases_,
                               [](const select_entry& e) { return e.child != nullptr && e.child->is_running(); });
}

/// True if `child_ended` will be called for it; false if it has ended.
bool select_core::try_await(select_child& c) noexcept {
    frame_control& f = *c.control;
    c.keeps_error = !f.join.is_shared();
    if (f.join.await(c) == join_result::registered) return true;
    c.keeps_error = false;
    return false;
}

std::coroutine_handle<> select_core::wait_for_children() noexcept {
    promise_base& p = coroutine();
    for (select_entry& e : cases_) {
        if (e.child == nullptr) continue;
        units_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: ours is still out
        if (try_await(*e.child)) continue;
        units_.fetch_sub(1, memory_order_relaxed);
        if (decide(e.child->position) && stop_losers()) (void)give_back_unit();  // that of the decision; not ours yet
    }
    if (!give_back_unit()) return suspended();  // this may be gone
    joined();
    p.clear_current();
    return transfer(p.handle());
}

/// A stop came before the wait: requests a stop of the coroutines among the cases, wherever they were made, and waits
/// for their ends.
std::coroutine_handle<> select_core::stop_and_join() noexcept {
    if (children_ == 0) return coroutine().stop_here();
    word_.store(stopped, memory_order_relaxed);  // no request finds this any more
    return join_losers();
}

/// It is decided, and this thread runs the coroutine: requests a stop of the losers, and waits for their ends.
std::coroutine_handle<> select_core::join_losers() noexcept {
    promise_base& p = coroutine();
    units_.store(2, memory_order_relaxed);  // the decision and ours; published by try_await()
    if (stop_losers()) (void)give_back_unit();
    for (select_entry& e : cases_) {
        if (e.child == nullptr || !e.child->is_running()) continue;
        units_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: ours is still out
        if (!try_await(*e.child)) units_.fetch_sub(1, memory_order_relaxed);
    }
    if (!give_back_unit()) return suspended();  // this may be gone
    joined();
    p.clear_current();
    return transfer(p.handle());
}

/// It is decided: requests a stop of the coroutines that have lost. True if the caller gives back the unit of the
/// decision. Where they are many, that is done later, on the executor of the coroutine.
bool select_core::stop_losers() noexcept {
    static constexpr stop_calls calls{&stop_loser, &give_back_decision};
    return many_stops(this, calls, cases_.size()).request(coroutine());
}

/// stop_losers() by a party that has no other unit. It takes one: where a child does the rest, that may be over before
/// this thread lets go of the child's frame.
void select_core::stop_losers_and_go_on() noexcept {
    units_.fetch_add(1, memory_order_relaxed);  // pairs with nothing: that of the decision is still out
    if (stop_losers()) (void)give_back_unit();
    give_back_decision(this);
}

void select_core::stop_loser(void* self, std::size_t i) noexcept {
    const auto& of = *static_cast<select_core*>(self);
    const select_child* const c = of.cases_[i].child;
    if (c == nullptr || of.decided() == first_case + c->position || !c->is_running()) return;
    promise_base::of(*c->control).request_stop();
}

/// On a thread that does not run the coroutine.
void select_core::give_back_decision(void* self) noexcept {
    auto& of = *static_cast<select_core*>(self);
    if (!of.give_back_unit()) return;
    of.joined();
    of.wake();
}

bool select_core::give_back_unit() noexcept {
    // acq_rel: the thread that goes on sees what all other threads did.
    return units_.fetch_sub(1, memory_order_acq_rel) == 1;
}

/// All coroutines among the cases that began have ended: no error is lost (law 12), and a stop of the winner is passed
/// on.
void select_core::joined() noexcept {
    promise_base& p = coroutine();
    joined_ = true;
    const std::uint32_t word = decided();
    const std::uint32_t winner = word >= first_case ? word - first_case : no_case;
    for (const select_entry& e : cases_) {
        if (e.child == nullptr || !e.child->keeps_error || e.child->position == winner) continue;
        frame_control& c = *e.child->control;
        if (c.word.end() == ending::error) scope_failures::record(p, *c.error);
    }
    if (word == stopped) {
        p.begin_unwind();
    } else if (const select_child* const c = cases_[winner].child; c != nullptr && c->control->word.ended_stopped()) {
        if (has_begun()) withdraw();
        // Its environment objects are joined before the cases die, and would wait for what was made there and never
        // begins.
        for (const select_entry& e : cases_) {
            if (e.child != nullptr && !e.child->begun) destroy_unbegun(*std::exchange(e.child->control, nullptr));
        }
        p.begin_unwind();
    }
}

std::coroutine_handle<> select_core::child_ended(waiter& self, frame_control&, const void* here) noexcept {
    auto& child = static_cast<select_child&>(self);
    select_core& of = *child.of;
    if (of.decide(child.position) && of.stop_losers())
        (void)of.give_back_unit();  // that of the decision; the child's own is still out
    if (!of.give_back_unit()) return no_coroutine();
    of.joined();
    return promise_base::resume_from(of.coroutine(), here);
}

// --- the other ways to an end
// ---------------------------------------------------------------------------------------------------------------------

void select_core::won() noexcept {
    if (children_ == 0) return wake();
    stop_losers_and_go_on();
}

bool select_core::claim(wait_operation& op) noexcept {
    auto& self = static_cast<select_core&>(op);
    std::uint32_t s = idle;
    // acq_rel pairs with the CAS of await_suspend(), which then fails, and with decide().
    if (self.word_.compare_exchange_strong(s, stop_requested, memory_order_acq_rel, memory_order_relaxed)) return false;
    return s == open && self.word_.compare_exchange_strong(s, stopped, memory_order_acq_rel, memory_order_relaxed);
}

void select_core::stop(wait_operation& claimed) noexcept {
    auto& self = static_cast<select_core&>(claimed);
    if (self.children_ == 0) return stop_claimed(self);
    self.stop_losers_and_go_on();
}

void select_core::leave() noexcept {
    if (!std::exchange(parked_, false)) return;
    for (select_entry& e : cases_) {
        if (e.node == nullptr) continue;
        e.node->core->lock();
        (void)channel_queue::remove(*e.node);
        e.node->core->unlock();
    }
}

std::uint32_t select_core::resumed() noexcept {
    leave();
    wait_operation::resumed();
    if (children_ != 0 && !joined_) joined();
    return decided() - first_case;
}

}  // namespace coflux::detail
