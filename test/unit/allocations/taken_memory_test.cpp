// The memory that operations take by docs/promises.md from the environment's resource, counted there.
#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/gate.hpp"
#include "unit/core/stage.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::gate;
using coflux_test::stage;
using hand = coflux_test::manual_executor;
using root = coflux::task<void, hand>;
using frames = coflux::counting_resource;

coflux::fork<int, hand> gives(coflux::environment&, int value) {
    co_await coflux::yield();
    co_return value;
}
coflux::fork<int, hand> gives_when_open(coflux::environment&, borrowed<gate> opened) {
    co_await opened->wait();
    co_return 1;
}
coflux::call<int> called(coflux::environment&, int value) {
    co_return value;
}

TEST(taken_memory, of_when_all_over_a_vector_is_its_values) {
    stage<hand> s;
    s.run([](coflux::environment&, frames* counted) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        for (int i = 0; i < 10; ++i) forks.push_back(gives(here, i));
        const std::size_t before = counted->allocations();
        const auto values = co_await coflux::when_all(std::move(forks));
        EXPECT_EQ(values.size(), 10U);
        EXPECT_EQ(counted->allocations(), before + 1);
    }(s.env, &s.frames()));
}

TEST(taken_memory, of_when_all_over_an_array_is_none) {
    stage<hand> s;
    s.run([](coflux::environment&, frames* counted) -> root {
        auto&& here = co_await coflux::context();
        std::array forks{gives(here, 1), gives(here, 2), gives(here, 3)};
        std::size_t before = counted->allocations();
        const std::array<int, 3> values = co_await coflux::when_all(std::move(forks));
        EXPECT_EQ(values[0] + values[1] + values[2], 6);
        EXPECT_EQ(counted->allocations(), before);
        std::array others{gives(here, 1), gives(here, 2)};
        before = counted->allocations();
        const auto outcomes = co_await coflux::when_all_outcomes(std::move(others));
        EXPECT_EQ(*outcomes[1], 2);
        EXPECT_EQ(counted->allocations(), before);
    }(s.env, &s.frames()));
}

TEST(taken_memory, of_when_all_over_calls_is_their_frames_and_one_for_each) {
    stage<hand> s;
    s.run([](coflux::environment&, frames* counted) -> root {
        auto&& here = co_await coflux::context();
        const std::size_t before = counted->allocations();
        (void)co_await coflux::when_all(called(here, 1), called(here, 2));
        EXPECT_EQ(counted->allocations(), before + 4);
        EXPECT_EQ(counted->live(), 1U) << "all but the root's have gone back";
    }(s.env, &s.frames()));
}

TEST(taken_memory, of_when_any_over_a_range_is_its_places) {
    stage<hand> s;
    s.run([](coflux::environment&, frames* counted) -> root {
        auto&& here = co_await coflux::context();
        std::vector<coflux::fork<int, hand>> forks;
        for (int i = 0; i < 10; ++i) forks.push_back(gives(here, i));
        const std::size_t before = counted->allocations();
        const std::size_t bytes = counted->live_bytes();
        (void)co_await coflux::when_any(std::move(forks));
        EXPECT_EQ(counted->allocations(), before + 1);
        EXPECT_LE(counted->peak_bytes(), bytes + 10 * 64);
    }(s.env, &s.frames()));
}

TEST(taken_memory, of_an_await_of_a_fork_made_elsewhere_is_nothing_whether_it_has_views_or_not) {
    stage<hand> s;
    gate opened;
    auto t = [](coflux::environment&, frames* counted, borrowed<gate> g) -> root {
        auto&& here = co_await coflux::context();
        auto plain = gives_when_open(here, g);
        auto viewed = gives_when_open(here, g);
        const auto view = viewed.view();
        const auto waits = [](coflux::environment&, coflux::fork<int, hand> awaited) -> coflux::fork<int, hand> {
            co_return co_await std::move(awaited);
        };
        const std::size_t before = counted->allocations();
        auto first = waits(here, std::move(plain));
        co_await coflux::yield();
        EXPECT_EQ(counted->allocations(), before + 1) << "the frame";
        auto second = waits(here, std::move(viewed));
        co_await coflux::yield();
        EXPECT_EQ(counted->allocations(), before + 2) << "the frame: what passes a stop on comes from the frame pool";
        g->open();
        EXPECT_EQ(co_await std::move(first), 1);
        EXPECT_EQ(co_await std::move(second), 1);
        EXPECT_EQ(co_await view, 1);
    }(s.env, &s.frames(), borrowed(opened));
    s.run(std::move(t));
}

TEST(taken_memory, that_an_await_cannot_have_is_thrown_and_the_fork_goes_on) {
    stage<hand> s;
    gate opened;
    auto t = [](coflux::environment&, frames* counted, borrowed<gate> g) -> root {
        auto&& here = co_await coflux::context();
        auto viewed = gives_when_open(here, g);
        auto asked = gives_when_open(here, g);
        const auto view = viewed.view();
        const auto other_view = asked.view();
        int caught = 0;
        counted->fail_at(1);
        try {
            (void)co_await std::move(viewed);
        } catch (const std::bad_alloc&) {
            ++caught;
        }
        counted->fail_at(1);
        const auto outcome = co_await coflux::as_outcome(std::move(asked));
        EXPECT_EQ(caught, 1);
        EXPECT_TRUE(outcome.has_error());
        g->open();
        EXPECT_EQ(co_await view, 1);
        EXPECT_EQ(co_await other_view, 1);
    }(s.env, &s.frames(), borrowed(opened));
    s.run(std::move(t));
}

TEST(taken_memory, of_a_wait_with_a_predicate_and_of_a_call_of_once_is_a_frame) {
    stage<hand> s;
    s.run([](coflux::environment&, frames* counted) -> root {
        auto&& here = co_await coflux::context();
        coflux::mutex m;
        coflux::condition_variable changed;
        bool ready = false;
        const auto sets = [](coflux::environment&, borrowed<coflux::mutex> lock,
                             borrowed<coflux::condition_variable> cv, borrowed<bool> to) -> coflux::fork<void, hand> {
            const coflux::mutex::guard guard = co_await lock->lock();
            *to = true;
            cv->notify_all();
        };
        coflux::mutex::guard guard = co_await m.lock();
        auto setter = sets(here, borrowed(m), borrowed(changed), borrowed(ready));
        const std::size_t before = counted->allocations();
        const auto is_ready = [&ready] { return ready; };
        co_await changed.wait(guard, is_ready);
        EXPECT_EQ(counted->allocations(), before + 1);
        co_await changed.wait(guard, is_ready);
        EXPECT_EQ(counted->allocations(), before + 1) << "nothing where it need not wait";
        guard.unlock();
        co_await std::move(setter);

        coflux::once o;
        const auto nothing = [] {};
        co_await o.call(nothing);
        EXPECT_EQ(counted->allocations(), before + 2);
        co_await o.call(nothing);
        EXPECT_EQ(counted->allocations(), before + 2) << "nothing once it is done";
    }(s.env, &s.frames()));
}

TEST(taken_memory, of_a_timeout_is_a_frame_for_a_call_and_nothing_for_a_fork) {
    stage<hand> s;
    s.run([](coflux::environment&, frames* counted) -> root {
        auto&& here = co_await coflux::context();
        auto child = gives(here, 1);
        std::size_t before = counted->allocations();
        (void)co_await coflux::timeout(std::move(child), 1h);
        EXPECT_EQ(counted->allocations(), before);
        before = counted->allocations();
        (void)co_await coflux::timeout(called(here, 2), 1h);
        EXPECT_EQ(counted->allocations(), before + 2) << "that of the call and one more";
    }(s.env, &s.frames()));
}

}  // namespace
