// A stop request that an operation passes on to handles that were moved into it, against their ends: which side goes on
// with the operation, and what may be gone by then (docs/design/stop.md).
#include <utility>

#include <coflux/combine/when_all.hpp>
#include <coflux/core/as_outcome.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/sync/manual_reset_event.hpp>

#include "support/coroutines.hpp"

namespace {

using coflux::environment;
using coflux::manual_reset_event;
using coflux::model::bag_executor;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::root_on_pool;
template <typename T>
using fork = coflux::fork<T, bag_executor>;
template <typename T>
using task = coflux::task<T, bag_executor>;

/// Threads 0 and 1 serve the pool, and thread 0 requests the stop of the root. Thread 2, if there is one, sets the
/// event. A coroutine in the root's environment object is no child of the root: a stop of that alone reaches it by a
/// relay only.
template <typename Derived, unsigned Threads>
struct of_relay : coroutine_scenario<Derived, Threads>, root_on_pool {
    static constexpr unsigned stop_before = 64;  // steps of thread 0
    manual_reset_event event;
    manual_reset_event never;
    int went_on = 0;  // written by one coroutine at a time; the model's own
    int unwound = 0;
    coflux::detail::atomic<int> others_done{0};

    /// A local of a child: its owner must not go on before it is gone.
    struct lives {
        plain<int> here{1};
        plain<int>& seen;
        explicit lives(plain<int>& s) : seen(s) { seen.set(1); }
        ~lives() {
            MODEL_CHECK(here.get() == 1);
            here.set(0);
            seen.set(0);
        }
    };
    /// A local of the root, which dies after all that it waited for.
    struct joined {
        of_relay& of;
        ~joined() {
            MODEL_CHECK(of.first.get() == 0 && of.second.get() == 0);
            ++of.unwound;
        }
    };
    plain<int> first{0};
    plain<int> second{0};

    static fork<void> waits(environment&, manual_reset_event* e, plain<int>* seen) {
        const lives here(*seen);
        co_await e->wait();
    }

    void run(unsigned thread) {
        if (thread > 1) {
            event.set();
            others_done.fetch_add(1, coflux::detail::memory_order_release);
            return;
        }
        if (thread == 1) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); },
                 [](auto& root, environment&) {
                     coflux::model::wait_a_while(Derived::stop_before);
                     root.request_stop();
                 });
        while (others_done.load(coflux::detail::memory_order_acquire) != Threads - 2) coflux::detail::cpu_pause();
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        if (Threads == 2) MODEL_CHECK(went_on == 0);
    }
};

/// Only the relay ends the child.
struct stopped_alone : of_relay<stopped_alone, 2> {
    static task<void> root(environment& env, stopped_alone* s) {
        const joined all{*s};
        co_await waits(env, &s->never, &s->first);
        ++s->went_on;
    }
};

/// The child ends by itself while it is stopped, or before, or after.
struct stopped_or_ended : of_relay<stopped_or_ended, 3> {
    static task<void> root(environment& env, stopped_or_ended* s) {
        const joined all{*s};
        co_await waits(env, &s->event, &s->first);
        ++s->went_on;
    }
};

/// The same where the stop of the child is an outcome.
struct stopped_as_outcome : of_relay<stopped_as_outcome, 3> {
    static task<void> root(environment& env, stopped_as_outcome* s) {
        const joined all{*s};
        auto f = waits(env, &s->event, &s->first);
        auto ended = co_await coflux::as_outcome(std::move(f));
        MODEL_CHECK(ended.is_stopped() || ended.has_value());
    }
};

/// The relay of a call that is over is gone with its frame. Its record is the caller's, which a stop comes to after
/// that.
struct over_in_call : of_relay<over_in_call, 3> {
    static constexpr unsigned stop_before = 1024;  // often after the end of the call
    static coflux::call<void> awaits(environment&, environment* outside, over_in_call* s) {
        co_await waits(*outside, &s->event, &s->first);
    }
    static task<void> root(environment& env, over_in_call* s) {
        const joined all{*s};
        auto&& here = co_await coflux::context();
        co_await awaits(here, &env, s);
        co_await s->never.wait();
        ++s->went_on;
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// A stopped coroutine passes it on.
struct stopped_in_turn : of_relay<stopped_in_turn, 2> {
    static fork<void> passes_on(environment& env, stopped_in_turn* s) {
        const lives here(s->second);
        co_await waits(env, &s->never, &s->first);
        ++s->went_on;
    }
    static task<void> root(environment& env, stopped_in_turn* s) {
        const joined all{*s};
        co_await passes_on(env, s);
        ++s->went_on;
    }
};

/// One relay for several, one of which ends by itself.
struct stopped_all : of_relay<stopped_all, 3> {
    static task<void> root(environment& env, stopped_all* s) {
        const joined all{*s};
        auto a = waits(env, &s->never, &s->first);
        auto b = waits(env, &s->event, &s->second);
        (void)co_await coflux::when_all(std::move(a), std::move(b));
        ++s->went_on;
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// Its stop was requested before it waits: the rest of the steps goes on beside the wait.
struct asked_before : of_relay<asked_before, 3> {
    static task<void> root(environment& env, asked_before* s) {
        const joined all{*s};
        auto&& here = co_await coflux::context();
        auto a = waits(env, &s->event, &s->first);
        auto b = waits(env, &s->event, &s->second);
        here.request_stop();
        (void)co_await coflux::when_all(std::move(a), std::move(b));
    }
};

/// All end by themselves, or are stopped.
struct stopped_or_all_ended : of_relay<stopped_or_all_ended, 3> {
    static task<void> root(environment& env, stopped_or_all_ended* s) {
        const joined all{*s};
        auto a = waits(env, &s->event, &s->first);
        auto b = waits(env, &s->event, &s->second);
        (void)co_await coflux::when_all(std::move(a), std::move(b));
        ++s->went_on;
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(
        count, arguments, "stop_relay", "a stop that an operation passes on, against the ends of its handles",
        {sampled<stopped_alone>("stopped_alone", "idle to early; listening to requesting to passed"),
         sampled<stopped_or_ended>("stopped_or_ended", "listening to done; requesting to ended"),
         sampled<stopped_as_outcome>("stopped_as_outcome", "the same, and the stop is an outcome"),
         sampled<over_in_call>("over_in_call", "done, and its frame is gone, in the record of a caller"),
         sampled<stopped_in_turn>("stopped_in_turn", "a relay that is stopped by a relay"),
         sampled<stopped_all>("stopped_all", "when_all: one relay for two, of which one ends"),
         sampled<asked_before>("asked_before", "when_all: requesting from the start"),
         sampled<stopped_or_all_ended>("stopped_or_all_ended", "when_all: stopped, or over")});
}
