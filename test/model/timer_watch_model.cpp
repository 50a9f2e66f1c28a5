// The timers of a worker that computes: the queue, the watch and the parker as they are. The clock stands still at a
// time when what is armed here is overdue, and the watcher parks without a deadline: a queue that it does not know of
// is a deadlock, and not a delay.
#include <coroutine>
#include <memory>

#include "../../src/time/detail/timer_queue.cpp"
#include "../../src/time/detail/timer_watch.cpp"
#include "../../src/time/detail/timing_wheel.cpp"
#include "support/model.hpp"
#include "support/model_parker.hpp"

namespace coflux::detail {

/// No coroutine is woken here.
std::coroutine_handle<> take_woken() noexcept {
    return std::noop_coroutine();
}

}  // namespace coflux::detail

namespace {

using coflux::detail::clock_tick;
using coflux::detail::timer;
using coflux::detail::timer_queue;
using coflux::detail::timer_watch;
using coflux::detail::os::parker;
using coflux::model::plain;

constexpr clock_tick second = 1'000'000'000;
/// Moves on when a timer has been armed: it was not due before, and is overdue now. Not atomic: a thread that reads an
/// old one looks again.
clock_tick present = second;

/// Its end is noted without an atomic, and wakes one thread.
struct noted : timer {
    plain<int> made{0};
    int ends = 0;
    parker* wakes = nullptr;

    noted() noexcept : timer(how_it_ends) {}
    using timer::set_queue;
    void end() {
        MODEL_CHECK(made.get() == 1);
        MODEL_CHECK(++ends == 1);
        if (wakes != nullptr) wakes->unpark();
    }

private:
    static void come_due(timer& t) noexcept { static_cast<noted&>(t).end(); }
    static constexpr coflux::detail::timer_kind how_it_ends{&come_due, nullptr, "ends"};
};

struct watcher_and_others {
    parker started;
    timer_watch watch{&start, []() noexcept { return present; }};

    static watcher_and_others*& present_one() {
        static watcher_and_others* one = nullptr;
        return one;
    }
    static bool start(timer_watch&) noexcept {
        present_one()->started.unpark();
        return true;
    }
    watcher_and_others() { present_one() = this; }
    /// The watcher's thread.
    void serve() {
        (void)started.park_until(parker::never);
        watch.serve();
    }
    void end() {
        if (!watch.end()) started.unpark();
    }
};

/// Thread 0 is the watcher, thread 1 the owner of a queue.
template <unsigned Threads>
struct watched : coflux::model::scenario<Threads>, watcher_and_others {
    std::unique_ptr<timer_queue> queue = std::make_unique<timer_queue>(&watch);
    noted timers[2];
    parker owner;

    void arm(int i, clock_tick deadline) {
        timers[i].made.set(1);
        timers[i].set_queue(*queue);
        queue->arm(timers[i], deadline);
    }
    void arm_overdue(int i) {
        arm(i, present + second / 2);
        present += second;
    }
    void computes_until_woken() { MODEL_CHECK(owner.park_until(parker::never)); }
    virtual void owns() = 0;
    virtual void other() {}
    void thread(unsigned index) override {
        if (index == 0) return serve();
        if (index == 2) return other();
        queue->restart(1);
        present = second;
        watch.watch(*queue);
        owns();
        watch.forget(*queue);
        queue.reset();
        end();
    }
};

/// The watcher is about to look, looks, or parks.
struct armed : watched<2> {
    void owns() override {
        for (noted& t : timers) {
            t.wakes = &owner;
            arm_overdue(static_cast<int>(&t - timers));
            queue->notify_watch();
            computes_until_woken();
            MODEL_CHECK(t.ends == 1);
        }
    }
};

/// The first timer is cancelled; the watcher, which was notified of it, looks while the second, which is due later, is
/// armed.
struct armed_again : watched<2> {
    void owns() override {
        arm_overdue(0);
        queue->notify_watch();
        if (queue->take(timers[0])) timers[0].end();
        timers[1].wakes = &owner;
        arm_overdue(1);
        queue->notify_watch();
        computes_until_woken();
    }
};

/// The second is due later than what the watcher knows of: nothing is said, and the watcher finds it.
struct armed_behind : watched<2> {
    parker second;
    void owns() override {
        timers[0].wakes = &owner;
        timers[1].wakes = &second;
        arm_overdue(0);
        queue->notify_watch();
        arm_overdue(1);
        queue->notify_watch();
        computes_until_woken();
        MODEL_CHECK(second.park_until(parker::never));
    }
};

/// The first deadline is none that the watcher looks for; then one comes that is.
struct brought_forward : watched<2> {
    void owns() override {
        arm(0, coflux::detail::timing_wheel::never - 1);
        queue->notify_watch();
        timers[1].wakes = &owner;
        arm_overdue(1);
        queue->notify_watch();
        computes_until_woken();
        MODEL_CHECK(queue->take(timers[0]));
    }
};

/// The owner is parked, is woken for something else, and computes.
struct woken_owner : watched<2> {
    void owns() override {
        timers[0].wakes = &owner;
        arm_overdue(0);
        queue->notify_watch();
        computes_until_woken();
        timers[1].wakes = &owner;
        arm_overdue(1);
        queue->prepare_park();
        queue->end_park();
        queue->notify_watch();
        computes_until_woken();
    }
};

/// The owner looks, the watcher looks, a third thread takes: one end for each, and what the owner wrote is visible to
/// all.
struct one_end : watched<3> {
    coflux::detail::atomic<int> known{0};
    parker taken;
    void owns() override {
        for (int i = 0; i < 2; ++i) arm_overdue(i);
        known.store(1, coflux::detail::memory_order_relaxed);
        queue->notify_watch();
        (void)queue->look(present);
        MODEL_CHECK(taken.park_until(parker::never));
    }
    void other() override {
        // A stop request knows the sleeper by a lock of the stop tree, not by what it reads here.
        if (known.load(coflux::detail::memory_order_relaxed) != 0 && queue->take(timers[0])) timers[0].end();
        taken.unpark();
    }
    void after() override {
        for (const noted& t : timers) MODEL_CHECK(t.ends == 1);
    }
};

/// Refused under the lock, or found by the one that takes: never both, never neither.
struct refused : watched<3> {
    coflux::detail::atomic<int> requested{0};
    coflux::detail::atomic<int> found{0};
    parker owner;
    bool stopped = false;
    void owns() override {
        timers[0].made.set(1);
        timers[0].set_queue(*queue);
        stopped = !queue->arm(timers[0], coflux::detail::timing_wheel::never - 1,
                              [this]() noexcept { return requested.load(coflux::detail::memory_order_relaxed) != 0; });
        MODEL_CHECK(owner.park_until(parker::never));
    }
    void other() override {
        requested.store(1, coflux::detail::memory_order_relaxed);
        if (queue->take(timers[0])) found.store(1, coflux::detail::memory_order_relaxed);
        owner.unpark();
    }
    void after() override { MODEL_CHECK(stopped != (found.load(coflux::detail::memory_order_relaxed) != 0)); }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(
        count, arguments, "timer_watch", "the timers of a worker that computes",
        {
            sampled<armed>("armed", "a deadline while the watcher has not begun, looks, is about to park, parks"),
            sampled<armed_again>("armed_again", "a later deadline while the watcher looks for an earlier one"),
            sampled<armed_behind>("armed_behind", "a later deadline that the watcher is not notified of"),
            sampled<brought_forward>("brought_forward", "a nearer deadline than the one the watcher knows"),
            sampled<woken_owner>("woken_owner", "an owner that slept, and so was passed by, wakes and computes"),
            sampled<one_end>("one_end", "the owner, the watcher and a stop request at the same timers"),
            sampled<refused>("refused", "a stop request while a timer is being armed"),
        });
}
