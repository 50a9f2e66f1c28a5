// The parker of src/os/thread/parker.hpp: its token, in its own futex and in an event source.
#include "support/model.hpp"
#include "support/model_parker.hpp"

namespace {

using coflux::detail::memory_order_relaxed;
using coflux::detail::os::parker;
using coflux::model::plain;

constexpr std::uint64_t soon = 1;

/// A wake comes before, while or after the sleeper looks; it sees what was written before the wake.
struct one_wake : coflux::model::scenario<2> {
    parker place;
    plain<int> notified{0};

    void thread(unsigned index) override {
        if (index == 0) {
            MODEL_CHECK(place.park_until(parker::never));
            MODEL_CHECK(notified.get() == 1);
        } else {
            notified.set(1);
            place.unpark();
        }
    }
};

/// Two wakes make one or two tokens: a waker that finds a token there already counts on the sleeper to see it, too.
struct two_wakers : coflux::model::scenario<3> {
    parker place;
    coflux::detail::atomic<int> notified[2]{0, 0};

    void thread(unsigned index) override {
        if (index == 0) {
            do {
                MODEL_CHECK(place.park_until(parker::never));
            } while (notified[0].load(memory_order_relaxed) + notified[1].load(memory_order_relaxed) != 2);
        } else {
            notified[index - 1].store(1, memory_order_relaxed);
            place.unpark();
        }
    }
};

/// A park that ends by time takes no token, or takes the one that came with it; a token that comes later ends the next.
struct deadline : coflux::model::scenario<2> {
    parker place;
    plain<int> notified{0};

    void thread(unsigned index) override {
        if (index == 0) {
            if (!place.park_until(soon)) MODEL_CHECK(place.park_until(parker::never));
            MODEL_CHECK(notified.get() == 1);
        } else {
            notified.set(1);
            place.unpark();
        }
    }
};

/// The second wake must not be lost behind the first: each is waited for before the next.
struct in_turns : coflux::model::scenario<2> {
    parker places[2];
    plain<int> turn{0};

    void thread(unsigned index) override {
        for (int i = 0; i < 2; ++i) {
            if (index == 0) {
                turn.set(2 * i + 1);
                places[1].unpark();
                MODEL_CHECK(places[0].park_until(parker::never));
                MODEL_CHECK(turn.get() == 2 * i + 2);
            } else {
                MODEL_CHECK(places[1].park_until(parker::never));
                MODEL_CHECK(turn.get() == 2 * i + 1);
                turn.set(2 * i + 2);
                places[0].unpark();
            }
        }
    }
};

/// An event source as the parker sees it: it keeps a wake, and its own events end a sleep.
struct event_place : coflux::detail::os::sleeping_place {
    coflux::detail::atomic<std::uint32_t> signalled{0};

    void sleep_until(std::uint64_t deadline) noexcept override {
        // Nothing is ordered here: what the waker did is seen by the parker's word.
        if (signalled.exchange(0, memory_order_relaxed) == 0) (void)signalled.park_if(0, deadline != parker::never);
        signalled.store(0, memory_order_relaxed);
    }
    void wake() noexcept override {
        signalled.store(1, memory_order_relaxed);
        signalled.notify_one();
    }
};

/// A wake comes before, while or after the sleeper goes to its event source.
struct wake_elsewhere : coflux::model::scenario<2> {
    parker here;
    event_place place;
    plain<int> notified{0};

    void thread(unsigned index) override {
        if (index == 0) {
            while (!here.park_in(place, parker::never)) {}
            MODEL_CHECK(notified.get() == 1);
        } else {
            notified.set(1);
            here.unpark();
        }
    }
};

/// It sleeps in its event source, and then in the futex: a token that came late ends the second.
struct both_places : coflux::model::scenario<2> {
    parker here;
    event_place place;
    plain<int> notified{0};

    void thread(unsigned index) override {
        if (index == 0) {
            if (!here.park_in(place, soon)) MODEL_CHECK(here.park_until(parker::never));
            MODEL_CHECK(notified.get() == 1);
        } else {
            notified.set(1);
            here.unpark();
        }
    }
};

/// It sleeps in one event source, and then in another: a waker that comes late for the first wakes the second.
struct two_event_places : coflux::model::scenario<2> {
    parker here;
    event_place places[2];
    plain<int> notified{0};

    void thread(unsigned index) override {
        if (index == 0) {
            bool woken = here.park_in(places[0], soon);
            while (!woken) woken = here.park_in(places[1], parker::never);
            MODEL_CHECK(notified.get() == 1);
        } else {
            notified.set(1);
            here.unpark();
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "parker", "the parker's token over a futex",
        {
            searched<one_wake>("one_wake", "0 -> 1 before, while and after the sleeper looks", 6),
            searched<two_wakers>("two_wakers", "1 -> 1: one token for two wakes", 3),
            searched<deadline>("deadline", "a deadline passes: token taken with it, or kept", 6),
            searched<in_turns>("in_turns", "tokens back and forth", 4),
            searched<wake_elsewhere>("wake_elsewhere", "0 -> 2 -> 1: asleep in an event source", 6),
            searched<two_event_places>("two_event_places", "2 -> 0 by an event, then 0 -> 2 elsewhere -> 1", 6),
            searched<both_places>("both_places", "2 -> 0 by an event, then 0 -> 1", 6),
        });
}
