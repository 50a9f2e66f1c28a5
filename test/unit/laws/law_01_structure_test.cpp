// Law 1: a scope completes only after all its children have; after the root is gone, live frames are zero.
#include <coflux/coflux.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/malloc_resource.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::journal;
using coflux_test::malloc_resource;
using coflux_test::manual_executor;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

enum class way { value, error, stop };

template <typename E>
coflux::fork<void, E> late(auto&&, journal* j, const char* name) {
    for (int i = 0; i < 3; ++i) co_await coflux::yield();
    j->write(name);
}

template <typename E>
coflux::fork<int, E> family(auto&&, journal* j, way end) {
    auto&& here = co_await coflux::context();
    late<E>(here, j, "attached").attach();
    { auto dropped = late<E>(here, j, "dropped"); }
    auto kept = late<E>(here, j, "kept");
    if (end == way::error) throw std::runtime_error("family");
    if (end == way::stop) co_await coflux::this_coroutine::stop();
    co_return 7;
}

template <typename E>
coflux::task<void, E> house(auto&&, journal* j, way end) {
    auto&& here = co_await coflux::context();
    auto ended = co_await coflux::as_outcome(family<E>(here, j, end));
    j->write("scope completed");
    EXPECT_EQ(ended.has_value(), end == way::value);
    EXPECT_EQ(ended.has_error(), end == way::error);
    EXPECT_EQ(ended.is_stopped(), end == way::stop);
}

void expect_children_before_completion(const journal& j) {
    const std::vector<std::string> lines = j.lines();
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines.back(), "scope completed");
    for (const char* const name : {"attached", "dropped", "kept"}) {
        EXPECT_EQ(std::count(lines.begin(), lines.end(), name), 1) << name;
    }
}

template <typename E, typename... Executors>
void check_scope(way end, Executors&... executors) {
    malloc_resource memory;
    coflux::counting_resource frames(&memory);
    journal j;
    {
        auto env = coflux::make_environment(&frames, executors...);
        auto t = house<E>(env, &j, end);
        if constexpr (std::is_same_v<E, manual_executor>) (executors.run_all(), ...);
        t.join();
    }
    expect_children_before_completion(j);
    EXPECT_EQ(frames.live(), 0U);
    EXPECT_EQ(frames.live_bytes(), 0U);
}

void check_scope_everywhere(way end) {
    manual_executor by_hand;
    check_scope<manual_executor>(end, by_hand);
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        check_scope<pool>(end, workers);
        check_scope<noop>(end, workers);  // noop coroutines resume on the pool
    }
    check_scope<noop>(end);
}

TEST(law_01_structure, a_scope_that_ends_with_a_value_completes_after_its_children) {
    check_scope_everywhere(way::value);
}

TEST(law_01_structure, a_scope_that_throws_completes_after_its_children) {
    check_scope_everywhere(way::error);
}

TEST(law_01_structure, a_scope_that_is_stopped_completes_after_its_children) {
    check_scope_everywhere(way::stop);
}

TEST(law_01_structure, a_root_is_not_done_while_a_child_of_a_child_runs) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        [](auto&&, journal* inner) -> coflux::fork<void, manual_executor> {
            auto&& below = co_await coflux::context();
            late<manual_executor>(below, inner, "grandchild").attach();
        }(here, log)
                                          .attach();
    }(env, &j);
    while (j.lines().empty()) {
        EXPECT_FALSE(root.done());
        ASSERT_TRUE(by_hand.run_one());
    }
    by_hand.run_all();
    EXPECT_TRUE(root.done());
}

TEST(law_01_structure, a_call_completes_after_the_children_made_in_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        co_await [](auto&&, journal* inner) -> coflux::call<void> {
            auto&& below = co_await coflux::context();
            late<manual_executor>(below, inner, "child of the call").attach();
        }(here, log);
        log->write("caller goes on");
    }(env, &j);
    by_hand.run_all();
    EXPECT_TRUE(root.done());
    EXPECT_EQ(j.lines(), (std::vector<std::string>{"child of the call", "caller goes on"}));
}

TEST(law_01_structure, the_join_of_a_derived_environment_waits_for_all_that_was_made_in_it) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal j;
    auto root = [](auto&&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        late<manual_executor>(sub, log, "attached").attach();
        auto kept = late<manual_executor>(sub, log, "kept");
        co_await sub.join();
        EXPECT_TRUE(kept.done());
        log->write("joined");
        late<manual_executor>(sub, log, "second generation").attach();
        co_await sub.join();
        log->write("joined again");
    }(env, &j);
    by_hand.run_all();
    ASSERT_TRUE(root.done());
    EXPECT_EQ(j.lines(), (std::vector<std::string>{"attached", "kept", "joined", "second generation", "joined again"}));
}

TEST(law_01_structure, a_scope_waits_for_its_children_without_its_thread) {
    // One thread: if the end of a scope held it, the children would never run.
    pool one(1);
    journal j;
    auto env = coflux::make_environment(one);
    auto root = [](auto&&, journal* log) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (int i = 0; i < 100; ++i) late<pool>(here, log, "child").attach();
    }(env, &j);
    root.join();
    EXPECT_EQ(j.lines().size(), 100U);
}

TEST(law_01_structure, a_task_whose_handle_dies_in_a_coroutine_stays_with_the_scope) {
    pool one(1);
    journal j;
    auto env = coflux::make_environment(one);
    [](auto&&, journal* log) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        {
            auto inner = [](auto&&, journal* below) -> coflux::task<void, pool> {
                co_await coflux::yield();
                below->write("inner");
            }(here, log);
        }
        log->write("handle is gone");
    }(env, &j)
                                    .join();
    EXPECT_EQ(j.lines(), (std::vector<std::string>{"handle is gone", "inner"}));
}

// --- a tree whose nodes end in all ways ---------------------------------------------------------------------------

/// The act of node `id` of the tree `seed`; a plain mixing function, the same in every run.
std::uint32_t choice(std::uint32_t seed, std::uint32_t id) {
    std::uint32_t x = seed * 2654435761U + id * 40503U + 1;
    x ^= x >> 15;
    x *= 2246822519U;
    return x ^ (x >> 13);
}

template <typename E>
coflux::fork<std::uint32_t, E> node(auto&&, std::uint32_t seed, std::uint32_t id, int depth) {
    const std::uint32_t c = choice(seed, id);
    if ((c & 3) == 0) co_await coflux::yield();
    std::uint32_t sum = 1;
    if (depth > 0) {
        auto&& here = co_await coflux::context();
        // erased: the environment of the levels below is the same type, or the template would never end
        coflux::environment& env = here;
        auto a = node<E>(env, seed, id * 3 + 1, depth - 1);
        auto b = node<pool>(env, seed, id * 3 + 2, depth - 1);
        auto d = node<noop>(env, seed, id * 3 + 3, depth - 1);
        switch ((c >> 2) % 6) {
        case 0: std::move(b).attach(); break;
        case 1: a.request_stop(); [[fallthrough]];
        case 2: {
            auto o = co_await coflux::as_outcome(std::move(a));
            if (o.has_value()) sum += std::move(o).value();
            break;
        }
        case 3: {
            auto [x, y] = co_await coflux::when_all(std::move(b), std::move(d));
            sum += x + y;
            break;
        }
        case 4: sum += co_await std::move(d); break;
        default: break;  // all three handles die
        }
    }
    if ((c >> 8) % 11 == 0) throw std::runtime_error("node");
    if ((c >> 8) % 11 == 1) co_await coflux::this_coroutine::stop();
    co_return sum;
}

TEST(law_01_structure, no_frame_is_alive_after_any_mixture_of_ends) {
    malloc_resource memory;
    coflux::counting_resource frames(&memory);
    pool workers(2);
    const std::uint32_t seeds = coflux_test::sanitized ? 100 : 400;
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
        {
            auto env = coflux::make_environment(&frames, workers);
            auto root = [](auto&&, std::uint32_t s) -> coflux::task<void, pool> {
                auto&& here = co_await coflux::context();
                coflux::environment& below = here;
                (void)co_await coflux::as_outcome(node<pool>(below, s, 0, 4));
            }(env, seed);
            root.join();
        }
        ASSERT_EQ(frames.live(), 0U) << "seed " << seed;
    }
}

// --- a child that another coroutine begins in a parent's environment -------------------------------------------------

coflux::task<void, manual_executor> lends_its_environment(auto&&, coflux::environment** lent) {
    *lent = &co_await coflux::context();
    co_await coflux::yield();
}

coflux::fork<void, noop> watches_its_parent_end(auto&&, manual_executor* by_hand,
                                                coflux::task<void, manual_executor>* parent) {
    by_hand->run_all();  // the parent's body ends here
    EXPECT_FALSE(parent->done());
    co_return;
}

TEST(law_01_structure, a_parent_does_not_end_before_a_child_whose_body_another_thread_has_begun) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    coflux::environment* lent = nullptr;
    auto parent = lends_its_environment(env, &lent);
    by_hand.run_one();
    watches_its_parent_end(*lent, &by_hand, &parent).attach();
    EXPECT_TRUE(parent.done());
    parent.join();
}

}  // namespace
