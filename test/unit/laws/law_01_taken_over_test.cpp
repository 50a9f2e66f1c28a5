// Law 1: what a stop reaches passes it on to all that it took over, through any number of combinators.
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/foreign_event.hpp"
#include "support/operations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux_test::combinator;
using coflux_test::combined;
using coflux_test::foreign_event;
using coflux_test::operation;
using sim_fork = coflux::fork<void, sim_executor>;
using sim_task = coflux::task<void, sim_executor>;

enum class leaf : unsigned char { fork, task, call, view, channel, sleep, foreign, scope };
constexpr std::size_t leaves = 8;
constexpr const char* leaf_names[leaves] = {"fork", "task", "call", "view", "channel", "sleep", "foreign", "scope"};

/// The stopper: a limit, or the owner of the coroutine that awaits.
enum class stopper : unsigned char { limit, owner };

sim_fork naps(coflux::environment&) {
    co_await 10h;
}
sim_task naps_as_task(coflux::environment&) {
    co_await 10h;
}
coflux::call<void> calls(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await naps(here);
}

/// The parts of the leaves of one cell.
struct world {
    coflux::channel<int[1]> empty;
    foreign_event never_told;
};

/// One cell: `outer` of `inner` of a leaf that was made in `here`.
operation nest(coflux::environment& here, world& w, combinator outer, combinator inner, leaf of, bool beside,
               coflux::task_scope& scope, const sim_fork& viewed) {
    const auto inside = [&] {
        switch (of) {
        case leaf::fork: return combined(inner, naps(here), beside);
        case leaf::task: return combined(inner, naps_as_task(here), beside);
        case leaf::call: return combined(inner, operation::of([&here] { return calls(here); }), beside);
        case leaf::view: return combined(inner, operation::of([v = viewed.view()] { return v; }), beside);
        case leaf::channel: return combined(inner, operation::of([&w] { return w.empty.receive(); }), beside);
        case leaf::sleep: return combined(inner, operation::of([] { return coflux::sleep_for(10h); }), beside);
        case leaf::foreign:
            return combined(inner, operation::of([&w]() -> foreign_event& { return w.never_told; }), beside);
        case leaf::scope: break;
        }
        scope.spawn(naps);
        return combined(inner, operation::of([&scope] { return scope.join(); }), beside);
    };
    return combined(outer, inside(), beside);
}

/// Awaits what was made elsewhere and given to it; a call becomes a part of it.
sim_fork awaits(coflux::environment&, operation given) {
    co_await std::move(given);
}

sim_fork sets_later(coflux::environment&, borrowed<foreign_event> event) {
    co_await 50ms;
    event->set();
}

struct cell {
    combinator outer;
    combinator inner;
    leaf of;
    stopper by;
    bool beside;
    std::chrono::nanoseconds took{};
};

sim_task runs(coflux::environment&, borrowed<cell> c) {
    auto&& here = co_await coflux::context();
    world w;
    coflux::task_scope scope(here);
    sim_fork viewed = naps(here);
    sim_fork setter = sets_later(here, borrowed(w.never_told));
    const auto begin = coflux::clock::now();
    operation o = nest(here, w, c->outer, c->inner, c->of, c->beside, scope, viewed);
    if (c->by == stopper::limit) {
        (void)co_await coflux::timeout(std::move(o), 10ms);
    } else {
        sim_fork waits = awaits(here, std::move(o));
        co_await 10ms;
        waits.request_stop();
        (void)co_await coflux::as_outcome(std::move(waits));
    }
    c->took = coflux::clock::now() - begin;
    EXPECT_FALSE(viewed.done());
    viewed.request_stop();
    co_await std::move(setter);
    co_await scope.join();
}

TEST(law_01_taken_over, a_stop_reaches_what_any_combinator_of_any_took_over_at_once) {
    for (std::size_t outer = 0; outer != coflux_test::combinators; ++outer) {
        for (std::size_t inner = 0; inner != coflux_test::combinators; ++inner) {
            if (!coflux_test::is_allowed(static_cast<combinator>(outer), static_cast<combinator>(inner))) continue;
            for (std::size_t of = 0; of != leaves; ++of) {
                for (unsigned variant = 0; variant != 4; ++variant) {
                    cell c{static_cast<combinator>(outer), static_cast<combinator>(inner), static_cast<leaf>(of),
                           variant % 2 == 0 ? stopper::limit : stopper::owner, variant / 2 != 0};
                    coflux::testing::fifo_chooser in_order;
                    coflux::testing::simulation sim(in_order);
                    sim_executor executor;
                    auto env = coflux::make_environment(executor);
                    const std::string name = std::string(name_of(c.outer)) + " of " + name_of(c.inner) + " of " +
                                             leaf_names[of] + (c.by == stopper::limit ? ", limit" : ", owner") +
                                             (c.beside ? ", beside another" : "");
                    try {
                        runs(env, borrowed(c)).get();
                    } catch (const std::exception& e) {
                        ADD_FAILURE() << name << ": " << e.what();
                        continue;
                    }
                    EXPECT_EQ(c.took, c.of == leaf::foreign ? 50ms : 10ms) << name;
                }
            }
        }
    }
}

/// Ends 20 ms after its stop was requested.
sim_fork ends_late(coflux::environment&, borrowed<bool> ended) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_outcome(naps(here));
    co_await coflux::shielded(coflux::sleep_for(20ms));
    *ended = true;
    co_await coflux::this_coroutine::stop();
}
enum class wait_of { select, select_beside_a_channel, when_any, when_all };
/// Stopped before its await, it awaits what was made elsewhere.
sim_fork stopped_before_it_waits(coflux::environment&, sim_fork elsewhere, wait_of how, borrowed<bool> ended,
                                 borrowed<bool> joined) {
    struct at_end {
        bool& ended;
        bool& joined;
        ~at_end() { joined = ended; }
    };
    const at_end says{*ended, *joined};
    coflux::channel<int[1]> empty;
    while (!(co_await coflux::this_coroutine::stop_token()).stop_requested())
        co_await coflux::shielded(coflux::sleep_for(1ms));
    if (how == wait_of::select) {
        (void)co_await coflux::select(std::move(elsewhere));
    } else if (how == wait_of::select_beside_a_channel) {
        (void)co_await coflux::select(empty.receive(), std::move(elsewhere));
    } else if (how == wait_of::when_any) {
        (void)co_await coflux::when_any(std::move(elsewhere), coflux::sleep_for(10h));
    } else {
        co_await coflux::when_all(std::move(elsewhere), coflux::sleep_for(10h));
    }
    ADD_FAILURE() << "was asked to stop, " << static_cast<int>(how);
}
sim_task stops_before_the_wait(coflux::environment&, wait_of how) {
    auto&& here = co_await coflux::context();
    bool ended = false, joined = false;
    sim_fork waits =
        stopped_before_it_waits(here, ends_late(here, borrowed(ended)), how, borrowed(ended), borrowed(joined));
    co_await 5ms;
    waits.request_stop();
    (void)co_await coflux::as_outcome(std::move(waits));
    EXPECT_TRUE(joined) << "the locals died before what was taken over had ended, " << static_cast<int>(how);
}

TEST(law_01_taken_over, one_that_is_stopped_before_its_await_joins_what_was_made_elsewhere) {
    for (const wait_of how :
         {wait_of::select, wait_of::select_beside_a_channel, wait_of::when_any, wait_of::when_all}) {
        coflux::testing::fifo_chooser in_order;
        coflux::testing::simulation sim(in_order);
        sim_executor executor;
        auto env = coflux::make_environment(executor);
        stops_before_the_wait(env, how).get();
    }
}

}  // namespace
