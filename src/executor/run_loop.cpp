// The page docs/design/serial_executors.md has the protocol.
#include <coflux/executor/run_loop.hpp>

#include <algorithm>

#include <coflux/base/assert.hpp>

#include "executor/detail/run_loop_state.hpp"
#include "executor/detail/strand_state.hpp"

namespace coflux {
namespace detail {

run_loop_state::run_loop_state()
    : serial_loop("a run_loop", std::chrono::nanoseconds(0), std::chrono::nanoseconds(0),
                  std::chrono::nanoseconds::max()) {
    metrics_.enter("run_loop", static_cast<serial_loop&>(*this));
}

run_loop_state::~run_loop_state() {
    metrics_.leave();
    if (!is_in_its_process()) return;
    COFLUX_VERIFY(!runs_.load(memory_order_relaxed), "a run_loop is destroyed while it runs");
    close();
}

std::size_t run_loop_state::run(const limits& l) {
    COFLUX_VERIFY(is_in_its_process(), "a run_loop that was made before fork() is run in the child: make one there");
    COFLUX_VERIFY(this_thread.queues == nullptr && this_thread.current == nullptr,
                  "a run_loop is run on a thread that runs coroutines: co_await what it would wait for instead");
    COFLUX_VERIFY(!runs_.exchange(true, memory_order_acquire),  // pairs with leave()
                  "a run_loop is run by two threads at the same time");
    std::size_t resumed = 0;
    {
        const on_this_thread here(*this);
        if (descriptor_ != nullptr) descriptor_->reset();
        for (;;) {
            if (l.goes_on != nullptr && !l.goes_on(l.root)) break;
            if (l.heeds_stop && take_stop()) break;
            begin_turn();
            const std::size_t in_round = l.most == 1 ? run_single(this_thread) : run_round(this_thread);
            resumed += in_round;
            count_resumed(in_round);
            if (resumed >= l.most) break;
            const clock_tick now = l.deadline == timing_wheel::never ? at_once : tick_now();
            if (now >= l.deadline) break;
            if (in_round != 0) continue;
            if (!l.waits) break;
            wait(l.deadline);
        }
    }
    leave();
    return resumed;
}

void run_loop_state::leave() noexcept {
    const bool rests = !has_work() && rest();
    if (descriptor_ != nullptr) {
        descriptor_->readable_at(next_deadline());
        if (source() != nullptr && source()->descriptor() >= 0) descriptor_->include(source()->descriptor());
        if (!rests || (source() != nullptr && source()->has_found())) descriptor_->signal();
    }
    runs_.store(false, memory_order_release);  // pairs with run()
}

void run_loop_state::stop() noexcept {
    if (this_thread.queues == static_cast<serial_worker*>(this)) {  // in one of its coroutines
        end_round();
        stop_asked_.store(true, memory_order_relaxed);
        return;
    }
    begin_to_rouse();  // the caller that runs it may see the stop, and end it, while this call wakes it
    stop_asked_.store(true, memory_order_release);  // pairs with take_stop()
    wake();
    roused();
}

bool run_loop_state::take_stop() noexcept {
    return stop_asked_.load(memory_order_relaxed) && stop_asked_.exchange(false, memory_order_acquire);  // with stop()
}

void run_loop_state::wake() noexcept {
    serial_loop::wake();
    // acquire pairs with descriptor().
    if (os::wake_descriptor* const d = published_.load(memory_order_acquire); d != nullptr) d->signal();
}

int run_loop_state::descriptor() {
    if (descriptor_ == nullptr) {
        descriptor_ = std::make_unique<os::wake_descriptor>();
        descriptor_->signal();                                      // what was posted before: one poll() finds out
        published_.store(descriptor_.get(), memory_order_release);  // pairs with wake()
    }
    return descriptor_->descriptor();
}

clock_tick run_loop_state::wants_to_run_at() noexcept {
    return has_work() || (source() != nullptr && source()->has_found()) ? at_once : next_deadline();
}

}  // namespace detail

namespace {

constexpr detail::clock_tick longest_poll = 1'000'000;  // nanoseconds

}  // namespace

run_loop::run_loop() : state_(std::make_unique<detail::run_loop_state>()) {}
run_loop::~run_loop() = default;

std::size_t run_loop::run() {
    return state_->run({});
}
void run_loop::look_again() noexcept {
    state_->look_again();
}
void run_loop::run_while(bool (*goes_on)(const void*) noexcept, const void* root) {
    state_->run({.heeds_stop = false, .goes_on = goes_on, .root = root});
}
std::size_t run_loop::run_one() {
    return state_->run({.most = 1});
}
std::size_t run_loop::run_for(std::chrono::nanoseconds time) {
    return run_until(detail::later(std::chrono::steady_clock::now(), time));
}
std::size_t run_loop::run_until(std::chrono::steady_clock::time_point time) {
    return state_->run({.deadline = detail::tick_of(time)});
}
std::size_t run_loop::poll() {
    return state_->run({.deadline = detail::tick_now() + longest_poll, .waits = false});
}
std::size_t run_loop::poll_one() {
    return state_->run({.most = 1, .waits = false});
}
void run_loop::stop() noexcept {
    state_->stop();
}
std::optional<std::chrono::steady_clock::time_point> run_loop::next_deadline() const noexcept {
    const detail::clock_tick at = state_->wants_to_run_at();
    if (at == detail::timing_wheel::never) return std::nullopt;
    if (at == detail::run_loop_state::at_once) return std::chrono::steady_clock::time_point::min();
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(at)));
}
int run_loop::descriptor() {
    return state_->descriptor();
}

void run_loop::execute(std::coroutine_handle<> h) noexcept {
    state_->execute(h);
}
void* run_loop::identity() const noexcept {
    return state_->identity();
}
void run_loop::execute_on(void* identity, std::coroutine_handle<> h) noexcept {
    detail::serial_loop* const behind = detail::serial_loop::door::behind(identity);
    COFLUX_VERIFY(behind != nullptr,
                  "%s would go on upon a run_loop that is gone: it outlives what runs in the environments that name it",
                  detail::strand_state::text_of(h).c_str());
    behind->execute(h);
}

}  // namespace coflux
