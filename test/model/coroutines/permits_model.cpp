// Permits that are counted, waited for, left to a stop and closed (docs/design/sync.md).
#include <coroutine>
#include <optional>
#include <utility>

#include <coflux/channel/mpsc.hpp>
#include <coflux/core/as_outcome.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/sync/semaphore.hpp>

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

template <typename Derived, unsigned Threads>
struct of_permits : coroutine_scenario<Derived, Threads>, root_on_pool {
    static constexpr int turns = 4;  // for so many yields a permit is held, so that other waiters come
    int went_on = 0;

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); },
                 [this](auto& root, environment&) { static_cast<Derived&>(*this).meanwhile(root); });
    }
    void meanwhile(task&) {}
};

/// One permit as a lock: what its holder did is visible to the next, which took it or was handed it.
struct as_a_lock : of_permits<as_a_lock, 2> {
    coflux::semaphore permits{1};
    plain<int> guarded{0};
    static fork takes(environment&, as_a_lock* s) {
        co_await s->permits.acquire();
        s->guarded.set(s->guarded.get() + 1);
        for (int i = 0; i != turns; ++i) co_await coflux::this_coroutine::yield();
        s->guarded.set(s->guarded.get() + 1);
        s->permits.release();
    }
    static task root(environment&, as_a_lock* s) {
        auto&& here = co_await coflux::context();
        takes(here, s).attach();
        takes(here, s).attach();
    }
    void holds() {
        MODEL_CHECK(guarded.get() == 4);
        MODEL_CHECK(permits.try_acquire());
    }
};

/// The only waiter is stopped while the permit comes back: no mark stays behind, and no permit is lost.
struct stop_of_waiter : of_permits<stop_of_waiter, 2> {
    coflux::semaphore permits{1};
    static fork takes(environment&, stop_of_waiter* s) {
        auto p = co_await s->permits.acquire_guard();
        ++s->went_on;
    }
    static task root(environment&, stop_of_waiter* s) {
        auto&& here = co_await coflux::context();
        co_await s->permits.acquire();
        auto f = takes(here, s);
        for (int i = 0; i != turns; ++i) co_await coflux::this_coroutine::yield();
        f.request_stop();
        s->permits.release();
        (void)co_await coflux::as_outcome(std::move(f));
    }
    void holds() { MODEL_CHECK(permits.try_acquire() && !permits.try_acquire()); }
};

/// A stop takes the waiter in front, which wants more than there is: the one behind is served.
struct stop_in_front : of_permits<stop_in_front, 2> {
    coflux::semaphore permits{1};
    static fork takes(environment&, stop_in_front* s, int n) {
        auto p = co_await s->permits.acquire_guard(static_cast<std::size_t>(n));
        ++s->went_on;
    }
    static task root(environment&, stop_in_front* s) {
        auto&& here = co_await coflux::context();
        auto many = takes(here, s, 2);
        auto one = takes(here, s, 1);
        for (int i = 0; i != turns; ++i) co_await coflux::this_coroutine::yield();
        many.request_stop();
        (void)co_await coflux::as_outcome(std::move(many));
        co_await std::move(one);
    }
    void holds() {
        MODEL_CHECK(went_on == 1);
        MODEL_CHECK(permits.try_acquire() && !permits.try_acquire());
    }
};

/// The receiver closes while a sender waits for a slot: it is refused, what was sent comes, and then the end.
struct closed_with_a_waiter : of_permits<closed_with_a_waiter, 2>, coflux::model::places {
    plain<int> sent{0};
    int received = 0;
    static fork sends(environment&, closed_with_a_waiter* s, coflux::mpsc_sender<traced> tx) {
        for (int i = 1; i <= 2; ++i) {
            if (!co_await tx.send(traced(i))) break;
            s->sent.set(i);
        }
    }
    static task root(environment&, closed_with_a_waiter* s) {
        auto&& here = co_await coflux::context();
        auto ends = coflux::make_mpsc<traced>(1);
        auto rx = std::move(ends.second);
        sends(here, s, std::move(ends.first)).attach();
        for (int i = 0; i != turns; ++i) co_await coflux::this_coroutine::yield();
        rx.close();
        for (;;) {
            const std::optional<traced> v = co_await rx.receive();
            if (!v) break;
            ++s->received;
        }
    }
    void holds() { MODEL_CHECK(received == sent.get()); }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(count, arguments, "permits", "permits that are counted, waited for, stopped and closed",
                              {sampled<as_a_lock>("as_a_lock", "free, marked, handed on"),
                               sampled<stop_of_waiter>("stop_of_waiter", "the mark and the last waiter"),
                               sampled<stop_in_front>("stop_in_front", "the next is served"),
                               sampled<closed_with_a_waiter>("closed_with_a_waiter", "refused, closed with all back")});
}
