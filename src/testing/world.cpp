#include "world.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/promise_base.hpp>
#include <coflux/core/thread_state.hpp>
#include <coflux/core/transfer.hpp>

namespace coflux::testing::detail {

using coflux::detail::clock_tick;
using coflux::detail::frame_control;
using coflux::detail::this_thread;
using coflux::detail::timing_wheel;

namespace {

thread_local world* youngest = nullptr;

}  // namespace

sim_worker::sim_worker(world& in)
    : worker(this, in.nobody_sleeps),
      in_(in),
      timers_(this, this, [](void*) noexcept {}) {}

/// Asked whenever a parent takes back its youngest fork, because there never are turns left.
bool sim_worker::others_wait() noexcept {
    turns_ = 0;
    constexpr std::array<std::uint64_t, 2> here_or_elsewhere{0, 1};
    return in_.choose(choice::steal, here_or_elsewhere) == 1;
}

void sim_worker::overflow(std::coroutine_handle<> h) noexcept {
    in_.add(*this, h);
}

world::world(simulation& is, chooser& decides, simulation_options options)
    : thread_driver(coflux::detail::tick_now(), service_),
      is_(&is),
      outer_(youngest),
      decides_(&decides),
      options_(options),
      service_(now_),
      start_(now_) {
    COFLUX_VERIFY(this_thread.current == nullptr && this_thread.queues == nullptr,
                  "a simulation is made on a thread that runs coroutines");
    youngest = this;
    this_thread.driver = this;
}

world::~world() {
    COFLUX_VERIFY(youngest == this,
                  "a simulation ends on another thread than its own, or before one that was made later");
    while (step()) {}
    youngest = outer_;
    this_thread.driver = outer_;
}

simulation* world::youngest_of_thread() noexcept {
    return youngest != nullptr ? youngest->is_ : nullptr;
}

sim_worker& world::new_worker() {
    workers_.push_back(std::make_unique<sim_worker>(*this));
    return *workers_.back();
}

void world::add(sim_worker& to, std::coroutine_handle<> h) noexcept {
    ready_.push_back({h, &to});
}

std::size_t world::choose(choice what, std::span<const std::uint64_t> candidates) noexcept {
    if (candidates.size() < 2) return 0;
    const std::size_t chosen = decides_->choose(what, candidates);
    COFLUX_VERIFY(chosen < candidates.size(), "a chooser chose candidate %zu of %zu", chosen, candidates.size());
    schedule_.push_back({what, static_cast<std::uint32_t>(chosen), static_cast<std::uint32_t>(candidates.size())});
    return chosen;
}

/// What lies in the queues of the executors becomes a candidate.
void world::collect() noexcept {
    for (const auto& w : workers_) {
        while (void* const fork = w->forks_.steal()) add(*w, std::coroutine_handle<>::from_address(fork));
        while (void* const next = w->ready_.take()) add(*w, std::coroutine_handle<>::from_address(next));
    }
}

/// Hands out what others have taken out of the timers and, with `all`, what is due.
void world::look_at_timers(bool all) noexcept {
    for (const auto& w : workers_) {
        coflux::detail::timer_queue& timers = w->timers_;
        if (timers.nothing_to_look_at()) continue;
        this_thread.timers = &timers;
        this_thread.queues = w.get();
        while (timers.look(all ? now_ : timers.now()) != 0) {}
        this_thread.queues = nullptr;
        this_thread.timers = nullptr;
    }
    if (all) service_.look(now_);
    collect();
}

clock_tick world::next_deadline() const noexcept {
    clock_tick next = service_.next_deadline();
    for (const auto& w : workers_) next = std::min(next, w->timers_.next_deadline());
    return next;
}

/// Lets time pass until somebody is ready. False if nobody ever will be.
bool world::passes_time() noexcept {
    while (ready_.empty()) {
        const clock_tick next = next_deadline();
        if (next == timing_wheel::never) return false;
        now_ = std::max(now_, next);
        look_at_timers(true);
    }
    return true;
}

void world::resume(ready next) noexcept {
    ++steps_;
    this_thread.queues = next.on;
    this_thread.timers = &next.on->timers_;
    coflux::detail::run(next.coroutine);
    this_thread.current = nullptr;
    this_thread.timers = nullptr;
    this_thread.queues = nullptr;
}

bool world::step() {
    COFLUX_VERIFY(
        youngest == this && this_thread.current == nullptr,
        "a simulation is driven by another thread than its own, by one of its coroutines, or beside a younger one");
    collect();
    look_at_timers(false);
    if (!passes_time()) return false;
    constexpr std::array<std::uint64_t, 2> go_on_or_wait{0, 1};
    if (options_.late_work && next_deadline() != timing_wheel::never && choose(choice::time, go_on_or_wait) == 1) {
        now_ = std::max(now_, next_deadline());
        look_at_timers(true);
    }
    names_.clear();
    for (const ready& r : ready_) {
        auto [at, is_new] = known_.try_emplace(r.coroutine.address(), named_);
        named_ += is_new ? 1 : 0;
        names_.push_back(at->second);
    }
    const std::size_t chosen = choose(choice::next, names_);
    const ready next = ready_[chosen];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
    resume(next);
    return true;
}

void world::advance(clock_tick to) {
    for (;;) {
        collect();
        if (ready_.empty() && next_deadline() > to) break;
        step();
    }
    now_ = std::max(now_, to);
}

/// `c` has not ended, and never will by itself: what is below its root is stopped, so that it ends after all.
std::exception_ptr world::hangs(frame_control& c) {
    const bool dead = steps_ < options_.max_steps;
    std::string text =
        dead ? "deadlock: nobody can run, and " : "livelock: after " + std::to_string(steps_) + " resumptions ";
    text += c.place().function_name();
    text += " has not ended";
    environment* root = coflux::detail::promise_base::of(c).parent();
    root->request_stop();
    const std::size_t limit = steps_ + options_.max_steps;
    while (!c.done() && steps_ < limit && step()) {}
    COFLUX_VERIFY(c.done(), "%s, even after it was told to stop", text.c_str());
    return dead ? std::make_exception_ptr(deadlock_error(text)) : std::make_exception_ptr(livelock_error(text));
}

void world::drive(frame_control& c, bool may_throw) {
    while (!c.done()) {
        if (steps_ < options_.max_steps && step()) continue;
        const std::exception_ptr why = hangs(c);
        if (may_throw) std::rethrow_exception(why);
    }
}

}  // namespace coflux::testing::detail
