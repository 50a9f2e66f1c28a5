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

/// The kind of the awaited operation, in the environment that its awaiter was itself made in.
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
/// The source of the request, and how the awaiter was made.
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

/// The environment above a shield that is given to the call in it.
enum class above { coroutine, awaiter, object, nearest_object, last };

/// A nap of 1h, in what is awaited.
coflux::call<int> shielded_nap(environment&, awaited what, environment* in) {
    co_return co_await coflux::shielded(awaits(*in, what));
}
coflux::call<int> shields_in_a_call(environment& env, awaited what, environment* in) {
    co_return co_await coflux::shielded(shielded_nap(env, what, in));
}
sim_fork shields(environment& env, awaited what, above given, environment* coroutine, environment* object) {
    auto&& here = co_await coflux::context();
    environment* const given_to_call[] = {coroutine, &here, object, &env};
    co_return co_await shields_in_a_call(here, what, given_to_call[static_cast<int>(given)]);
}
/// Stops all that is above the shield: the objects, the fork, and the coroutine that made them.
coflux::call<void> stops_all_above(environment&, awaited what, above given) {
    auto&& here = co_await coflux::context();
    std::pmr::unsynchronized_pool_resource memory;
    auto object = coflux::make_environment(here);
    auto nearer = coflux::make_environment(object, &memory, coflux::clock::now() + 5ms);
    sim_fork f = shields(nearer, what, given, &here, &object);
    co_await coflux::sleep_for(10ms);
    nearer.request_stop();
    object.request_stop();
    f.request_stop();
    here.request_stop();
    (void)co_await coflux::as_outcome(std::move(f));
}
coflux::task<void, sim_executor> root_of_shield(environment&, awaited what, above given) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_outcome(stops_all_above(here, what, given));
}

TEST(law_04_awaiter, a_stop_from_above_a_shield_reaches_no_call_that_is_awaited_in_it) {
    for (int what = 0; what != static_cast<int>(awaited::last); ++what) {
        // A child that is made above the shield is stopped there.
        if (static_cast<awaited>(what) == awaited::fork || static_cast<awaited>(what) == awaited::task) continue;
        for (int given = 0; given != static_cast<int>(above::last); ++given) {
            EXPECT_EQ(simulated([=](environment& env) {
                          root_of_shield(env, static_cast<awaited>(what), static_cast<above>(given)).join();
                      }),
                      1h)
                << "awaited " << what << ", given " << given;
        }
    }
}

using time_point = std::chrono::steady_clock::time_point;

coflux::call<void> has_both(environment&, std::pmr::memory_resource* memory, time_point deadline) {
    auto&& here = co_await coflux::context();
    EXPECT_EQ(here.memory_resource(), memory);
    EXPECT_EQ(here.deadline(), deadline);
}
coflux::call<void> awaits_both(environment&, environment* above, std::pmr::memory_resource* memory, time_point d) {
    co_await has_both(*above, memory, d);
    EXPECT_TRUE(co_await coflux::timeout(has_both(*above, memory, d), 1h));
    co_await coflux::when_all(has_both(*above, memory, d), has_both(*above, memory, d));
    co_await coflux::shielded(has_both(*above, memory, d));
    (void)co_await coflux::shielded(coflux::timeout(has_both(*above, memory, d), 1h));
}
sim_fork awaits_twice(environment&, environment* above, std::pmr::memory_resource* memory, time_point d) {
    auto&& here = co_await coflux::context();
    co_await awaits_both(here, above, memory, d);
    co_await coflux::shielded(awaits_both(here, above, memory, d));
    co_return 1;
}
coflux::task<void, sim_executor> has_nearer_ones(environment& env) {
    auto&& here = co_await coflux::context();
    std::pmr::unsynchronized_pool_resource memory;
    const time_point deadline = coflux::clock::now() + 2h;
    auto object = coflux::make_environment(here);
    auto nearer = coflux::make_environment(object, &memory, deadline);
    for (environment* const above : {&coflux::outer(env), static_cast<environment*>(&object)}) {
        sim_fork f = awaits_twice(nearer, above, &memory, deadline);
        (void)co_await std::move(f);
    }
    co_await object.join();
}

TEST(law_04_awaiter, a_call_has_memory_and_deadline_of_its_awaiter_rather_than_of_what_is_above) {
    simulated([](environment& env) { has_nearer_ones(env).join(); });
}

coflux::call<int> naps_in(environment&, environment* in) {
    co_return co_await naps(*in);
}
/// Stops an object that is not above the shield: gives whether what is awaited in the shield was stopped.
template <typename Make>
coflux::call<bool> stops_beside(environment&, Make make) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    auto stops = [](environment&, borrowed<environment> of) -> sim_fork {
        co_await coflux::sleep_for(10ms);
        of->request_stop();
        co_return 1;
    }(here, borrowed<environment>(sub));
    const auto end = co_await coflux::as_outcome(coflux::shielded(make(here, sub)));
    (void)co_await std::move(stops);
    co_await sub.join();
    co_return end.is_stopped();
}
coflux::task<void, sim_executor> has_shields(environment&) {
    auto&& here = co_await coflux::context();
    const auto below = [](environment& in, environment& sub) { return naps_in(in, &sub); };
    EXPECT_TRUE(co_await stops_beside(here, below));
    const auto itself = [](environment&, environment& sub) { return naps(sub); };
    EXPECT_FALSE(co_await stops_beside(here, itself));
}

TEST(law_04_awaiter, a_call_of_an_object_beside_its_shield_is_stopped_with_the_object_unless_it_is_shielded_itself) {
    EXPECT_EQ(simulated([](environment& env) { has_shields(env).join(); }), 1h + 10ms);
}

coflux::async_generator<int> limits(environment&) {
    auto&& here = co_await coflux::context();
    EXPECT_FALSE(co_await coflux::timeout(naps(here), 10ms));
    EXPECT_FALSE(co_await coflux::timeout(naps_in(here, &here), 10ms));
    co_yield 1;
}
coflux::task<void, sim_executor> has_a_generator(environment&) {
    auto&& here = co_await coflux::context();
    auto g = limits(here);
    EXPECT_NE(co_await g.next(), nullptr);
    EXPECT_EQ(co_await g.next(), nullptr);
}

TEST(law_04_awaiter, a_limit_in_a_generator_reaches_a_call_of_its_context) {
    EXPECT_EQ(simulated([](environment& env) { has_a_generator(env).join(); }), 20ms);
}

}  // namespace
