// The seats of src/executor/pool/pool_events.hpp: the driver's place, and the guard's alarm that is never missed.
#include "../../src/executor/pool/pool_events.cpp"

#include "support/model.hpp"
#include "support/model_parker.hpp"

namespace {

using coflux::detail::atomic;
using coflux::detail::idle_workers;
using coflux::detail::pool_events;
using coflux::model::plain;
using seat = pool_events::seat;

/// The time of the alarm of the scenario that runs, and whether it has come.
struct model_clock {
    atomic<int> due{0};
};
model_clock* the_clock = nullptr;

}  // namespace

namespace coflux::detail::os {

// The system orders its calls; a time that is set comes at once.
wake_descriptor::wake_descriptor() = default;
wake_descriptor::~wake_descriptor() = default;
void wake_descriptor::signal() noexcept {}
void wake_descriptor::reset() noexcept {}
void wake_descriptor::wait_until(std::uint64_t) noexcept {}
void wake_descriptor::readable_at(std::uint64_t) noexcept {
    the_clock->due.store(1, memory_order_seq_cst);
}
bool wake_descriptor::take_time() noexcept {
    return the_clock->due.exchange(0, memory_order_seq_cst) != 0;
}

}  // namespace coflux::detail::os

namespace {

template <unsigned Threads>
struct seats : coflux::model::scenario<Threads> {
    model_clock clock;
    idle_workers idle{2};
    pool_events events{idle};

    void before() override {
        the_clock = &clock;
        events.adopt(nullptr);
    }
    [[nodiscard]] bool alarm_is_set() const { return clock.due.load(coflux::detail::memory_order_seq_cst) != 0; }
};

/// One worker at a time touches what the source keeps for its looker.
struct one_driver : seats<2> {
    plain<int> found{0};

    void thread(unsigned index) override {
        for (int i = 0; i < 2; ++i) {
            if (!events.try_drive()) continue;
            found.set(found.get() + 1);
            events.end_drive(index);
        }
    }
};

/// The poller leaves to compute while another worker parks: that one looks itself, or its alarm is set.
struct guard_sits_down : seats<2> {
    seat second = seat::none;

    void before() override {
        seats::before();
        MODEL_CHECK(events.take_seat(0) == seat::poller);
    }
    void thread(unsigned index) override {
        if (index == 0) {
            events.leave_poll();
            events.end_drive(0);
        } else {
            second = events.take_seat(1);
        }
    }
    void after() override { MODEL_CHECK(second == seat::poller || (second == seat::guard && alarm_is_set())); }
};

/// The alarm goes off while the poller is asleep, and leaves: the guard steps in, or the alarm is set again.
struct alarm_goes_off : seats<2> {
    bool steps_in = false;

    void before() override {
        seats::before();
        MODEL_CHECK(events.try_drive());
        MODEL_CHECK(events.take_seat(1) == seat::guard);  // which sets it: that one looks, and does not sleep
        events.end_drive(0);
        MODEL_CHECK(events.take_seat(0) == seat::poller);
    }
    void thread(unsigned index) override {
        if (index == 0) {
            events.leave_poll();
            events.end_drive(0);
        } else {
            events.alarm().sleep_until(0);
            steps_in = events.must_step_in();
        }
    }
    void after() override { MODEL_CHECK(steps_in || alarm_is_set()); }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "pool_events", "the seats of a pool's event source",
        {
            searched<one_driver>("one_driver", "none -> looks -> none, by two workers", 4),
            searched<guard_sits_down>("guard_sits_down", "sleeps -> looks -> none beside the guard's seat", 4),
            searched<alarm_goes_off>("alarm_goes_off", "armed -> gone off beside a poller that leaves", 4),
        });
}
