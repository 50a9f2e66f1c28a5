// Where in a tree a stop is seen, and that it costs the same at any depth.
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/iterations.hpp"

namespace {

using coflux::borrowed;
using coflux_test::foreign_event;
using coflux_test::manual_executor;
using coflux_test::stage;
template <typename T>
using fork = coflux::fork<T, manual_executor>;
template <typename T>
using task = coflux::task<T, manual_executor>;

/// A random tree of forks and calls that stand still, some of which have waited in a primitive before; and the same as
/// plain data.
struct forest {
    struct node {
        coflux::environment* env;  // nullptr once it has ended
        const node* parent;
        bool stop_requested = false;
        coflux::manual_reset_event begin;
        foreign_event grow;
        foreign_event end;
        node(coflux::environment& e, const node* up) : env(&e), parent(up) {}
        [[nodiscard]] bool stopped() const { return stop_requested || (parent != nullptr && parent->stopped()); }
    };

    /// A local of a coroutine.
    struct place {
        node* of;
        ~place() { of->env = nullptr; }
    };

    explicit forest(unsigned seed) : random(seed) {}

    node* add(coflux::environment& e, const node* parent) {
        nodes.push_back(std::make_unique<node>(e, parent));
        return nodes.back().get();
    }
    [[nodiscard]] bool one_in(unsigned n) { return random() % n == 0; }
    [[nodiscard]] node& any() { return *nodes[random() % nodes.size()]; }

    std::mt19937 random;
    std::vector<std::unique_ptr<node>> nodes;
};

constexpr std::size_t size_of_forest = 400;

fork<void> branch(coflux::environment&, forest* f, const forest::node* parent);

coflux::call<void> stem(coflux::environment&, forest* f, const forest::node* parent) {
    auto&& here = co_await coflux::context();
    forest::node* const n = f->add(here, parent);
    const forest::place alive{n};
    if (f->one_in(4)) co_await n->begin.wait();
    if (f->one_in(20) && f->nodes.size() < size_of_forest) branch(here, f, n).attach();
    if (!f->one_in(50) && f->nodes.size() < size_of_forest) {
        if (f->one_in(3)) {
            branch(here, f, n).attach();
        } else {
            co_await stem(here, f, n);
        }
    }
    co_await n->grow;
    if (f->nodes.size() < 2 * size_of_forest) branch(here, f, n).attach();
    co_await n->end;
}

fork<void> branch(coflux::environment&, forest* f, const forest::node* parent) {
    auto&& here = co_await coflux::context();
    forest::node* const n = f->add(here, parent);
    const forest::place alive{n};
    co_await stem(here, f, n);
}

task<void> plant(coflux::environment&, forest* f) {
    auto&& here = co_await coflux::context();
    forest::node* const n = f->add(here, nullptr);
    const forest::place alive{n};
    co_await stem(here, f, n);
}

TEST(stop_tree, tells_each_coroutine_of_a_request_above_it_and_of_no_other) {
    for (unsigned seed = 0; seed < coflux_test::repetitions(400); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        stage<manual_executor> s;
        auto elsewhere = coflux::make_environment(s.root);
        forest f(seed);
        auto root = plant(s.env, &f);
        const auto settle = [&] {
            for (std::size_t seen = 0; s.drive(), seen != f.nodes.size();) {
                for (; seen != f.nodes.size(); ++seen) f.nodes[seen]->begin.set();
            }
        };
        settle();
        int requests = 4;
        for (int i = 0; i < 300; ++i) {
            forest::node& n = f.any();
            if (requests != 0 && n.env != nullptr && f.one_in(60)) {
                --requests;
                n.stop_requested = true;
                n.env->request_stop();
            }
            if (f.one_in(3)) elsewhere.request_stop();
            if (f.one_in(30)) {
                n.grow.set();
                settle();
            }
            const forest::node& asked = f.any();
            if (asked.env != nullptr) {
                ASSERT_EQ(asked.env->stop_requested(), asked.stopped()) << "look " << i;
            }
        }
        for (std::size_t i = 0; i < f.nodes.size(); ++i) {
            f.nodes[i]->begin.set();
            f.nodes[i]->grow.set();
            f.nodes[i]->end.set();
            s.drive();
        }
        ASSERT_TRUE(root.done());
        root.join();
    }
}

// The tests below took the square of these: minutes.
constexpr int depth = static_cast<int>(coflux_test::repetitions(400'000)) + 20'000;

fork<bool> looks_down_there(coflux::environment&, int levels, coflux::environment* elsewhere) {
    auto&& here = co_await coflux::context();
    if (levels != 0) co_return co_await looks_down_there(here, levels - 1, elsewhere);
    bool stop_requested = false;
    for (int i = 0; i < depth; ++i) {
        elsewhere->request_stop();
        co_await coflux::yield();
        stop_requested |= here.stop_requested();
    }
    co_return stop_requested;
}

TEST(stop_tree, a_request_elsewhere_costs_a_coroutine_the_same_however_deep_it_is) {
    stage<manual_executor> s;
    auto elsewhere = coflux::make_environment(s.root);
    EXPECT_FALSE(s.run([](coflux::environment&, coflux::environment* other) -> task<bool> {
        auto&& here = co_await coflux::context();
        co_return co_await looks_down_there(here, depth, other);
    }(s.env, &elsewhere)));
}

coflux::call<bool> looks_in_calls(coflux::environment&, int levels, coflux::environment* elsewhere) {
    auto&& here = co_await coflux::context();
    elsewhere->request_stop();
    bool stop_requested = false;
    if (levels != 0) {
        stop_requested = co_await looks_in_calls(here, levels - 1, elsewhere);
        co_return stop_requested || here.stop_requested();
    }
    for (int i = 0; i < depth; ++i) {
        elsewhere->request_stop();
        co_await coflux::yield();
        stop_requested |= here.stop_requested();
    }
    co_return stop_requested;
}

TEST(stop_tree, a_request_elsewhere_costs_a_call_of_calls_the_same_however_deep_it_is) {
    stage<manual_executor> s;
    auto elsewhere = coflux::make_environment(s.root);
    EXPECT_FALSE(s.run([](coflux::environment&, coflux::environment* other) -> task<bool> {
        auto&& here = co_await coflux::context();
        co_return co_await looks_in_calls(here, depth, other);
    }(s.env, &elsewhere)));
}

coflux::call<bool> waits_in_calls(coflux::environment&, int levels, borrowed<coflux::mutex> lock) {
    auto&& here = co_await coflux::context();
    if (levels != 0) co_return co_await waits_in_calls(here, levels - 1, lock);
    for (int i = 0; i < depth; ++i) {
        auto other = [](coflux::environment&, borrowed<coflux::mutex> l) -> fork<void> {
            auto held = co_await l->lock();
            co_await coflux::yield();
        }(here, lock);
        co_await coflux::yield();
        auto held = co_await lock->lock();
        co_await std::move(other);
    }
    co_return true;
}

TEST(stop_tree, a_wait_costs_a_call_of_calls_the_same_however_deep_it_is) {
    stage<manual_executor> s;
    coflux::mutex lock;
    EXPECT_TRUE(s.run([](coflux::environment&, borrowed<coflux::mutex> l) -> task<bool> {
        auto&& here = co_await coflux::context();
        co_return co_await waits_in_calls(here, depth, l);
    }(s.env, borrowed(lock))));
}

fork<int> grows(coflux::environment&, int levels) {
    auto&& here = co_await coflux::context();
    EXPECT_TRUE(here.stop_requested());
    if (levels == 0) co_return 0;
    co_return co_await grows(here, levels - 1);
}

TEST(stop_tree, a_request_costs_a_chain_that_grows_below_it_the_same_at_each_level) {
    stage<manual_executor> s;
    auto t = [](coflux::environment&) -> task<int> {
        auto&& here = co_await coflux::context();
        here.request_stop();
        auto f = grows(here, depth);
        co_return co_await std::move(f);
    }(s.env);
    s.drive();
    EXPECT_TRUE(t.done());
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

}  // namespace
