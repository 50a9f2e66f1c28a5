#include <coflux/time/delay_queue.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/memory/counting_resource.hpp>
#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/inject.hpp>

#include "in_virtual_time.hpp"
#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux_test::moments;
using coflux_test::pool;
using coflux_test::sim_executor;
using coflux_test::sim_fork;
using coflux_test::sim_task;
using coflux_test::virtual_time;
using words = coflux::delay_queue<std::string>;

sim_fork pops(coflux::environment&, borrowed<words> q, borrowed<virtual_time> v) {
    while (auto word = co_await q->pop()) v->write(std::move(*word));
    v->write("end");
}
sim_fork pops_one(coflux::environment&, borrowed<words> q, borrowed<virtual_time> v, std::string name) {
    const auto word = co_await q->pop();
    v->write(name + ": " + (word ? *word : "nothing"));
}

TEST(delay_queue, gives_each_value_at_its_moment_in_the_order_of_the_moments_and_of_the_pushes) {
    virtual_time v;
    words q;
    EXPECT_TRUE(q.push("second", 5ms));
    EXPECT_TRUE(q.push("fourth", 9ms));
    EXPECT_TRUE(q.push("third", virtual_time::begin() + 5ms));
    EXPECT_TRUE(q.push("first", -1h));
    EXPECT_EQ(q.size(), 4U);
    auto p = pops(v.env, borrowed(q), borrowed(v));
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"first", 0ms}, {"second", 5ms}, {"third", 5ms}, {"fourth", 9ms}}));
    q.close();
    v.sim.run();
    EXPECT_EQ(v.log.back(), (std::pair<std::string, std::chrono::nanoseconds>("end", 9ms)));
}

TEST(delay_queue, wakes_a_waiter_for_a_value_that_comes_sooner) {
    virtual_time v;
    words q;
    auto p = pops(v.env, borrowed(q), borrowed(v));
    v.sim.advance(1ms);
    EXPECT_TRUE(q.push("late", 10ms));
    v.sim.advance(1ms);
    EXPECT_TRUE(q.push("soon", 3ms));
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"soon", 5ms}, {"late", 11ms}}));
    p.request_stop();
    v.sim.run();
}

TEST(delay_queue, takes_out_what_is_removed_and_moves_what_is_reset) {
    virtual_time v;
    words q;
    const auto a = q.push("a", 5ms);
    const auto b = q.push("b", 5ms);
    const auto c = q.push("c", 6ms);
    auto p = pops(v.env, borrowed(q), borrowed(v));
    v.sim.advance(1ms);
    EXPECT_EQ(q.remove(a), std::optional<std::string>("a"));
    EXPECT_EQ(q.remove(a), std::nullopt);
    EXPECT_FALSE(q.reset(a, 1ms));
    EXPECT_TRUE(q.reset(b, virtual_time::begin() + 6ms)) << "it is now the last of its moment";
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"c", 6ms}, {"b", 6ms}}));
    EXPECT_EQ(q.remove(b), std::nullopt);
    EXPECT_EQ(q.remove({}), std::nullopt);
    const auto d = q.push("d", 1h);
    EXPECT_FALSE(a == d);
    EXPECT_EQ(q.remove(c), std::nullopt) << "the key of a value that has gone is not that of the next one in its place";
    EXPECT_TRUE(q.reset(d, 0ms));
    v.sim.run();
    EXPECT_EQ(v.log.back(), (std::pair<std::string, std::chrono::nanoseconds>("d", 6ms)));
    p.request_stop();
    v.sim.run();
}

TEST(delay_queue, serves_its_waiters_in_the_order_in_which_they_came) {
    virtual_time v;
    words q;
    pops_one(v.env, borrowed(q), borrowed(v), "a").attach();
    pops_one(v.env, borrowed(q), borrowed(v), "b").attach();
    v.sim.advance(1ms);
    EXPECT_TRUE(q.push("2", 4ms));
    EXPECT_TRUE(q.push("1", 3ms));
    EXPECT_EQ(q.try_pop(), std::nullopt);
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a: 1", 4ms}, {"b: 2", 5ms}}));
    EXPECT_TRUE(q.push("3", 0ms));
    EXPECT_EQ(q.try_pop(), std::optional<std::string>("3"));
}

TEST(delay_queue, that_is_closed_gives_what_is_in_it_at_its_moment_and_then_nothing) {
    virtual_time v;
    words q;
    EXPECT_TRUE(q.push("in time", 5ms));
    auto a = pops_one(v.env, borrowed(q), borrowed(v), "a");
    auto b = pops_one(v.env, borrowed(q), borrowed(v), "b");
    auto c = pops_one(v.env, borrowed(q), borrowed(v), "c");
    v.sim.advance(1ms);
    q.close();
    q.close();
    EXPECT_TRUE(q.closed());
    std::string kept = "kept";
    EXPECT_FALSE(q.push(std::move(kept), 1ms));
    EXPECT_EQ(kept, "kept");
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a: in time", 5ms}, {"b: nothing", 5ms}, {"c: nothing", 5ms}}));
}

TEST(delay_queue, that_is_closed_ends_its_waiters_when_the_last_value_is_removed) {
    virtual_time v;
    words q;
    const auto k = q.push("away", 5ms);
    auto a = pops_one(v.env, borrowed(q), borrowed(v), "a");
    v.sim.advance(1ms);
    q.close();
    EXPECT_TRUE(q.reset(k, 10ms)) << "what is in it can still be moved";
    v.sim.advance(1ms);
    EXPECT_TRUE(q.remove(k));
    v.sim.run();
    EXPECT_EQ(v.log, (moments{{"a: nothing", 2ms}}));
    words empty;
    auto b = pops_one(v.env, borrowed(empty), borrowed(v), "b");
    v.sim.advance(1ms);
    empty.close();
    v.sim.run();
    EXPECT_EQ(v.log.back().first, "b: nothing");
}

TEST(delay_queue, carries_what_can_only_be_moved_and_ends_what_is_left) {
    virtual_time v;
    auto shared = std::make_shared<int>(7);
    {
        coflux::delay_queue<std::unique_ptr<std::shared_ptr<int>>> q;
        EXPECT_TRUE(q.push(std::make_unique<std::shared_ptr<int>>(shared), 1h));
        EXPECT_TRUE(q.push(std::make_unique<std::shared_ptr<int>>(shared), 0h));
        auto first = q.try_pop();
        ASSERT_TRUE(first.has_value());
        EXPECT_EQ(***first, 7);
        EXPECT_EQ(shared.use_count(), 3);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(delay_queue, takes_its_memory_from_its_resource_and_uses_it_again) {
    virtual_time v;
    coflux::counting_resource memory;
    {
        words q(&memory);
        for (int round = 0; round != 3; ++round) {
            for (int i = 0; i != 10; ++i) EXPECT_TRUE(q.push("x", 0ms));
            while (q.try_pop()) {}
        }
        EXPECT_EQ(memory.allocations(), 10U);
        const coflux::testing::alloc_guard none(memory);
        EXPECT_TRUE(q.push("x", 0ms));
    }
    EXPECT_EQ(memory.live(), 0U);
}

TEST(delay_queue, whose_memory_fails_takes_nothing) {
    virtual_time v;
    words q(std::pmr::null_memory_resource());
    std::string kept = "kept";
    EXPECT_THROW((void)q.push(std::move(kept), 1ms), std::bad_alloc);
    EXPECT_EQ(kept, "kept");
    EXPECT_EQ(q.size(), 0U);
}

TEST(delay_queue_stop, of_a_waiter_loses_no_value_and_serves_those_behind_it) {
    virtual_time v;
    words q;
    EXPECT_TRUE(q.push("value", 5ms));
    auto a = pops_one(v.env, borrowed(q), borrowed(v), "a");
    auto b = pops_one(v.env, borrowed(q), borrowed(v), "b");
    v.sim.advance(1ms);
    a.request_stop();
    v.sim.advance(9ms);
    EXPECT_EQ(v.log, (moments{{"b: value", 5ms}}));
    EXPECT_TRUE(a.done());
    auto c = pops_one(v.env, borrowed(q), borrowed(v), "c");
    c.request_stop();
    v.sim.run();
    EXPECT_TRUE(c.done());
}

TEST(delay_queue_stop, by_a_limit_or_a_select_that_decides_otherwise_leaves_the_value) {
    virtual_time v;
    words q;
    [](coflux::environment&, borrowed<words> q) -> sim_task {
        const auto key = q->push("value", 5ms);
        EXPECT_FALSE((co_await coflux::timeout(q->pop(), 3ms)).has_value());
        EXPECT_TRUE(q->reset(key, 3ms));
        coflux::manual_reset_event open(true);
        co_await coflux::sleep_for(3ms);
        std::size_t left = 0;
        for (int i = 0; i != 20; ++i) {
            auto first = co_await coflux::select(open.wait(), q->pop());
            if (first.index() == 0) {
                EXPECT_EQ(q->size(), 1U);
                ++left;
                continue;
            }
            EXPECT_EQ(std::move(first).get<1>(), std::optional<std::string>("value"));
            EXPECT_EQ(q->size(), 0U);
            EXPECT_TRUE(q->push("value", 0ms));
        }
        EXPECT_GT(left, 0U);
        const auto got = co_await coflux::timeout(q->pop(), 1h);
        EXPECT_TRUE(!got.timed_out() && *got == "value");
    }(v.env, borrowed(q))
                                                       .get();
}

TEST(delay_queue_stop, at_every_point_leaves_each_value_where_it_is_or_with_the_one_that_has_it) {
    const std::size_t points = coflux::testing::inject(coflux::testing::steps, [](coflux::testing::injection& run) {
        coflux::testing::fifo_chooser in_order;
        coflux::testing::simulation sim(in_order);
        sim_executor on;
        auto env = coflux::make_environment(run.memory(), on);
        words q;
        std::size_t got = 0;
        for (int i = 0; i != 4; ++i) EXPECT_TRUE(q.push("x", std::chrono::milliseconds(i)));
        sim_task all = [](coflux::environment&, borrowed<words> q, borrowed<std::size_t> got) -> sim_task {
            auto&& here = co_await coflux::context();
            const auto pops = [](coflux::environment&, borrowed<words> q, borrowed<std::size_t> got) -> sim_fork {
                for (int i = 0; i != 2; ++i) {
                    if (co_await q->pop()) ++*got;
                }
            };
            co_await coflux::when_all(pops(here, q, got), pops(here, q, got));
        }(env, borrowed(q), borrowed(got));
        run.at_step([&] { all.request_stop(); });
        sim.on_step([&](std::size_t) { run.step(); });
        std::exception_ptr error;
        try {
            all.get();
        } catch (...) {
            error = std::current_exception();
        }
        run.no_action();
        sim.on_step({});
        sim.advance(10s);
        while (q.try_pop()) ++got;
        EXPECT_EQ(got, 4U);
        if (error) std::rethrow_exception(error);
    });
    EXPECT_GT(points, 3U);
}

/// Against a std::multimap.
TEST(delay_heap, agrees_with_a_sorted_list_whatever_is_done_to_it) {
    struct node : coflux::detail::delay_node {};
    std::mt19937 random(11);
    coflux::detail::delay_heap heap;
    std::vector<std::unique_ptr<node>> out;
    std::vector<node*> in;
    std::map<std::pair<std::uint64_t, std::uint64_t>, node*> model;
    for (int i = 0; i != 300; ++i) out.push_back(std::make_unique<node>());
    std::vector<node*> free;
    for (auto& n : out) free.push_back(n.get());
    std::uint64_t order = 0;
    for (int round = 0; round != 30'000; ++round) {
        const bool grows = round / 1000 % 2 == 0 ? random() % 3 != 0 : random() % 3 == 0;
        if (grows && !free.empty()) {
            node* const n = free.back();
            free.pop_back();
            n->when = random() % 50;
            n->order = ++order;
            heap.insert(*n);
            model.emplace(std::pair(n->when, n->order), n);
            in.push_back(n);
        } else if (!in.empty()) {
            std::size_t which = random() % in.size();
            if (random() % 2 == 0)
                while (in[which] != heap.first()) which = (which + 1) % in.size();
            node* const n = in[which];
            in[which] = in.back();
            in.pop_back();
            heap.remove(*n);
            EXPECT_FALSE(n->is_in);
            model.erase(std::pair(n->when, n->order));
            free.push_back(n);
        }
        ASSERT_EQ(heap.first(), model.empty() ? nullptr : model.begin()->second);
        for (node* const n : in) {
            const auto rank = [](const coflux::detail::delay_node* of) { return of != nullptr ? of->rank : 0U; };
            ASSERT_GE(rank(n->left), rank(n->right));
            ASSERT_EQ(n->rank, rank(n->right) + 1);
        }
    }
}

using pool_fork = coflux::fork<void, pool>;
using numbers = coflux::delay_queue<std::size_t>;

pool_fork pushes_often(coflux::environment&, borrowed<numbers> q, borrowed<std::atomic<std::size_t>> sum,
                       std::size_t n) {
    for (std::size_t i = 1; i <= n; ++i) {
        const auto k = q->push(i, std::chrono::microseconds(i * 7 % 40));
        EXPECT_TRUE(k);
        if (i % 3 == 0) (void)q->reset(k, std::chrono::microseconds(i % 11));
        if (i % 5 == 0) {
            if (const auto back = q->remove(k)) sum->fetch_add(*back, std::memory_order_relaxed);
        }
        if (i % 8 == 0) co_await coflux::yield();
    }
}
pool_fork pops_all(coflux::environment&, borrowed<numbers> q, borrowed<std::atomic<std::size_t>> sum) {
    while (const auto n = co_await q->pop()) sum->fetch_add(*n, std::memory_order_relaxed);
}
pool_fork gives_up_often(coflux::environment&, borrowed<numbers> q, borrowed<std::atomic<std::size_t>> sum,
                         std::size_t times) {
    auto&& here = co_await coflux::context();
    for (std::size_t i = 0; i != times; ++i) {
        auto w = [](coflux::environment&, borrowed<numbers> of) -> coflux::fork<std::size_t, pool> {
            co_return (co_await of->pop()).value_or(0);
        }(here, q);
        if (i % 2 == 0) co_await coflux::yield();
        w.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(w));
        if (end.has_value()) sum->fetch_add(*end, std::memory_order_relaxed);
    }
}
coflux::task<void, pool> pushes_and_pops(coflux::environment&, borrowed<numbers> q,
                                         borrowed<std::atomic<std::size_t>> sum, std::size_t n) {
    auto&& here = co_await coflux::context();
    auto a = pops_all(here, q, sum);
    auto b = pops_all(here, q, sum);
    co_await coflux::when_all(pushes_often(here, q, sum, n), gives_up_often(here, q, sum, n));
    q->close();
    co_await coflux::when_all(std::move(a), std::move(b));
}
coflux::task<void, pool> only_pops(coflux::environment&, borrowed<numbers> q, borrowed<std::atomic<std::size_t>> sum) {
    auto&& here = co_await coflux::context();
    co_await pops_all(here, q, sum);
}

TEST(delay_queue, of_many_threads_gives_each_value_once) {
    const std::size_t n = coflux_test::repetitions(20'000) + 200;
    for (const std::size_t workers : {1U, 3U}) {
        pool first(workers);
        pool second(1);
        numbers q;
        std::atomic<std::size_t> sum{0};
        auto env = coflux::make_environment(first);
        auto other = coflux::make_environment(second);
        auto a = pushes_and_pops(env, borrowed(q), borrowed(sum), n);
        auto b = only_pops(other, borrowed(q), borrowed(sum));
        a.get();
        b.get();
        EXPECT_EQ(sum.load(), n * (n + 1) / 2);
        EXPECT_EQ(q.size(), 0U);
    }
}

TEST(delay_queue_death_test, that_dies_while_a_coroutine_waits_is_a_checked_error) {
    EXPECT_DEATH(
        {
            virtual_time v;
            auto* const q = new words;
            auto a = pops_one(v.env, borrowed(*q), borrowed(v), "a");
            v.sim.advance(1ms);
            delete q;
        },
        "a delay_queue was destroyed while coroutines wait for it");
}

}  // namespace
