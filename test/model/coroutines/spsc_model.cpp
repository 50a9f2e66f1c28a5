// The ring of one sender and one receiver: its two words, which end waits in them, and which ends them
// (docs/design/channel_queues.md).
#include <coroutine>
#include <optional>
#include <utility>

#include <coflux/channel/spsc.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/sync/manual_reset_event.hpp>

#include "support/coroutines.hpp"
#include "support/traced.hpp"

namespace {

using coflux::environment;
using coflux::manual_reset_event;
using coflux::model::bag_executor;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::root_on_pool;
using coflux::model::traced;
using fork = coflux::fork<void, bag_executor>;
using task = coflux::task<void, bag_executor>;
using sender = coflux::spsc_sender<traced>;
using receiver = coflux::spsc_receiver<traced>;

/// A sender and a receiver on a pool of two threads; Derived::sends() and Derived::receives() say what they do.
template <typename Derived, std::size_t Capacity>
struct of_spsc : coroutine_scenario<Derived, 2>, coflux::model::places, root_on_pool {
    plain<int> sent{0};       // the sender's, on whatever thread
    plain<int> received{0};   // the receiver's
    plain<int> last_word{0};  // the sender's, before it ends; for the one that sees the end
    bool finished = false;

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return root(env, static_cast<Derived*>(this)); },
                 [this](auto& root, environment&) { static_cast<Derived&>(*this).meanwhile(root); });
    }
    void meanwhile(task&) {}

    static task root(environment&, Derived* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_spsc<traced>(Capacity);
        Derived::receives(here, s, std::move(ends.second)).attach();
        Derived::sends(here, s, std::move(ends.first)).attach();
    }

    /// Sends 1, 2, … `values` and ends.
    static fork sends(environment&, Derived* s, sender tx) {
        for (int i = 1; i <= Derived::values; ++i) {
            traced v(i);
            const bool took = co_await tx.send(std::move(v));
            if (!took) {
                MODEL_CHECK(v.value() == i);  // as it was
                break;
            }
            s->sent.set(s->sent.get() + 1);
        }
        s->last_word.set(1);
    }
    /// Receives until there is nothing more.
    static fork receives(environment&, Derived* s, receiver rx) {
        for (;;) {
            std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            s->received.set(s->received.get() + 1);
            MODEL_CHECK(v->value() == s->received.get());
        }
        (void)s->last_word.get();
        s->finished = true;
    }
    void holds() {
        MODEL_CHECK(finished);
        MODEL_CHECK(sent.get() == Derived::values && received.get() == Derived::values);
    }
};

/// One slot: each side waits for the other; the sender's end comes behind its last value.
struct one_slot : of_spsc<one_slot, 1> {
    static constexpr int values = 3;
};

/// The ring wraps around, and the sender is mostly ahead.
struct two_slots : of_spsc<two_slots, 2> {
    static constexpr int values = 4;
};

/// The last value and the end, with a receiver that waits for either.
struct last_value : of_spsc<last_value, 1> {
    static constexpr int values = 1;
};

/// The receiver closes while values come: what was sent before can still be received, the rest was refused.
struct receiver_closes : of_spsc<receiver_closes, 1> {
    static constexpr int values = 3;
    static fork receives(environment&, receiver_closes* s, receiver rx) {
        std::optional<traced> first = co_await rx.receive();
        MODEL_CHECK(first.has_value() && first->value() == 1);
        s->received.set(s->received.get() + 1);
        rx.close();
        for (;;) {
            std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            s->received.set(s->received.get() + 1);
            MODEL_CHECK(v->value() == s->received.get());
        }
        s->finished = true;
    }
    void holds() {
        MODEL_CHECK(finished);
        MODEL_CHECK(received.get() == sent.get() && received.get() >= 1);
    }
};

/// A permit is used while the receiver closes: its value is received, or there was no permit.
struct permit_and_close : of_spsc<permit_and_close, 1> {
    static fork sends(environment&, permit_and_close* s, sender tx) {
        auto permit = co_await tx.reserve();
        if (permit) {
            permit->send(traced(1));
            s->sent.set(s->sent.get() + 1);
        }
    }
    static fork receives(environment&, permit_and_close* s, receiver rx) {
        rx.close();
        for (;;) {
            std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            s->received.set(s->received.get() + 1);
            MODEL_CHECK(v->value() == 1);
        }
        s->finished = true;
    }
    void holds() {
        MODEL_CHECK(finished);
        MODEL_CHECK(received.get() == sent.get());
    }
};

/// A value that counts in its scenario as long as it lives.
class counted {
public:
    explicit counted(int& live) noexcept : live_(&live) { ++*live_; }
    counted(counted&& other) noexcept : live_(other.live_) { ++*live_; }
    counted& operator=(counted&&) = delete;
    ~counted() { --*live_; }

private:
    int* live_;
};

/// The receiver dies while a permit and a send are used: nothing is left behind in a channel whose sender lives on.
struct receiver_dies : coroutine_scenario<receiver_dies, 2>, root_on_pool {
    using dying_receiver = coflux::spsc_receiver<counted>;
    int live = 0;
    bool finished = false;

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return root(env, this); }, [](auto&, environment&) {});
    }
    static fork sends(environment&, receiver_dies* s, coflux::spsc_sender<counted>* tx) {
        auto permit = co_await tx->reserve();
        if (permit) permit->send(counted(s->live));
        (void)tx->try_send(counted(s->live));
    }
    static fork dies(environment&, dying_receiver rx) {
        const dying_receiver now(std::move(rx));
        co_return;
    }
    static task root(environment&, receiver_dies* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_spsc<counted>(2);
        auto death = dies(here, std::move(ends.second));
        auto sending = sends(here, s, &ends.first);
        co_await std::move(death);
        co_await std::move(sending);
        MODEL_CHECK(s->live == 0);
        s->finished = true;
    }
    void holds() { MODEL_CHECK(finished); }
};

/// A permit is released unused by a sender that has ended: no receiver waits for it for ever.
struct permit_unused : of_spsc<permit_unused, 1> {
    static fork sends(environment&, permit_unused* s, sender tx) {
        auto permit = co_await tx.reserve();
        tx.close();
        s->sent.set(s->sent.get() + 1);
    }
    static fork receives(environment&, permit_unused* s, receiver rx) {
        std::optional<traced> v = co_await rx.receive();
        MODEL_CHECK(!v);
        s->finished = true;
    }
    void holds() { MODEL_CHECK(finished); }
};

/// A permit is given up by a sender that stays, while the receiver closes: the receiver learns of it.
struct permit_given_up : of_spsc<permit_given_up, 1> {
    manual_reset_event told;
    static fork sends(environment&, permit_given_up* s, sender tx) {
        { auto permit = co_await tx.reserve(); }
        co_await s->told.wait();
        s->sent.set(s->sent.get() + 1);
    }
    static fork receives(environment&, permit_given_up* s, receiver rx) {
        rx.close();
        std::optional<traced> v = co_await rx.receive();
        MODEL_CHECK(!v);
        s->finished = true;
        s->told.set();
    }
    void holds() { MODEL_CHECK(finished); }
};

/// A receiver that waits for no sender is stopped.
struct stop_of_receiver : of_spsc<stop_of_receiver, 1> {
    manual_reset_event never;
    static fork sends(environment&, stop_of_receiver* s, sender) { co_await s->never.wait(); }
    static fork receives(environment&, stop_of_receiver*, receiver rx) {
        std::optional<traced> v = co_await rx.receive();
        MODEL_CHECK(!v);
    }
    void meanwhile(task& root) {
        coflux::model::wait_a_while(160);
        root.request_stop();
    }
    void holds() {}
};

/// A sender that waits for no receiver is stopped.
struct stop_of_sender : of_spsc<stop_of_sender, 1> {
    static constexpr int values = 2;
    manual_reset_event never;
    static fork receives(environment&, stop_of_sender* s, receiver) { co_await s->never.wait(); }
    void meanwhile(task& root) {
        coflux::model::wait_a_while(160);
        root.request_stop();
    }
    void holds() { MODEL_CHECK(sent.get() <= 1); }
};

/// A stop while they wait: nothing that was sent is lost, and neither side waits for one that is gone.
struct stop : of_spsc<stop, 1> {
    static constexpr int values = 2;
    void meanwhile(task& root) {
        coflux::model::wait_a_while(160);
        root.request_stop();
    }
    void holds() { MODEL_CHECK(received.get() <= sent.get() + 1 && sent.get() <= values); }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(count, arguments, "spsc", "the ring of one sender and one receiver",
                              {sampled<one_slot>("one_slot", "waits in tail and in head, publish, released"),
                               sampled<two_slots>("two_slots", "reuse of slots"),
                               sampled<last_value>("last_value", "ended behind the last value"),
                               sampled<receiver_closes>("receiver_closes", "sealed, a send refused or received"),
                               sampled<permit_and_close>("permit_and_close", "sealed and a permit out"),
                               sampled<receiver_dies>("receiver_dies", "gone: a permit and a send beside the death"),
                               sampled<permit_unused>("permit_unused", "ended by the last permit"),
                               sampled<permit_given_up>("permit_given_up", "the last permit of a sealed channel"),
                               sampled<stop_of_receiver>("stop_of_receiver", "tail: marked, waits left to a stop"),
                               sampled<stop_of_sender>("stop_of_sender", "head: marked, waits left to a stop"),
                               sampled<stop>("stop", "a stop at any time")});
}
