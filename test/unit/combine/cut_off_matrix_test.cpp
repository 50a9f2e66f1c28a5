// A child that a limit cut off, through whatever held it and through any combinator: the result says so. The table is
// in docs/promises.md; test/unit/laws/law_04_cut_off_test.cpp has what asked.
#include <coflux/scope/with_scope.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/operations.hpp"
#include "support/unawaited_work.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux_test::combinator;
using coflux_test::combined;
using coflux_test::operation;
using coflux_test::work;
using coflux_test::works;
using sim_fork = coflux::fork<void, sim_executor>;
using sim_task = coflux::task<void, sim_executor>;
using std::chrono::milliseconds;

/// The limited operation that holds the child.
enum class standing : unsigned char {
    block,             ///< a with_scope whose block only spawns
    block_in_child,    ///< the same in a child of a with_scope
    block_attaches,    ///< a with_scope whose block has a child of its own
    scope_join,        ///< join() of a task_scope of the limiting coroutine
    environment_join,  ///< join() of an environment of the limiting coroutine
    fork_attaches,
    fork_keeps,      ///< the handle, which it does not await
    unjoined_scope,  ///< a fork whose task_scope dies without join()
    task_attaches,
    call_attaches,
    call_in_call,  ///< the one below attaches
    each,          ///< for_each_concurrent of a call that attaches
    generator,     ///< an async_generator that attaches, read to its end
};
constexpr std::size_t standings = static_cast<std::size_t>(standing::generator) + 1;
constexpr const char* names[standings] = {"a block that spawns",
                                          "a block in a child of a block",
                                          "a block with a child of its own",
                                          "join of a task_scope",
                                          "join of an environment",
                                          "a fork that attaches",
                                          "a fork that keeps a handle",
                                          "a fork with a scope that is not joined",
                                          "a task that attaches",
                                          "a call that attaches",
                                          "a call of a call that attaches",
                                          "for_each_concurrent",
                                          "a generator"};

coflux::call<void> spawns_in_block(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [w](coflux::task_scope& s) -> coflux::call<void> {
        s.spawn(works, w);
        co_return;
    });
}
sim_fork spawns_in_block_of_fork(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    co_await spawns_in_block(here, w);
}
coflux::call<void> spawns_block(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [w](coflux::task_scope& s) -> coflux::call<void> {
        s.spawn(spawns_in_block_of_fork, w);
        co_return;
    });
}
coflux::call<void> attaches(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    works(here, w).attach();
}
coflux::call<void> attaches_in_block(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    co_await coflux::with_scope(here, [w](coflux::task_scope&) -> coflux::call<void> {
        auto&& own = co_await coflux::context();
        works(own, w).attach();
    });
}
coflux::call<void> calls(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    co_await attaches(here, w);
}
sim_fork attaches_as_fork(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    works(here, w).attach();
}
sim_task attaches_as_task(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    works(here, w).attach();
}
sim_fork keeps(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    const sim_fork kept = works(here, w);
    co_await coflux::shielded(coflux::sleep_for(20ms));  // until the child has ended
}
sim_fork does_not_join(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    coflux::task_scope s(here);
    s.spawn(works, w);
    co_await coflux::shielded(coflux::sleep_for(20ms));
}
coflux::call<void> attaches_for_each(coflux::environment&, work* w) {
    std::vector<work*> all{w};
    co_await coflux::for_each_concurrent(all, 1, [](coflux::environment& in, work* one) { return attaches(in, one); });
}
coflux::async_generator<int> generates(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    works(here, w).attach();
    co_yield 1;
}
coflux::call<void> reads(coflux::environment&, work* w) {
    auto&& here = co_await coflux::context();
    auto g = generates(here, w);
    while (co_await g.next()) {}
}

/// The limiting coroutine's objects for it.
struct place {
    explicit place(coflux::environment& at) : here(at), scope(at), below(coflux::make_environment(at)) {}
    coflux::environment& here;
    coflux::task_scope scope;
    decltype(coflux::make_environment(std::declval<coflux::environment&>())) below;
};

template <auto Call>
operation of_call(coflux::environment& here, work* w) {
    return operation::of([&here, w] { return Call(here, w); });
}
template <typename Handle>
operation of_handle(Handle h) {
    return operation::of([](Handle&& given) -> Handle&& { return std::move(given); }, std::move(h));
}
operation made(standing s, place& at, work* w) {
    switch (s) {
    case standing::block: return of_call<spawns_in_block>(at.here, w);
    case standing::block_in_child: return of_call<spawns_block>(at.here, w);
    case standing::block_attaches: return of_call<attaches_in_block>(at.here, w);
    case standing::scope_join: at.scope.spawn(works, w); return operation::of([&at] { return at.scope.join(); });
    case standing::environment_join:
        works(at.below, w).attach();
        return operation::of([&at] { return at.below.join(); });
    case standing::fork_attaches: return of_handle(attaches_as_fork(at.here, w));
    case standing::fork_keeps: return of_handle(keeps(at.here, w));
    case standing::unjoined_scope: return of_handle(does_not_join(at.here, w));
    case standing::task_attaches: return of_handle(attaches_as_task(at.here, w));
    case standing::call_attaches: return of_call<attaches>(at.here, w);
    case standing::call_in_call: return of_call<calls>(at.here, w);
    case standing::each: return of_call<attaches_for_each>(at.here, w);
    case standing::generator: break;
    }
    return of_call<reads>(at.here, w);
}

/// Whatever limits: it must say whether the operation has finished.
enum class limit : unsigned char { timeout, deadline, select, owner };
constexpr std::size_t limits = static_cast<std::size_t>(limit::owner) + 1;
constexpr const char* limit_names[limits] = {"timeout", "deadline", "select", "the owner"};

/// Awaits what was made elsewhere and given to it; a call becomes a part of it.
sim_fork awaits(coflux::environment&, operation given) {
    co_await std::move(given);
}

struct cell {
    standing of{};
    std::optional<combinator> through;
    limit by{};
    bool beside = false;
    work child{};
    bool finished = false;
};

sim_task runs(coflux::environment&, borrowed<cell> c) {
    auto&& here = co_await coflux::context();
    {
        place at(here);
        operation o = made(c->of, at, &c->child);
        if (c->through) o = combined(*c->through, std::move(o), c->beside);
        if (c->by == limit::timeout) {
            c->finished = co_await coflux::timeout(std::move(o), 10ms);
        } else if (c->by == limit::deadline) {
            c->finished = co_await coflux::deadline(std::move(o), coflux::clock::now() + 10ms);
        } else if (c->by == limit::select) {
            c->finished = (co_await coflux::select(std::move(o), coflux::sleep_for(10ms))).index() == 0;
        } else {
            sim_fork waits = awaits(here, std::move(o));
            co_await 10ms;
            waits.request_stop();
            c->finished = (co_await coflux::as_outcome(std::move(waits))).has_value();
        }
        co_await at.scope.join();  // it has said what was cut off, or there was nothing
        co_await at.below.join();
    }
}

std::string run_of(cell& c) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    std::string name = names[static_cast<std::size_t>(c.of)];
    if (c.through) name = std::string(name_of(*c.through)) + " of " + name;
    name += std::string(", by ") + limit_names[static_cast<std::size_t>(c.by)];
    if (c.beside) name += ", beside another";
    try {
        runs(env, borrowed(c)).get();
    } catch (const std::exception& e) {
        ADD_FAILURE() << name << ": " << e.what();
    }
    return name;
}

/// Takes the stop of what it is given as an outcome: that says it.
bool gives_outcome(std::optional<combinator> c) {
    return c == combinator::as_outcome || c == combinator::when_all_outcomes;
}

TEST(cut_off_matrix, a_limit_says_so_whatever_stood_for_the_child_and_through_any_combinator) {
    for (std::size_t of = 0; of != standings; ++of) {
        for (std::size_t by = 0; by != limits; ++by) {
            for (std::size_t through = 0; through <= coflux_test::combinators; ++through) {
                for (const bool beside : {false, true}) {
                    cell c{static_cast<standing>(of), std::nullopt, static_cast<limit>(by), beside, {1h}};
                    if (through != coflux_test::combinators) c.through = static_cast<combinator>(through);
                    if (!c.through && beside) continue;
                    const std::string name = run_of(c);
                    EXPECT_FALSE(c.child.done) << name;
                    if (!gives_outcome(c.through)) EXPECT_FALSE(c.finished) << name;
                }
            }
        }
    }
}

TEST(cut_off_matrix, what_ends_in_time_is_finished) {
    for (std::size_t of = 0; of != standings; ++of) {
        for (std::size_t by = 0; by != limits; ++by) {
            cell c{static_cast<standing>(of), std::nullopt, static_cast<limit>(by), false, {1ms}};
            // These keep on for 20 ms, in a shield: what was not cut off counts, however late.
            const bool is_late = c.of == standing::fork_keeps || c.of == standing::unjoined_scope;
            const std::string name = run_of(c);
            EXPECT_TRUE(c.child.done) << name;
            if (!is_late || c.by != limit::select) EXPECT_TRUE(c.finished) << name;
        }
    }
}

TEST(cut_off_matrix, is_an_outcome_where_one_is_asked_for) {
    for (const standing of : {standing::block, standing::scope_join, standing::environment_join,
                              standing::fork_attaches, standing::call_attaches}) {
        coflux::testing::fifo_chooser in_order;
        coflux::testing::simulation sim(in_order);
        sim_executor executor;
        auto env = coflux::make_environment(executor);
        constexpr auto asks_for_outcome = [](coflux::environment&, standing what) -> sim_task {
            auto&& here = co_await coflux::context();
            work w{1h};
            constexpr auto owner = [](coflux::environment&, standing s, work* child, borrowed<bool> told) -> sim_fork {
                auto&& own = co_await coflux::context();
                place at(own);
                operation o = made(s, at, child);
                const coflux::outcome<void> end = co_await coflux::as_outcome(awaits(own, std::move(o)));
                *told = end.is_stopped();
                co_await at.scope.join();
                co_await at.below.join();
            };
            bool told = false;
            sim_fork f = owner(here, what, &w, borrowed(told));
            co_await 10ms;
            f.request_stop();
            (void)co_await coflux::as_outcome(std::move(f));
            EXPECT_TRUE(told) << names[static_cast<std::size_t>(what)];
            EXPECT_FALSE(w.done);
        };
        asks_for_outcome(env, of).get();
    }
    // join() itself as an outcome.
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    constexpr auto joins = [](coflux::environment&, work* w, borrowed<bool> told) -> sim_task {
        auto&& here = co_await coflux::context();
        coflux::task_scope s(here);
        s.spawn(works, w);
        *told = (co_await coflux::as_outcome(s.join())).is_stopped();
        co_await s.join();  // told once
    };
    work w{1h};
    bool told = false;
    sim_task root = joins(env, &w, borrowed(told));
    root.request_stop();
    root.join();
    EXPECT_TRUE(told);
}

TEST(cut_off_matrix, a_root_throws_that_it_was_stopped) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    work w{1h};
    constexpr auto starts = [](coflux::environment&, work* child) -> coflux::task<std::string, sim_executor> {
        auto&& here = co_await coflux::context();
        works(here, child).attach();
        co_return std::string(100, 'x');  // dies with the frame
    };
    auto root = starts(env, &w);
    root.request_stop();
    EXPECT_THROW((void)root.get(), coflux::task_stopped);
    EXPECT_FALSE(w.done);
}

coflux::call<void> works_in_block(coflux::environment&, work* w, borrowed<bool> finished) {
    auto&& here = co_await coflux::context();
    co_await spawns_in_block(here, w);
    *finished = true;
}

TEST(cut_off_matrix, what_is_shielded_is_not_cut_off) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    constexpr auto shields = [](coflux::environment&, work* child, borrowed<bool> finished) -> sim_task {
        auto&& here = co_await coflux::context();
        EXPECT_TRUE(co_await coflux::timeout(coflux::shielded(works_in_block(here, child, finished)), 10ms));
    };
    work w{30ms};
    bool finished = false;
    shields(env, &w, borrowed(finished)).get();
    EXPECT_TRUE(w.done && finished);
}

}  // namespace
