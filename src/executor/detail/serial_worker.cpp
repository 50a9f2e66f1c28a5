// The page docs/design/serial_executors.md has the protocol.
#include "serial_worker.hpp"

#include <algorithm>
#include <utility>

#include <coflux/core/detail/thread/transfer.hpp>

namespace coflux::detail {
namespace {

/// No other worker waits for what it pushes.
constinit const atomic<std::uint32_t> no_idle_workers{0};

/// There is no thief.
void need_no_fence() noexcept {}

}  // namespace

serial_worker::serial_worker(const void* identity, clock_tick longest_round) noexcept
    : worker(identity, no_idle_workers, &need_no_fence, serial_capacity),
      rounds_(longest_round) {}

serial_worker::mount::mount(serial_worker& w, thread_state& t) noexcept
    : mounted_(w),
      t_(t),
      queues_(std::exchange(t.queues, &w)),
      executor_(std::exchange(t.executor, w.executor_)),
      current_(std::exchange(t.current, nullptr)),
      below_(std::exchange(t.below, nullptr)),
      nested_limit_(t.nested_limit),
      open_nested_limit_(t.open_nested_limit) {
    w.below_ = queues_;
}

serial_worker::mount::~mount() {
    mounted_.below_ = nullptr;
    t_.queues = queues_;
    t_.executor = executor_;
    t_.current = current_;
    t_.below = below_;
    t_.nested_limit = nested_limit_;
    t_.open_nested_limit = open_nested_limit_;
    t_.calls = {};  // it was opened above, perhaps, and may not be here
}

std::size_t serial_worker::run_round(thread_state& t) noexcept {
    granted_ = spent_ = 0;
    begin_round();
    while (tick_budget_ > 0 && run_one(t)) {}
    round_was_full_ = tick_budget_ <= 0;
    // A refused await leaves the budget below 0.
    return granted_ - static_cast<std::size_t>(std::max(tick_budget_, 0)) - spent_;
}

void serial_worker::end_round() noexcept {
    granted_ -= static_cast<std::size_t>(std::max(tick_budget_, 0) + aside_);
    tick_budget_ = 0;
    aside_ = 0;
}

std::size_t serial_worker::run_single(thread_state& t) noexcept {
    tick_budget_ = 1;  // it lets no other one run in its place
    is_single_ = true;
    const bool ran = run_one(t);
    is_single_ = false;
    return ran ? 1 : 0;
}

/// Resumes one; false: nothing is queued.
bool serial_worker::run_one(thread_state& t) noexcept {
    const std::coroutine_handle<> h = next();
    if (!h) return false;
    --tick_budget_;
    t.nested_limit = t.open_nested_limit;
    if (spilled_.empty()) [[likely]] {
        run(h, t);
    } else {
        run_alone(h, t);
    }
    t.current = nullptr;
    return true;
}

/// Without a budget: it would let what is in ready_ run in its place, before what is older.
void serial_worker::run_alone(std::coroutine_handle<> h, thread_state& t) noexcept {
    aside_ = std::exchange(tick_budget_, 0);
    run(h, t);
    tick_budget_ = std::exchange(aside_, 0);
}

/// The pace is that of full rounds in a row. A round with little in it is short whatever its steps take, and reads no
/// clock.
void serial_worker::begin_round() noexcept {
    if (!round_was_full_) {
        rounds_are_timed_ = false;
        tick_budget_ = rounds_.ticks();
        granted_ += static_cast<std::size_t>(tick_budget_);
        return;
    }
    if (!std::exchange(rounds_are_timed_, true)) {
        rounds_.restart(tick_now());
    } else {
        const std::uint64_t cycles = cycles_now();
        if (rounds_.wants_a_look(cycles)) rounds_.look(tick_now(), cycles);
    }
    tick_budget_ = rounds_.begin_round();
    granted_ += static_cast<std::size_t>(tick_budget_);
}

/// Each source in turn, so that none that fills itself keeps the others waiting.
std::coroutine_handle<> serial_worker::next() noexcept {
    for (unsigned tried = 0; tried < 3; ++tried) {
        const unsigned source = source_;
        source_ = source == 2 ? 0 : source + 1;
        void* found = nullptr;
        if (source == 0) {
            if (!spilled_.empty()) [[unlikely]]
                return spilled_.take();
            found = ready_.take();
        } else if (source == 1) {
            if (const auto h = intake_.take()) return h;
        } else {
            found = forks_.pop_oldest();
        }
        if (found != nullptr) return std::coroutine_handle<>::from_address(found);
    }
    return nullptr;
}

/// Nothing waits but `forks`: another round has begun.
bool serial_worker::goes_on_without(std::size_t forks) noexcept {
    if (ready_.size() != 0 || !spilled_.empty() || intake_.has_some() || forks_.size() > forks || must_give_way())
        return false;
    round_was_full_ = true;
    begin_round();
    return true;
}

bool serial_worker::budget_exhausted() noexcept {
    if (!goes_on_without(1)) return true;
    --tick_budget_;  // the fork that the parent pops now
    return false;
}

bool serial_worker::others_are_due() noexcept {
    return is_single_ || !goes_on_without(0);
}

void serial_worker::notify_one() noexcept {}

void serial_worker::overflow(std::coroutine_handle<> h) noexcept {
    spilled_.take_over(ready_, h);
    end_round();  // what comes to ready_ from now on waits for its turn
}

}  // namespace coflux::detail
