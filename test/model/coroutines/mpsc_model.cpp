// The queues from many senders to one receiver: slots, blocks, permits, and the end behind the last value
// (docs/design/channel_queues.md).
#include <coroutine>
#include <optional>
#include <utility>

#include <coflux/channel/mpsc.hpp>
#include <coflux/channel/unbounded_mpsc.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>

#include "support/coroutines.hpp"
#include "support/traced.hpp"

namespace {

using coflux::environment;
using coflux::model::bag_executor;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::root_on_pool;
using coflux::model::traced;
using fork = coflux::fork<void, bag_executor>;
using task = coflux::task<void, bag_executor>;
using bounded_sender = coflux::mpsc_sender<traced>;
using unbounded_sender = coflux::unbounded_mpsc_sender<traced>;
using receiver = coflux::mpsc_receiver<traced>;

/// Values are 10 * sender + 1, 2, …; what one sender sends comes in its order.
template <typename Derived, unsigned Threads>
struct of_mpsc : coroutine_scenario<Derived, Threads>, coflux::model::places, root_on_pool {
    plain<int> sent[2]{0, 0};
    plain<int> received[2]{0, 0};
    bool finished = false;

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); },
                 [this](auto& root, environment&) { static_cast<Derived&>(*this).meanwhile(root); });
    }
    void meanwhile(task&) {}

    void takes(const traced& v) {
        const int from = v.value() / 10;
        MODEL_CHECK(from == 0 || from == 1);
        received[from].set(received[from].get() + 1);
        MODEL_CHECK(v.value() % 10 == received[from].get());
    }
    static fork sends(environment&, Derived* s, bounded_sender tx, int index) {
        for (int i = 1; i <= Derived::values; ++i) {
            traced v(10 * index + i);
            const bool took = co_await tx.send(std::move(v));
            if (!took) {
                MODEL_CHECK(v.value() == 10 * index + i);  // as it was
                break;
            }
            s->sent[index].set(i);
        }
    }
    static fork sends_unbounded(environment&, Derived* s, unbounded_sender tx, int index) {
        for (int i = 1; i <= Derived::values; ++i) {
            const bool took = tx.send(traced(10 * index + i));
            if (!took) break;
            s->sent[index].set(i);
        }
        co_return;
    }
    static fork receives(environment&, Derived* s, receiver rx) {
        for (;;) {
            std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            s->takes(*v);
        }
        s->finished = true;
    }
    void all_came() {
        MODEL_CHECK(finished);
        for (int index = 0; index != 2; ++index) {
            MODEL_CHECK(sent[index].get() == Derived::values);
            MODEL_CHECK(received[index].get() == Derived::values);
        }
    }
};

/// Two senders and one slot: permits that are waited for; the last sender ends the queue behind all values.
struct bounded : of_mpsc<bounded, 2> {
    static constexpr int values = 1;
    static task root(environment&, bounded* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_mpsc<traced>(1);
        receives(here, s, std::move(ends.second)).attach();
        sends(here, s, ends.first, 0).attach();
        sends(here, s, std::move(ends.first), 1).attach();
    }
    void holds() { all_came(); }
};

/// No bound: slots are filled out of order, and the receiver waits in the one that it needs.
struct unbounded : of_mpsc<unbounded, 3> {
    static constexpr int values = 2;
    static task root(environment&, unbounded* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_unbounded_mpsc<traced>();
        receives(here, s, std::move(ends.second)).attach();
        sends_unbounded(here, s, ends.first, 0).attach();
        sends_unbounded(here, s, std::move(ends.first), 1).attach();
    }
    void holds() { all_came(); }
};

/// The same where a block ends: the one that finds it full adds the next, and the receiver goes on to it.
struct new_block : of_mpsc<new_block, 2> {
    static constexpr int values = 2;
    static task root(environment&, new_block* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_unbounded_mpsc<traced>();
        for (int i = 0; i != 62; ++i) {
            (void)ends.first.send(traced(1));
            MODEL_CHECK(ends.second.try_receive().has_value());
        }
        receives(here, s, std::move(ends.second)).attach();
        sends_unbounded(here, s, ends.first, 0).attach();
        sends_unbounded(here, s, std::move(ends.first), 1).attach();
    }
    void holds() { all_came(); }
};

/// The receiver closes: a value whose send has succeeded is received.
struct receiver_closes : of_mpsc<receiver_closes, 2> {
    static constexpr int values = 2;
    static fork receives(environment&, receiver_closes* s, receiver rx) {
        std::optional<traced> first = co_await rx.receive();
        MODEL_CHECK(first.has_value());
        s->takes(*first);
        rx.close();
        for (;;) {
            std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            s->takes(*v);
        }
        s->finished = true;
    }
    static task root(environment&, receiver_closes* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_mpsc<traced>(1);
        receives(here, s, std::move(ends.second)).attach();
        sends(here, s, std::move(ends.first), 0).attach();
    }
    void holds() {
        MODEL_CHECK(finished);
        MODEL_CHECK(received[0].get() == sent[0].get() && sent[0].get() >= 1);
    }
};

/// A permit that is out when the receiver closes: its value comes, and only then the end.
struct permit_and_close : of_mpsc<permit_and_close, 2> {
    static fork sends(environment&, permit_and_close* s, bounded_sender tx) {
        auto permit = co_await tx.reserve();
        if (permit) {
            permit->send(traced(1));
            s->sent[0].set(1);
        }
    }
    static fork receives(environment&, permit_and_close* s, receiver rx) {
        rx.close();
        for (;;) {
            std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            s->takes(*v);
        }
        s->finished = true;
    }
    static task root(environment&, permit_and_close* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_mpsc<traced>(1);
        receives(here, s, std::move(ends.second)).attach();
        sends(here, s, std::move(ends.first)).attach();
    }
    void holds() {
        MODEL_CHECK(finished);
        MODEL_CHECK(received[0].get() == sent[0].get());
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
    using dying_receiver = coflux::mpsc_receiver<counted>;
    int live = 0;
    bool finished = false;

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return root(env, this); }, [](auto&, environment&) {});
    }
    static fork sends(environment&, receiver_dies* s, coflux::mpsc_sender<counted>* tx) {
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
        auto ends = coflux::make_mpsc<counted>(2);
        auto death = dies(here, std::move(ends.second));
        auto sending = sends(here, s, &ends.first);
        co_await std::move(death);
        co_await std::move(sending);
        MODEL_CHECK(s->live == 0);
        s->finished = true;
    }
    void holds() { MODEL_CHECK(finished); }
};

/// A stop while senders wait for a slot and the receiver for a value: no permit is lost with the stopped waiters.
struct stop : of_mpsc<stop, 2> {
    static constexpr int values = 2;
    static task root(environment&, stop* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_mpsc<traced>(1);
        receives(here, s, std::move(ends.second)).attach();
        sends(here, s, ends.first, 0).attach();
        sends(here, s, std::move(ends.first), 1).attach();
    }
    void meanwhile(task& root) {
        coflux::model::wait_a_while(64);
        root.request_stop();
    }
    void holds() {
        for (int index = 0; index != 2; ++index) MODEL_CHECK(received[index].get() <= sent[index].get() + 1);
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(count, arguments, "mpsc", "the queues from many senders to one receiver",
                              {sampled<bounded>("bounded", "permits granted, waited for, given back"),
                               sampled<unbounded>("unbounded", "slots empty, waited for, ready, closed"),
                               sampled<new_block>("new_block", "a full block, its end, the next"),
                               sampled<receiver_closes>("receiver_closes", "permits closed, the list sealed"),
                               sampled<permit_and_close>("permit_and_close", "sealed by the last permit"),
                               sampled<receiver_dies>("receiver_dies", "the list sealed by the death"),
                               sampled<stop>("stop", "permits and slots left to a stop")});
}
