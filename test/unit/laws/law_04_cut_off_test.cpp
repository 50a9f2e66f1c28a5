// Law 4: whether a stop that ended a child stops what stood for the child depends on what asked for it. The table is in
// docs/promises.md; test/unit/combine/cut_off_matrix_test.cpp has the ways of the result.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/unawaited_work.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux_test::work;
using coflux_test::works;
using sim_fork = coflux::fork<void, sim_executor>;
using sim_task = coflux::task<void, sim_executor>;
using std::chrono::milliseconds;

enum class asker : unsigned char {
    nobody,        ///< the child ends by itself
    child,         ///< stops itself
    handle,        ///< a request of the child alone
    block,         ///< a request of the scope
    own_deadline,  ///< that of the environment which the children are made in
    sibling,       ///< the error of another child
    above,         ///< a request of what is above
    above_and_block,
    block_and_above,
    above_and_handle,
    above_kept,  ///< with finish_with_value()
};

enum class result : unsigned char { value, error, stopped };

sim_fork stops_itself(coflux::environment&, work* w) {
    co_await coflux::sleep_for(w->lasts);
    co_await coflux::this_coroutine::stop();
}
sim_fork fails(coflux::environment&) {
    co_await 5ms;
    throw std::runtime_error("sibling");
}
/// Not a stop point, for the code that is asked.
coflux::call<void> goes_on_for(coflux::environment&, milliseconds d) {
    auto&& here = co_await coflux::context();
    (void)here;
    co_await coflux::shielded(coflux::sleep_for(d));
}

/// In the scope `in`, whose owner asks at 5 ms; what is above asks at 10 ms, or at 2 ms where it comes first.
coflux::call<void> asks(coflux::environment&, coflux::environment& in, asker who, work* w) {
    auto&& here = co_await coflux::context();
    if (who == asker::nobody || who == asker::child) w->lasts = 5ms;
    sim_fork c = who == asker::child ? stops_itself(in, w) : works(in, w);
    if (who == asker::sibling) fails(in).attach();
    if (who == asker::above_kept) in.finish_with_value();
    co_await goes_on_for(here, 5ms);
    if (who == asker::handle || who == asker::above_and_handle) c.request_stop();
    if (who == asker::block || who == asker::above_and_block || who == asker::block_and_above) in.request_stop();
    std::move(c).attach();
}

enum class scope_of { block, task_scope, environment, fork };

sim_fork has_scope(coflux::environment&, scope_of what, asker who, work* w) {
    auto&& here = co_await coflux::context();
    if (what == scope_of::block) {
        co_await coflux::with_scope(here, [&](coflux::task_scope& s) -> coflux::call<void> {
            auto&& own = co_await coflux::context();
            co_await asks(own, s, who, w);
        });
    } else if (what == scope_of::task_scope) {
        coflux::task_scope s(here);
        co_await asks(here, s, who, w);
        co_await s.join();
    } else if (what == scope_of::environment) {
        auto below = coflux::make_environment(
            here, coflux::clock::now() + (who == asker::own_deadline ? milliseconds(5) : milliseconds(1h)));
        co_await asks(here, below, who, w);
        co_await below.join();
    } else {
        co_await asks(here, here, who, w);
    }
}

sim_task asked(coflux::environment&, scope_of what, asker who, borrowed<work> w, borrowed<result> got) {
    auto&& here = co_await coflux::context();
    sim_fork f = has_scope(here, what, who, &*w);
    const bool from_above = who == asker::above || who == asker::above_and_block || who == asker::block_and_above ||
                            who == asker::above_and_handle || who == asker::above_kept;
    if (from_above) {
        // Where both ask, the child is stopped by one, and the other one finds the rest.
        co_await coflux::sleep_for(who == asker::block_and_above ? 6ms : 2ms);
        f.request_stop();
    }
    const auto o = co_await coflux::as_outcome(std::move(f));
    *got = o.has_value() ? result::value : o.has_error() ? result::error : result::stopped;
}

struct asked_row {
    asker who;
    const char* name;
    result of_object;  ///< of a with_scope, and of join()
    result of_fork;    ///< of a coroutine with children of its own
};
constexpr asked_row rows[] = {
    {asker::nobody, "nobody", result::value, result::value},
    {asker::child, "the child itself", result::value, result::value},
    {asker::handle, "the child's handle", result::value, result::value},
    {asker::block, "the block", result::value, result::stopped},  // the coroutine asks for its own stop
    {asker::own_deadline, "the deadline of the environment", result::value, result::value},
    {asker::sibling, "a sibling", result::error, result::error},
    {asker::above, "what is above", result::stopped, result::stopped},
    {asker::above_and_block, "what is above, then the block", result::value, result::stopped},
    {asker::block_and_above, "the block, then what is above", result::value, result::stopped},
    {asker::above_and_handle, "what is above, then the child's handle", result::stopped, result::stopped},
    {asker::above_kept, "what is above, of one that finishes with its value", result::value, result::value},
};

TEST(law_04_cut_off, the_result_depends_on_what_asked) {
    for (const scope_of what : {scope_of::block, scope_of::task_scope, scope_of::environment, scope_of::fork}) {
        for (const asked_row& row : rows) {
            if (row.who == asker::own_deadline && what != scope_of::environment) continue;
            coflux::testing::fifo_chooser in_order;
            coflux::testing::simulation sim(in_order);
            sim_executor executor;
            auto env = coflux::make_environment(executor);
            work w{30ms};
            result got{};
            asked(env, what, row.who, borrowed(w), borrowed(got)).get();
            EXPECT_EQ(got, what == scope_of::fork ? row.of_fork : row.of_object)
                << row.name << ", scope " << static_cast<int>(what);
        }
    }
}

sim_fork takes_the_outcome(coflux::environment&, bool has_view, work* w) {
    auto&& here = co_await coflux::context();
    sim_fork c = works(here, w);
    std::optional<coflux::fork_view<void>> view;
    if (has_view) view.emplace(c.view());
    const auto o = co_await coflux::as_outcome(std::move(c));
    EXPECT_TRUE(o.is_stopped());
}

TEST(law_04_cut_off, a_child_whose_stop_is_awaited_as_an_outcome_was_not_cut_off) {
    for (const bool has_view : {false, true}) {
        coflux::testing::fifo_chooser in_order;
        coflux::testing::simulation sim(in_order);
        sim_executor executor;
        auto env = coflux::make_environment(executor);
        constexpr auto stops = [](coflux::environment&, bool views) -> sim_task {
            auto&& here = co_await coflux::context();
            work w{1h};
            sim_fork f = takes_the_outcome(here, views, &w);
            co_await 10ms;
            f.request_stop();
            EXPECT_TRUE((co_await coflux::as_outcome(std::move(f))).has_value()) << views;
        };
        stops(env, has_view).get();
    }
}

template <typename Scope>
coflux::call<void> is_told_once(coflux::environment&, Scope& s) {
    work w{1h};
    works(s, &w).attach();
    EXPECT_TRUE((co_await coflux::timeout(s.join(), 10ms)).timed_out());
    EXPECT_TRUE(s.stop_requested());  // it stays stopped, and so is what is added
    works(s, &w).attach();
    EXPECT_TRUE((co_await coflux::as_outcome(s.join())).is_stopped());
    works(s, &w).attach();
    co_await s.join();
    works(s, &w).attach();
    co_await coflux::sleep_for(1ms);
    EXPECT_FALSE(w.done);
}
coflux::task<int, sim_executor> joins_again(coflux::environment&) {
    auto&& here = co_await coflux::context();
    {
        coflux::task_scope s(here);
        co_await is_told_once(here, s);
    }
    auto below = coflux::make_environment(here);
    co_await is_told_once(here, below);
    co_return 1;
}
/// In a scope that a limited join() has stopped before.
sim_fork joins_again_when_stopped(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::task_scope s(here);
    work w{1h};
    works(s, &w).attach();
    (void)co_await coflux::timeout(s.join(), 1ms);
    [](coflux::environment&) -> sim_fork {
        co_await coflux::shielded(coflux::sleep_for(20ms));
        co_await coflux::yield();
    }(s)
                                    .attach();
    co_await s.join();
}
sim_task stops_the_second_join(coflux::environment&) {
    auto&& here = co_await coflux::context();
    sim_fork f = joins_again_when_stopped(here);
    co_await coflux::sleep_for(10ms);
    f.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(f))).is_stopped());
}

TEST(law_04_cut_off, a_join_that_a_limit_cut_off_is_told_once) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    EXPECT_EQ(joins_again(env).get(), 1);
    stops_the_second_join(env).get();
}

}  // namespace
