#include "world.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/wait/turn.hpp>

#include "core/detail/scope/environment_tree.hpp"

namespace coflux::testing::detail {

using coflux::detail::clock_tick;
using coflux::detail::environment_tree;
using coflux::detail::frame_control;
using coflux::detail::promise_base;
using coflux::detail::this_thread;
using coflux::detail::timing_wheel;

namespace {

thread_local world* youngest = nullptr;
/// Worlds of simulations that have ended.
thread_local std::vector<std::unique_ptr<world>> spare;

/// A number that does not fit into a frame is kept beside it.
constexpr std::uint32_t kept_beside = coflux::detail::frame_word::largest_number;

/// So many of the last resumptions before a run counts as one that does not end are looked at for spins.
constexpr std::size_t watched_turns = 256;

std::string what_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "what was thrown is not derived from std::exception";
    }
}

}  // namespace

sim_worker::sim_worker(world& in) : worker(this, in.no_sleepers), in_(in) {}

/// Asked whenever a parent would pop a fork, because the tick budget is always exhausted.
bool sim_worker::budget_exhausted() noexcept {
    tick_budget_ = 0;
    if (forks_.size() == 0) return true;  // it was stolen: there is nothing to decide
    constexpr std::array<std::uint64_t, 2> here_or_elsewhere{0, 1};
    return in_.choose(choice::steal, here_or_elsewhere) == 1;
}

/// A coroutine whose end, on one worker, transfers into its awaiter: on another worker other coroutines may come
/// between. So it is on an executor that differs by identity alone.
void sim_worker::mark_stolen(promise_base& p) noexcept {
    const coflux::detail::executor_entry& own = *p.runs_on();
    if (own.identity != executor_) return;
    elsewhere_ = own;
    elsewhere_.identity = &elsewhere_;
    p.use_executor(elsewhere_);
}

void sim_worker::overflow(std::coroutine_handle<> h) noexcept {
    in_.add(*this, h, true);
}

// --- beginning and end

world::world() : thread_driver(start, service_), service_(start) {}

std::unique_ptr<world> world::opened(simulation& is, chooser& decides, const simulation_options& options) {
    std::unique_ptr<world> w;
    if (spare.empty()) {
        w = std::make_unique<world>();
    } else {
        w = std::move(spare.back());
        spare.pop_back();
    }
    w->open(is, decides, options);
    return w;
}

void world::closed(std::unique_ptr<world> w) noexcept {
    w->close();
    spare.push_back(std::move(w));
}

void world::open(simulation& is, chooser& decides, const simulation_options& options) {
    COFLUX_VERIFY(this_thread.current == nullptr && this_thread.queues == nullptr,
                  "a simulation is made on a thread that runs coroutines");
    is_ = &is;
    decides_ = &decides;
    options_ = options;
    now_ = start;
    service_.restart(start);
    steps_ = last_reported_ = 0;
    failure_.clear();
    collects_failures = gathers_trees = was_livelock = false;
    tree.clear();
    unobserved.clear();
    first_unobserved = nullptr;
    spins_.clear();
    had_turn_ = nullptr;
    schedule_.clear();
    workers_used_ = 0;
    known_.clear();
    named_ = 0;
    service_name_ = ++named_;
    outer_ = std::exchange(youngest, this);
    this_thread.driver = this;
}

void world::close() noexcept {
    COFLUX_VERIFY(parts_.empty(), "a simulation ends before the network or the disk that was made in it");
    COFLUX_VERIFY(youngest == this,
                  "a simulation ends on another thread than its own, or before one that was made later");
    on_step = nullptr;
    on_await = nullptr;
    const std::size_t limit = steps_ + options_.max_steps;
    while (step()) {
        COFLUX_VERIFY(steps_ < limit,
                      "a simulation ends, and its coroutines go on and on: end their environments first");
    }
    roots_.clear();
    foreign_waits_.clear();
    youngest = outer_;
    this_thread.driver = outer_;
}

simulation* world::youngest_of_thread() noexcept {
    return youngest != nullptr ? youngest->is_ : nullptr;
}

bool world::is_of_this_thread() const noexcept {
    const world* w = youngest;
    while (w != nullptr && w != this) w = w->outer_;
    return w != nullptr;
}

sim_worker& world::new_worker() {
    if (workers_used_ == workers_.size()) workers_.push_back(std::make_unique<sim_worker>(*this));
    sim_worker& w = *workers_[workers_used_++];
    w.tick_budget_ = 0;
    w.timers_.restart(now_);
    w.clock_name_ = ++named_;
    return w;
}

void world::attach(world_part& network, coflux::detail::socket_calls& sockets) noexcept {
    COFLUX_VERIFY(sockets_ == nullptr, "a simulation has one network, and is given another one");
    parts_.add(network);
    sockets_ = &sockets;
}
void world::detach(world_part& network) noexcept {
    parts_.remove(network);
    sockets_ = nullptr;
}

void world::remove_root(coflux::detail::wait_record& r) noexcept {
    for (world* w = this; w != nullptr; w = w->outer_) {
        if (std::erase(w->roots_, &r) != 0) return;
    }
}

void world::end_foreign_wait(promise_base& p) noexcept {
    COFLUX_VERIFY(this_thread.driver != nullptr,
                  "a coroutine that suspended in a simulation is resumed by a thread other than its simulation's");
    const auto at = std::find(foreign_waits_.begin(), foreign_waits_.end(), &p);
    if (at != foreign_waits_.end()) foreign_waits_.erase(at);
}

// --- ready coroutines

std::uint64_t world::name_by_address(void* frame, bool is_new) {
    auto [at, inserted] = known_.try_emplace(frame, 0);
    if (inserted || is_new) at->second = ++named_;
    return at->second;
}

/// A call goes by the name of its caller. The number lies in the frame, and a new frame has none: so a coroutine at the
/// address of a dead one does not inherit its name.
std::uint64_t world::name_of(std::coroutine_handle<> h, bool ours) {
    if (!ours) return name_by_address(h.address(), false);
    frame_control& leaf = frame_control::of(h);
    frame_control* c = &leaf;
    while (c->word.number() == 0 && environment_tree::is_call(promise_base::of(*c))) {
        const coflux::detail::join_snapshot own = c->join.own();
        if (!own.is_in_plain_await()) break;
        c = &own.coroutine()->control();
    }
    const std::uint32_t number = c->word.number();
    if (number == kept_beside) return name_by_address(c, false);
    const std::uint64_t name = number != 0 ? number : named_ + 1 < kept_beside ? ++named_ : name_by_address(c, true);
    c->word.set_number(static_cast<std::uint32_t>(std::min<std::uint64_t>(name, kept_beside)));
    // Not for a generator, which may have another consumer next time.
    if (name < kept_beside && !environment_tree::is_generator(promise_base::of(leaf)))
        leaf.word.set_number(static_cast<std::uint32_t>(name));
    return name;
}

void world::add(sim_worker& to, std::coroutine_handle<> h, bool ours) noexcept {
    const std::coroutine_handle<> coroutine = ours ? coflux::detail::turn_frame::coroutine_of(h) : h;
    if (coroutine == had_turn_ && ours) note_spin(promise_base::of(frame_control::of(coroutine)));
    ready_.push_back({h, coroutine, &to, ours});
    names_.push_back(name_of(coroutine, ours));
}

world::ready world::take_ready(std::size_t at) noexcept {
    const auto from = static_cast<std::ptrdiff_t>(first_);
    const auto chosen = from + static_cast<std::ptrdiff_t>(at);
    const ready r = ready_[static_cast<std::size_t>(chosen)];
    // The one before each moves up: nothing has to move where the first is taken.
    std::move_backward(ready_.begin() + from, ready_.begin() + chosen, ready_.begin() + chosen + 1);
    std::move_backward(names_.begin() + from, names_.begin() + chosen, names_.begin() + chosen + 1);
    ++first_;
    if (first_ == ready_.size() || first_ > 4096) {
        ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(first_));
        names_.erase(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }
    return r;
}

/// Makes what lies in the queues of the executors candidates. True if a part went on, which may go on once more.
bool world::collect() noexcept {
    const bool went_on = parts_.settle();
    for (std::size_t i = 0; i < workers_used_; ++i) {
        sim_worker& w = *workers_[i];
        while (w.forks_.size() != 0) {
            const auto fork = std::coroutine_handle<>::from_address(w.forks_.steal());
            w.mark_stolen(promise_base::of(frame_control::of(fork)));
            add(w, fork, true);
        }
        while (w.ready_.size() != 0) add(w, std::coroutine_handle<>::from_address(w.ready_.take()), true);
    }
    return went_on;
}

// --- time

clock_tick world::next_deadline() const noexcept {
    clock_tick next = service_.next_deadline();
    for (std::size_t i = 0; i < workers_used_; ++i) next = std::min(next, workers_[i]->timers_.next_deadline());
    return std::min(next, parts_.next_event());
}

void world::pass_to(clock_tick now) noexcept {
    now_ = std::max(now_, now);
    service_.pass_to(now_);
    for (std::size_t i = 0; i < workers_used_; ++i) workers_[i]->timers_.pass_to(now_);
}

/// One timer of the wheel that is called so, or what else is. Its present is set again: what was armed for a time that
/// had passed is due only then.
void world::hand_out(std::uint64_t clock) noexcept {
    if (parts_.happen(clock)) return;
    if (clock == service_name_) {
        service_.pass_to(now_);
        (void)service_.hand_out_one();
        return;
    }
    for (std::size_t i = 0; i < workers_used_; ++i) {
        sim_worker& w = *workers_[i];
        if (w.clock_name_ != clock) continue;
        this_thread.timers = &w.timers_;
        coflux::detail::worker::set_current(&w);
        w.timers_.pass_to(now_);
        (void)w.timers_.hand_out_one();
        coflux::detail::worker::set_current(nullptr);
        this_thread.timers = nullptr;
    }
}

// --- steps

std::size_t world::choose(choice what, std::span<const std::uint64_t> candidates) noexcept {
    if (candidates.size() < 2) return 0;
    const std::size_t chosen = decides_->choose(what, candidates);
    COFLUX_VERIFY(chosen < candidates.size(), "a chooser chose candidate %zu of %zu", chosen, candidates.size());
    schedule_.push_back({what, static_cast<std::uint32_t>(chosen), static_cast<std::uint32_t>(candidates.size())});
    return chosen;
}

void world::resume(ready next) noexcept {
    ++steps_;
    if (steps_ + watched_turns > options_.max_steps) had_turn_ = next.coroutine;
    coflux::detail::worker::set_current(next.on);
    this_thread.timers = &next.on->timers_;
    this_thread.calls = {};  // each step has as much room, so that the same schedule gives the same run
    this_thread.open_nested_limit = this_thread.nested_limit =
        coflux::detail::stack_address() - coflux::detail::stack_for_awaits;
    // Each step has as many, so that the same schedule gives the same run.
    coflux::detail::ready_awaits_left = coflux::detail::ready_awaits_in_a_step - 1;
    coflux::detail::run(next.handle);
    this_thread.open_nested_limit = this_thread.nested_limit = coflux::detail::no_room;
    this_thread.current = nullptr;
    this_thread.timers = nullptr;
    coflux::detail::worker::set_current(nullptr);
}

bool world::step(clock_tick until) {
    COFLUX_VERIFY(
        youngest == this && this_thread.driver == this && this_thread.current == nullptr &&
            this_thread.queues == nullptr,
        "a simulation is driven by another thread than its own, by one of its coroutines, or beside a younger one");
    for (;;) {
        const bool went_on = collect();
        const clock_tick next = next_deadline();
        const bool due = next <= now_;
        if (ready_count() == 0 && !due) {
            if (went_on) {
                ++steps_;  // no executor runs what it carried on
                return true;
            }
            if (next == timing_wheel::never || next > until) return false;
            pass_to(next);
            continue;
        }
        constexpr std::array<std::uint64_t, 2> go_on_or_wait{0, 1};
        if (options_.late_work && !due && next <= until && next != timing_wheel::never &&
            choose(choice::time, go_on_or_wait) == 1) {
            pass_to(next);
            continue;
        }
        if (on_step && ready_count() != 0 && last_reported_ != steps_ + 1) {
            last_reported_ = steps_ + 1;
            on_step(last_reported_);
            continue;  // it may have woken a coroutine
        }
        if (!due) {
            resume(take_ready(choose(choice::next, std::span(names_).subspan(first_))));
            return true;
        }
        with_clocks_.clear();
        if (service_.next_deadline() <= now_) with_clocks_.push_back(service_name_);
        for (std::size_t i = 0; i < workers_used_; ++i) {
            if (workers_[i]->timers_.next_deadline() <= now_) with_clocks_.push_back(workers_[i]->clock_name_);
        }
        parts_.add_due(with_clocks_);
        const std::size_t clocks = with_clocks_.size();
        with_clocks_.insert(with_clocks_.end(), names_.begin() + static_cast<std::ptrdiff_t>(first_), names_.end());
        const std::size_t chosen = choose(choice::next, with_clocks_);
        if (chosen >= clocks) {
            resume(take_ready(chosen - clocks));
            return true;
        }
        hand_out(with_clocks_[chosen]);
    }
}

void world::run() {
    while (steps_ < options_.max_steps) {
        if (!step()) return;
    }
    collect();
    const std::string text = livelock_text() + describe(nullptr);
    if (failure_.empty()) {
        failure_ = text;
        was_livelock = true;
    }
    throw livelock_error(text);
}

void world::advance(clock_tick to) {
    while (step(to)) {}
    pass_to(to);
}

// --- blocking waits

/// Asked by the environment: that of a coroutine which runs elsewhere may not be looked at more closely.
bool world::owns(frame_control& c) const noexcept {
    const coflux::detail::environment_data& data = promise_base::of(c).data();
    if (data.first.key == nullptr && data.outer == nullptr) return true;
    return std::any_of(workers_.begin(), workers_.begin() + static_cast<std::ptrdiff_t>(workers_used_),
                       [&data](const std::unique_ptr<sim_worker>& w) { return data.find_object(w.get()) != nullptr; });
}

/// `c` has not ended, and never will by itself: what is below its root is stopped, so that it ends after all.
void world::fail_hang(frame_control& c, bool may_throw) {
    const bool live = steps_ >= options_.max_steps;
    collect();
    std::string text = live ? livelock_text() : "deadlock: no coroutine can run, and one at least waits\n";
    text += describe(&c);
    const bool first = failure_.empty();
    if (first) {
        failure_ = text;
        was_livelock = live;
    }
    had_turn_ = nullptr;
    promise_base::of(c).parent()->request_stop();
    const std::size_t limit = steps_ + options_.max_steps;
    while (!c.done() && steps_ < limit && step()) {}
    COFLUX_VERIFY(c.done(), "what hangs does not end even when it is stopped. %s", text.c_str());
    // An error beside the hang would come out of get(), which says now that it hung.
    if (c.word.has(coflux::detail::frame_flags::has_error) && !c.error->observed()) {
        c.error->observe();
        (void)keep_unobserved(*c.error);
        text += unobserved;
    }
    if (may_throw) {
        if (live) throw livelock_error(text);
        throw deadlock_error(text);
    }
    if (collects_failures || !first) return;
    std::fprintf(stderr, "coflux: %s", text.c_str());
    std::terminate();
}

bool world::keep_unobserved(const coflux::detail::failure& f) noexcept {
    if (!collects_failures && failure_.empty()) return false;
    const auto keep = [this](const std::exception_ptr& error) {
        const std::string line = "an error that was not observed: " + what_of(error) + '\n';
        if (!collects_failures) std::fprintf(stderr, "coflux: %s", line.c_str());
        unobserved += line;
    };
    if (!first_unobserved) first_unobserved = f.error();
    keep(f.error());
    for (const std::exception_ptr& other : f.others().list()) keep(other);
    return true;
}

bool world::drive(frame_control& c, bool may_throw) {
    if (c.done()) return true;
    if (!owns(c)) {
        for (const world* w = outer_; w != nullptr; w = w->outer_) {
            COFLUX_VERIFY(!w->owns(c),
                          "a blocking wait for a coroutine of a simulation that is not the youngest of its thread");
        }
        while (!c.done() && step()) {}
        return c.done();
    }
    while (!c.done()) {
        if (steps_ < options_.max_steps && step()) continue;
        if (c.done()) break;  // what no executor runs ends in the midst of a step
        fail_hang(c, may_throw);
        return true;
    }
    if (gathers_trees && tree.empty() && c.word.has(coflux::detail::frame_flags::has_error)) tree = describe(nullptr);
    return true;
}

}  // namespace coflux::testing::detail
