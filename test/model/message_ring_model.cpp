// The rings between shards, and how a shard sleeps: docs/design/shards.md. Both forms of the sleep: with a fence of the
// sleeper, which is as strong on both sides here, and without.
#include "../../src/executor/detail/message_ring.hpp"
#include "support/model.hpp"
#include "support/model_parker.hpp"

namespace {

using coflux::detail::heavy_fence;
using coflux::detail::message_ring;
using coflux::detail::sleep_word;
using coflux::detail::os::parker;
using coflux::model::plain;

constexpr std::uint64_t soon = 1;

/// A sleeper calls it in place of the system: as strong, on its own side alone.
void model_fence() noexcept {
    coflux::detail::light_thread_fence();
}

struct message {
    plain<int> number{0};
};
/// A cell whose reader and writer must be ordered.
struct watched_cell {
    plain<message*> kept{nullptr};
    void operator=(message* m) { kept.set(m); }
    message& operator*() const { return *kept.get(); }
};
template <std::size_t Capacity>
using ring = message_ring<message, Capacity, watched_cell>;

/// A shard of the model: what it sleeps by.
struct place {
    sleep_word asleep;
    parker sleeps;

    void rouse(bool fenced) {
        if (asleep.take(fenced)) sleeps.unpark();
    }
};

/// Thread 0 receives from all others, and sleeps while there is nothing. A lost wake-up is a deadlock.
template <unsigned Senders, int Each, std::size_t Capacity, heavy_fence Heavy>
struct of_rings : coflux::model::scenario<Senders + 1> {
    static constexpr bool fenced = Heavy != nullptr;
    ring<Capacity> rings[Senders];
    place places[Senders + 1];
    message messages[Senders][Each];
    int taken[Senders] = {};

    void thread(unsigned index) override {
        if (index == 0) return receive_all();
        for (int i = 0; i < Each; ++i) send(index - 1, i);
    }
    void receive_all() {
        for (bool timed = this->times_out();;) {
            if (collect()) continue;
            bool over = true;
            for (const int n : taken) over = over && n == Each;
            if (over) return;
            places[0].asleep.set();
            sleep_word::pass(Heavy);
            if (!has_arrived()) (void)places[0].sleeps.park_until(timed ? soon : parker::never);
            places[0].asleep.clear();
            timed = false;
        }
    }
    /// Whether the first sleep of the receiver may end by time.
    virtual bool times_out() const { return false; }
    bool collect() {
        bool some = false;
        for (unsigned s = 0; s < Senders; ++s) {
            const auto take = [this, s](message& m) {
                MODEL_CHECK(m.number.get() == ++taken[s]);  // in order, and what was written before it was sent
                m.number.set(0);
            };
            if (rings[s].take(1, take) == 0) continue;
            some = true;
            if (rings[s].room_is_awaited(fenced)) places[s + 1].rouse(fenced);
        }
        return some;
    }
    bool has_arrived() const {
        for (const auto& r : rings) {
            if (!r.empty()) return true;
        }
        return false;
    }
    /// As a shard that has nothing else to do.
    void send(unsigned s, int i) {
        place& own = places[s + 1];
        messages[s][i].number.set(i + 1);
        while (!rings[s].push(&messages[s][i])) {
            own.asleep.set();
            rings[s].await_room();
            sleep_word::pass(Heavy);
            if (!rings[s].has_room()) (void)own.sleeps.park_until(parker::never);
            own.asleep.clear();
        }
        places[0].rouse(fenced);
    }
};

/// One message, while the receiver goes to sleep.
template <heavy_fence Heavy>
struct one_message : of_rings<1, 1, 2, Heavy> {};
/// Two senders, of which one wakes the receiver, and the other need not.
template <heavy_fence Heavy>
struct two_senders : of_rings<2, 1, 2, Heavy> {};
/// The receiver wakes by itself, and sleeps again.
template <heavy_fence Heavy>
struct woken_by_time : of_rings<2, 1, 2, Heavy> {
    bool times_out() const override { return true; }
};
/// The second message finds no room, in the same cell.
template <heavy_fence Heavy>
struct no_room : of_rings<1, 2, 1, Heavy> {};
/// Cells are written again, and the sender sleeps more than once.
template <heavy_fence Heavy>
struct no_room_again : of_rings<1, 4, 2, Heavy> {};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "message_ring", "the rings between shards, and their sleep",
        {
            searched<one_message<nullptr>>("one_message", "a push before, while and after the receiver looks", 4),
            searched<two_senders<nullptr>>("two_senders", "asleep taken by one of two", 2),
            searched<woken_by_time<nullptr>>("woken_by_time",
                                             "asleep set again, after a message of one that need not wake", 2),
            searched<no_room<nullptr>>("no_room", "full ring; a take before, while and after the sender looks", 3),
            searched<no_room_again<nullptr>>("no_room_again", "cells used again", 2),
            searched<one_message<&model_fence>>("one_message_fenced",
                                                "a push before, while and after the receiver looks; fenced", 4),
            searched<two_senders<&model_fence>>("two_senders_fenced", "asleep taken by one of two; fenced", 2),
            searched<woken_by_time<&model_fence>>(
                "woken_by_time_fenced", "asleep set again, after a message of one that need not wake; fenced", 2),
            searched<no_room<&model_fence>>("no_room_fenced",
                                            "full ring; a take before, while and after the sender looks; fenced", 3),
            searched<no_room_again<&model_fence>>("no_room_again_fenced", "cells used again; fenced", 2),
        });
}
