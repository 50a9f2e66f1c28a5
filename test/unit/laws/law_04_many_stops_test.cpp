// Law 4: no worker stands still for the stops that one operation requests, however many handles it has, and whoever
// asked it to.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../../../src/core/detail/wait/stop_walk.hpp"
#include "support/executors.hpp"

namespace {

using coflux_test::manual_executor;
using child = coflux::fork<void, manual_executor>;
using children = std::vector<child>;
using root = coflux::task<void, manual_executor>;

constexpr int many = 5'000;
constexpr std::size_t a_step = coflux::detail::longest_stop_step;
constexpr std::chrono::hours never_comes{24};

/// The most that one turn of an executor does, until nothing is queued.
struct turns {
    std::size_t queued = 0;      // coroutines
    std::uint32_t requests = 0;  // of stops
    std::uint64_t looks = 0;

    /// The first turn is `begin()`.
    template <typename F>
    turns(manual_executor& by_hand, F begin) {
        add(by_hand, begin);
        bool any = true;
        while (any) add(by_hand, [&] { any = by_hand.run_one(); });
    }

private:
    template <typename F>
    void add(const manual_executor& by_hand, F turn) {
        const auto& looked = coflux::detail::effort_of_stops.looks;
        const std::size_t queued_before = by_hand.executed();
        const std::uint32_t requests_before = coflux::detail::stop_requests.load();
        const std::uint64_t looks_before = looked.load();
        turn();
        queued = std::max(queued, by_hand.executed() - queued_before);
        requests = std::max(requests, coflux::detail::stop_requests.load() - requests_before);
        looks = std::max(looks, looked.load() - looks_before);
    }
};

/// The events that the children wait for.
struct ground {
    coflux::manual_reset_event never;
    coflux::manual_reset_event first;  // one of them; it ends with a value
    coflux::channel<int[1]> c;
    children all;
};

coflux::call<void> naps(coflux::manual_reset_event* e) {
    co_await e->wait();
}
root nothing(coflux::environment&) {
    co_return;
}
child waits(coflux::environment&, coflux::manual_reset_event* e) {
    co_await e->wait();
}
child waits_in_a_call(coflux::environment&, coflux::manual_reset_event* e) {
    co_await naps(e);
}
/// A tree of its own.
child has_some(coflux::environment&, coflux::manual_reset_event* e, int below) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != below; ++i) waits(here, e).attach();
    co_await e->wait();
}

/// Makes the children that another coroutine takes over: the tree does not reach them from there.
root makes(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != many; ++i) g->all.push_back(waits(here, &g->never));
    g->all.push_back(waits(here, &g->first));
}
root makes_calls(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != many; ++i) g->all.push_back(waits_in_a_call(here, &g->never));
}
root makes_trees(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != 60; ++i) g->all.push_back(has_some(here, &g->never, 100));
    g->all.push_back(waits(here, &g->first));
}

// --- what waits for them ---------------------------------------------------------------------------------------------

root in_when_all(coflux::environment&, ground* g) {
    co_await coflux::when_all(std::move(g->all));
}
root in_when_all_outcomes(coflux::environment&, ground* g) {
    (void)co_await coflux::when_all_outcomes(std::move(g->all));
}
root in_when_all_that_stops(coflux::environment&, ground* g) {
    co_await coflux::when_all(coflux::stop_on_error, std::move(g->all));
}
root in_when_any(coflux::environment&, ground* g) {
    (void)co_await coflux::when_any(std::move(g->all));
}
root in_race(coflux::environment&, ground* g) {
    co_await coflux::race(std::move(g->all));
}
root in_first_success(coflux::environment&, ground* g) {
    co_await coflux::first_success(std::move(g->all));
}
root in_when_n(coflux::environment&, ground* g) {
    (void)co_await coflux::when_n(std::move(g->all), 1);
}
root in_select(coflux::environment&, ground* g) {
    (void)co_await coflux::select(std::move(g->all), g->c.receive());
}
root in_completed(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, std::move(g->all));
    while (co_await done.next()) {}
}
root in_timeout(coflux::environment&, ground* g) {
    (void)co_await coflux::timeout(coflux::when_any(std::move(g->all)), never_comes);
}
root in_deadline(coflux::environment&, ground* g) {
    (void)co_await coflux::deadline(coflux::when_all(std::move(g->all)),
                                    std::chrono::steady_clock::now() + never_comes);
}

struct kind {
    const char* name;
    root (*make)(coflux::environment&, ground*);
};
constexpr kind kinds[] = {
    {"when_all", in_when_all},
    {"when_all_outcomes", in_when_all_outcomes},
    {"when_all that stops", in_when_all_that_stops},
    {"when_any", in_when_any},
    {"race", in_race},
    {"first_success", in_first_success},
    {"when_n", in_when_n},
    {"select", in_select},
    {"completed", in_completed},
    {"timeout", in_timeout},
    {"deadline", in_deadline},
};
/// Those that a child decides.
constexpr kind decided[] = {{"when_any", in_when_any}, {"race", in_race},     {"first_success", in_first_success},
                            {"when_n", in_when_n},     {"select", in_select}, {"timeout", in_timeout}};

/// Runs `begin` once all wait, and what comes of it until nothing is queued.
template <typename F>
turns of(const kind& k, root (*makes_all)(coflux::environment&, ground*), F begin) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    ground g;
    root maker = makes_all(env, &g);
    by_hand.run_all();
    root taker = k.make(env, &g);
    by_hand.run_all();
    const turns seen(by_hand, [&] { begin(taker, g); });
    EXPECT_TRUE(taker.done());
    EXPECT_TRUE(maker.done());
    taker.join();
    maker.join();
    return seen;
}
void requests(const root& taker, ground&) {
    taker.request_stop();
}
void decides(const root&, ground& g) {
    g.first.set();
}

TEST(law_04_many_stops, a_stop_of_an_operation_requests_those_of_its_handles_in_steps) {
    for (const kind& k : kinds) {
        SCOPED_TRACE(k.name);
        const turns seen = of(k, makes, requests);
        EXPECT_LE(seen.requests, a_step + 2);  // its own, and that of the coroutine that it is limited in
        EXPECT_LE(seen.queued, a_step + 1);
    }
}

TEST(law_04_many_stops, calls_that_wait_below_a_relay_are_stopped_in_steps) {
    for (const kind& k : kinds) {
        SCOPED_TRACE(k.name);
        const turns seen = of(k, makes_calls, requests);
        // A step stops as many as it may, and leaves the rest to a child of what waits for such a call.
        EXPECT_LE(seen.requests, a_step + 2);
        EXPECT_LE(seen.queued, a_step + 1);
    }
}

TEST(law_04_many_stops, losers_are_stopped_in_steps) {
    for (const kind& k : decided) {
        SCOPED_TRACE(k.name);
        const turns seen = of(k, makes, decides);
        EXPECT_LE(seen.requests, a_step);
        EXPECT_LE(seen.queued, a_step + 1);
    }
}

TEST(law_04_many_stops, a_channel_that_wins_a_select_stops_its_losers_in_steps) {
    const turns seen = of({"select", in_select}, makes, [](const root& taker, ground& g) {
        EXPECT_TRUE(g.c.try_send(1));
        EXPECT_FALSE(taker.done());
    });
    EXPECT_LE(seen.requests, a_step);
    EXPECT_LE(seen.queued, a_step + 1);
}

TEST(law_04_many_stops, what_is_below_a_handle_counts_too) {
    for (const kind& k : kinds) {
        SCOPED_TRACE(k.name);
        const turns seen = of(k, makes_trees, requests);
        EXPECT_LE(seen.looks, 2 * a_step + 100);
        EXPECT_LE(seen.queued, a_step + 100);
    }
    for (const kind& k : decided) {
        SCOPED_TRACE(k.name);
        const turns seen = of(k, makes_trees, decides);
        EXPECT_LE(seen.looks, 2 * a_step + 100);
        EXPECT_LE(seen.queued, a_step + 100);
    }
}

TEST(law_04_many_stops, a_stop_that_came_before_the_wait_is_passed_on_in_steps) {
    for (const kind& k : kinds) {
        SCOPED_TRACE(k.name);
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        ground g;
        root maker = makes(env, &g);
        by_hand.run_all();
        root taker = k.make(env, &g);
        taker.request_stop();
        const turns seen(by_hand, [] {});
        EXPECT_TRUE(taker.done());
        EXPECT_TRUE(maker.done());
        EXPECT_LE(seen.requests, a_step + 2);
        EXPECT_LE(seen.queued, a_step + 2);
        taker.join();
        maker.join();
    }
}

/// Asks once it has taken `taken` of them, and takes `more`; then the completions die.
root asks_them(coflux::environment&, ground* g, coflux::manual_reset_event* asks, int more) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, std::move(g->all));
    co_await asks->wait();
    done.request_stop();
    for (int i = 0; i != more; ++i) {
        const auto got = co_await done.next_outcome();
        if (!got) co_return;
        EXPECT_TRUE(got->value().is_stopped());
        if (i % 1'000 == 0) done.request_stop();
    }
}

TEST(law_04_many_stops, completions_stop_their_children_in_steps) {
    for (const int more : {0, 1, 300, 2'000, many + 2}) {
        SCOPED_TRACE(more);
        manual_executor by_hand;
        auto env = coflux::make_environment(by_hand);
        ground g;
        coflux::manual_reset_event asks;
        root maker = makes(env, &g);
        by_hand.run_all();
        root taker = asks_them(env, &g, &asks, more);
        by_hand.run_all();
        const turns seen(by_hand, [&] { asks.set(); });
        EXPECT_TRUE(taker.done());
        EXPECT_TRUE(maker.done());
        EXPECT_LE(seen.requests, 2 * a_step);  // asked, and died
        EXPECT_LE(seen.queued, 2 * a_step);
        taker.join();
        maker.join();
    }
}

using pool = coflux::thread_pool_executor;
coflux::fork<void, pool> ends_soon(coflux::environment&, coflux::manual_reset_event* e) {
    co_await e->wait();
}
struct several {
    std::vector<coflux::fork<void, pool>> all;
    std::atomic<bool> made{false};
    coflux::manual_reset_event never;
    coflux::manual_reset_event some;
};
coflux::task<void, pool> makes_several(coflux::environment&, several* s) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i != 2'000; ++i) s->all.push_back(ends_soon(here, i % 3 == 0 ? &s->some : &s->never));
    s->made = true;
}
coflux::task<void, pool> takes_some(coflux::environment&, several* s, int taken) {
    auto&& here = co_await coflux::context();
    auto done = coflux::completed(here, std::move(s->all));
    s->some.set();
    done.request_stop();
    for (int i = 0; i != taken; ++i) (void)co_await done.next_outcome();
}

TEST(law_04_many_stops, completions_are_taken_and_die_beside_the_stops_of_their_children) {
    pool workers(2);
    for (int round = 0; round != 40; ++round) {
        auto env = coflux::make_environment(workers);
        several s;
        auto maker = makes_several(env, &s);
        while (!s.made) std::this_thread::yield();
        auto taker = takes_some(env, &s, 100 * (round % 20));
        taker.join();
        maker.join();
    }
}

// --- those that make their children ----------------------------------------------------------------------------------

root in_environment(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    for (int i = 0; i != many; ++i) waits(sub, &g->never).attach();
    co_await sub.join();
}
root in_task_scope(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    for (int i = 0; i != many; ++i) waits(scope, &g->never).attach();
    co_await scope.join();
}
root in_with_scope(coflux::environment&, ground* g) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [g](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 0; i != many; ++i) waits(scope, &g->never).attach();
        co_return;
    });
}
root in_for_each(coflux::environment&, ground* g) {
    const std::vector<int> all(many);
    co_await coflux::for_each_concurrent(all, many, [g](coflux::environment& in, int) { return waits(in, &g->never); });
}
constexpr kind makers[] = {{"environment", in_environment},
                           {"task_scope", in_task_scope},
                           {"with_scope", in_with_scope},
                           {"for_each_concurrent", in_for_each}};

TEST(law_04_many_stops, a_scope_stops_its_children_in_steps) {
    for (const kind& k : makers) {
        SCOPED_TRACE(k.name);
        const turns seen = of(k, [](coflux::environment& env, ground*) -> root { return nothing(env); }, requests);
        EXPECT_LE(seen.requests, a_step + 2);
        EXPECT_LE(seen.looks, a_step + 8);
        EXPECT_LE(seen.queued, a_step + 1);
    }
}

}  // namespace
