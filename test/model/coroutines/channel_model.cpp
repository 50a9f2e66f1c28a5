// The channel of many senders and many receivers: its lock, its hints, and its close (docs/design/channel.md).
#include <coroutine>
#include <optional>
#include <utility>

#include <coflux/channel/channel.hpp>
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

/// Two senders of `values` each, and receivers that receive until the channel is closed and drained.
template <typename Derived, typename Channel, unsigned Threads>
struct of_channel : coroutine_scenario<Derived, Threads>, coflux::model::places, root_on_pool {
    Channel channel;
    plain<int> sent[2]{0, 0};
    plain<int> received[2]{0, 0};  // by receiver
    bool finished[2]{false, false};

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); },
                 [this](auto& root, environment&) { static_cast<Derived&>(*this).meanwhile(root); });
    }
    void meanwhile(task&) {}

    static fork sends(environment&, Derived* s, int index) {
        for (int i = 1; i <= Derived::values; ++i) {
            traced v(10 * index + i);
            const bool took = co_await s->channel.send(std::move(v));
            if (!took) {
                MODEL_CHECK(v.value() == 10 * index + i);  // as it was
                break;
            }
            s->sent[index].set(i);
        }
    }
    static fork receives(environment&, Derived* s, int index) {
        for (;;) {
            std::optional<traced> v = co_await s->channel.receive();
            if (!v) break;
            MODEL_CHECK(v->value() > 0);
            s->received[index].set(s->received[index].get() + 1);
        }
        s->finished[index] = true;
    }
    [[nodiscard]] int all_sent() { return sent[0].get() + sent[1].get(); }
    [[nodiscard]] int all_received() { return received[0].get() + received[1].get(); }
};

/// Two senders, one receiver, one slot; the close comes behind the last value.
struct one_slot : of_channel<one_slot, coflux::channel<traced[1]>, 2> {
    static constexpr int values = 1;
    static task root(environment&, one_slot* s) {
        auto&& here = co_await coflux::context();
        receives(here, s, 0).attach();
        auto a = sends(here, s, 0);
        auto b = sends(here, s, 1);
        co_await std::move(a);
        co_await std::move(b);
        s->channel.close();
    }
    void holds() { MODEL_CHECK(finished[0] && all_sent() == 2 && all_received() == 2); }
};

/// One sender, two receivers.
struct two_receivers : of_channel<two_receivers, coflux::channel<traced[1]>, 3> {
    static constexpr int values = 2;
    static task root(environment&, two_receivers* s) {
        auto&& here = co_await coflux::context();
        receives(here, s, 0).attach();
        receives(here, s, 1).attach();
        auto a = sends(here, s, 0);
        co_await std::move(a);
        s->channel.close();
    }
    void holds() { MODEL_CHECK(finished[0] && finished[1] && all_sent() == 2 && all_received() == 2); }
};

/// Closed from outside at any time: what is sent is received, the rest refused.
struct closed_at_any_time : of_channel<closed_at_any_time, coflux::channel<traced[1]>, 2> {
    static constexpr int values = 2;
    static task root(environment&, closed_at_any_time* s) {
        auto&& here = co_await coflux::context();
        receives(here, s, 0).attach();
        sends(here, s, 0).attach();
    }
    void meanwhile(task&) {
        coflux::model::wait_a_while(64);
        channel.close();
    }
    void holds() { MODEL_CHECK(finished[0] && all_received() == all_sent()); }
};

/// Closed, as seen by one that does not take the lock.
struct seen_closed : of_channel<seen_closed, coflux::channel<traced[1]>, 2> {
    plain<int> before_close{0};
    static fork watches(environment&, seen_closed* s) {
        while (!s->channel.closed()) coflux::detail::cpu_pause();
        MODEL_CHECK(s->before_close.get() == 1);
        s->finished[0] = true;
        co_return;
    }
    static task root(environment&, seen_closed* s) {
        auto&& here = co_await coflux::context();
        watches(here, s).attach();
    }
    void meanwhile(task&) {
        coflux::model::wait_a_while(32);
        before_close.set(1);
        channel.close();
    }
    void holds() { MODEL_CHECK(finished[0]); }
};

/// Values and a close without a slot: sender and receiver meet.
struct rendezvous : of_channel<rendezvous, coflux::channel<traced[]>, 2> {
    static constexpr int values = 2;
    static task root(environment&, rendezvous* s) {
        auto&& here = co_await coflux::context();
        receives(here, s, 0).attach();
        sends(here, s, 0).attach();
    }
    void meanwhile(task&) {
        coflux::model::wait_a_while(64);
        channel.close();
    }
    void holds() { MODEL_CHECK(finished[0] && all_received() == all_sent()); }
};

/// A permit that is out when the channel is closed.
struct permit : of_channel<permit, coflux::channel<traced[1]>, 2> {
    static fork sends(environment&, permit* s) {
        auto slot = co_await s->channel.reserve();
        if (slot) {
            slot->send(traced(1));
            s->sent[0].set(1);
        }
    }
    static task root(environment&, permit* s) {
        auto&& here = co_await coflux::context();
        receives(here, s, 0).attach();
        sends(here, s).attach();
    }
    void meanwhile(task&) {
        coflux::model::wait_a_while(48);
        channel.close();
    }
    void holds() { MODEL_CHECK(finished[0] && all_received() == all_sent()); }
};

/// A stop while they wait: no waiter waits for a value or a slot that went with a stopped one.
struct stop : of_channel<stop, coflux::channel<traced[1]>, 2> {
    static constexpr int values = 2;
    static task root(environment&, stop* s) {
        auto&& here = co_await coflux::context();
        receives(here, s, 0).attach();
        sends(here, s, 0).attach();
    }
    void meanwhile(task& root) {
        coflux::model::wait_a_while(64);
        root.request_stop();
    }
    void holds() { MODEL_CHECK(all_received() <= all_sent() + 1); }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(count, arguments, "channel", "the channel of many senders and receivers",
                              {sampled<one_slot>("one_slot", "senders wait, a receiver waits, close behind the last"),
                               sampled<two_receivers>("two_receivers", "receivers wait, all are told of the end"),
                               sampled<closed_at_any_time>("closed_at_any_time", "values and a close"),
                               sampled<seen_closed>("seen_closed", "closed() without the lock"),
                               sampled<rendezvous>("rendezvous", "no slot: handed over, or refused"),
                               sampled<permit>("permit", "a reserved slot and close"),
                               sampled<stop>("stop", "nodes taken out by a stop")});
}
