// Law 4: a stop of a coroutine reaches what it awaits, whatever environment that was given. The parameter of a
// coroutine is nearer than its context, so that is what a newcomer gives.
#include <chrono>
#include <memory_resource>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::environment;
using coflux::testing::sim_executor;
using sim_fork = coflux::fork<int, sim_executor>;

/// What is awaited, in the environment that its awaiter was itself made in.
enum class awaited {
    call,
    call_of_calls,       ///< each given the same environment
    call_with_children,  ///< that it does not await
    call_after_another,
    call_as_outcome,
    fork,
    task,
    timeout,
    when_all,
    race,
    with_scope,
    last,
};
/// What asks, and how the awaiter was made.
enum class asker { limit_of_call, limit_of_fork, limit_of_nested, race, handle, scope, last };

coflux::call<int> naps(environment&) {
    co_await coflux::sleep_for(1h);
    co_return 1;
}
sim_fork forked_nap(environment&) {
    co_await coflux::sleep_for(1h);
    co_return 1;
}
coflux::task<int, sim_executor> task_of_nap(environment&) {
    co_await coflux::sleep_for(1h);
    co_return 1;
}
coflux::call<int> naps_below(environment& env, int calls) {
    if (calls == 0) co_return co_await naps(env);
    co_return co_await naps_below(env, calls - 1);
}
coflux::call<int> has_children(environment&) {
    auto&& here = co_await coflux::context();
    forked_nap(here).attach();
    co_return 1;
}
coflux::call<int> is_ready(environment&) {
    co_return 1;
}

coflux::call<int> awaits(environment& env, awaited what) {
    switch (what) {
    case awaited::call: co_return co_await naps(env);
    case awaited::call_of_calls: co_return co_await naps_below(env, 40);
    case awaited::call_with_children: co_return co_await has_children(env);
    case awaited::call_after_another: co_return co_await is_ready(env) + co_await naps(env);
    case awaited::call_as_outcome: co_return (co_await coflux::as_outcome(naps(env))).is_stopped();
    case awaited::fork: co_return co_await forked_nap(coflux::outer(env));
    case awaited::task: co_return co_await task_of_nap(coflux::outer(env));
    case awaited::timeout: co_return (co_await coflux::timeout(naps(env), 2h)).timed_out();
    case awaited::when_all: {
        auto [a, b] = co_await coflux::when_all(naps(env), naps(env));
        co_return a + b;
    }
    case awaited::race: co_return co_await coflux::race(naps(env), naps(env));
    case awaited::with_scope:
        co_return co_await coflux::with_scope(
            env, [](coflux::task_scope& scope) -> coflux::call<int> { co_return co_await naps(scope); });
    case awaited::last: break;
    }
    co_return 0;
}
sim_fork forked(environment& env, awaited what) {
    co_return co_await awaits(env, what);
}

coflux::call<void> is_stopped(environment&, awaited what, asker who) {
    auto&& here = co_await coflux::context();
    switch (who) {
    case asker::limit_of_call: (void)co_await coflux::timeout(awaits(here, what), 10ms); break;
    case asker::limit_of_fork: (void)co_await coflux::timeout(forked(here, what), 10ms); break;
    case asker::limit_of_nested: (void)co_await coflux::timeout(coflux::timeout(awaits(here, what), 1h), 10ms); break;
    case asker::race: (void)co_await coflux::when_any(awaits(here, what), coflux::sleep_for(10ms)); break;
    case asker::handle: {
        sim_fork f = forked(here, what);
        co_await coflux::sleep_for(10ms);
        f.request_stop();
        (void)co_await coflux::as_outcome(std::move(f));
        break;
    }
    case asker::scope:
        (void)co_await coflux::timeout(coflux::with_scope(here,
                                                          [what](coflux::task_scope& scope) -> coflux::call<void> {
                                                              scope.spawn(forked, what);
                                                              co_return;
                                                          }),
                                       10ms);
        break;
    case asker::last: break;
    }
}
coflux::task<void, sim_executor> root(environment& env, awaited what, asker who) {
    co_await is_stopped(env, what, who);
}

template <typename F>
std::chrono::nanoseconds simulated(F f) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation world(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    f(env);
    return world.elapsed();
}

TEST(law_04_awaiter, a_stop_reaches_what_is_awaited_whatever_environment_that_was_given) {
    for (int what = 0; what != static_cast<int>(awaited::last); ++what) {
        for (int who = 0; who != static_cast<int>(asker::last); ++who) {
            EXPECT_EQ(simulated([=](environment& env) {
                          root(env, static_cast<awaited>(what), static_cast<asker>(who)).join();
                      }),
                      10ms)
                << "awaited " << what << ", asked by " << who;
        }
    }
}

coflux::task<int, sim_executor> root_that_awaits(environment& env, awaited what) {
    co_return co_await awaits(env, what);
}
coflux::task<void, sim_executor> asks_root(environment&, borrowed<coflux::task<int, sim_executor>> of) {
    co_await coflux::sleep_for(10ms);
    of->request_stop();
}

TEST(law_04_awaiter, so_does_a_stop_of_a_root) {
    for (int what = 0; what != static_cast<int>(awaited::last); ++what) {
        EXPECT_EQ(simulated([=](environment& env) {
                      auto stopped = root_that_awaits(env, static_cast<awaited>(what));
                      asks_root(env, borrowed(stopped)).join();
                      stopped.join();
                  }),
                  10ms)
            << "awaited " << what;
    }
}

using bool_fork = coflux::fork<bool, sim_executor>;

/// Asks for a stop of the coroutine that awaits it, and looks before it suspends.
coflux::call<bool> computes(environment&, bool_fork* const* awaiter) {
    auto&& here = co_await coflux::context();
    (*awaiter)->request_stop();
    co_return here.stop_requested();
}
bool_fork awaits_computing(environment& env, bool_fork* const* self) {
    co_return co_await computes(env, self);
}
coflux::task<bool, sim_executor> sees_it_at_once(environment&) {
    auto&& here = co_await coflux::context();
    bool_fork f;
    bool_fork* const named = &f;
    f = awaits_computing(here, &named);
    co_await coflux::sleep_for(1ms);
    co_return co_await std::move(f);
}

TEST(law_04_awaiter, a_call_that_computes_sees_the_stop_of_its_awaiter) {
    simulated([](environment& env) { EXPECT_TRUE(sees_it_at_once(env).get()); });
}

coflux::call<bool> has_memory(environment&, std::pmr::memory_resource* of) {
    auto&& here = co_await coflux::context();
    co_return here.memory_resource() == of;
}
coflux::call<int> asks_below(environment& env, environment& sub) {
    auto asks = [](environment&, borrowed<environment> of) -> sim_fork {
        co_await coflux::sleep_for(10ms);
        of->request_stop();
        co_return 1;
    }(coflux::outer(env), borrowed(sub));
    std::move(asks).attach();
    co_return co_await naps(sub);
}
coflux::task<void, sim_executor> has_environments(environment&) {
    auto&& here = co_await coflux::context();
    std::pmr::unsynchronized_pool_resource memory;
    auto sub = coflux::make_environment(here, &memory);
    EXPECT_TRUE(co_await has_memory(sub, &memory));
    EXPECT_TRUE((co_await coflux::as_outcome(asks_below(here, sub))).is_stopped());
    co_await sub.join();
}

TEST(law_04_awaiter, a_call_of_an_environment_below_its_awaiter_has_memory_and_stop_of_that) {
    EXPECT_EQ(simulated([](environment& env) { has_environments(env).join(); }), 10ms);
}

coflux::call<int> awaits_in_a_scope(environment& env, environment& given) {
    (void)env;
    auto&& here = co_await coflux::context();
    co_return co_await coflux::with_scope(
        here, [&given](coflux::task_scope&) -> coflux::call<int> { co_return co_await naps(given); });
}
coflux::task<void, sim_executor> has_a_scope(environment&) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [](coflux::task_scope& scope) -> coflux::call<void> {
        auto&& block = co_await coflux::context();
        EXPECT_TRUE(
            (co_await coflux::deadline(awaits_in_a_scope(block, scope), coflux::clock::now() + 10ms)).timed_out());
        EXPECT_TRUE((co_await coflux::timeout(awaits_in_a_scope(scope, scope), 10ms)).timed_out());
    });
}

TEST(law_04_awaiter, one_of_an_environment_above_its_awaiter_is_stopped_with_its_awaiter) {
    EXPECT_EQ(simulated([](environment& env) { has_a_scope(env).join(); }), 20ms);
}

}  // namespace
