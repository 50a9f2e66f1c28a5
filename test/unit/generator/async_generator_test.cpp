#include <coflux/generator/async_generator.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/memory/counting_resource.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::async_generator;
using coflux::borrowed;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::mortal;
using coflux_test::thread_executor;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, pool>;

/// Runs the task that `make` makes on a pool of two.
template <typename Make>
void on_pool(Make make) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    make(env).get();
}

async_generator<int> count(auto&&, int last) {
    for (int i = 0; i < last; ++i) co_yield i;
}
async_generator<int> count_slowly(auto&&, int last) {
    for (int i = 0; i < last; ++i) {
        co_await coflux::yield();
        co_yield i;
    }
}
async_generator<int> logged(auto&&, journal* log, int last) {
    const mortal local(*log, "local");
    for (int i = 0; i < last; ++i) {
        log->write("makes " + std::to_string(i));
        co_yield i;
    }
    log->write("ends");
}
coflux::fork<int, pool> twice(auto&&, int n) {
    co_await coflux::yield();
    co_return 2 * n;
}
/// Has a fork of the next element running while the present one is looked at.
async_generator<int> ahead(auto&&, int last) {
    auto&& here = co_await coflux::context();
    auto f = twice(here, 0);
    for (int i = 1; i <= last; ++i) {
        auto next = twice(here, i);
        co_yield co_await std::move(f);
        f = std::move(next);
    }
    (void)co_await std::move(f);
}

TEST(async_generator, begins_at_the_first_next_and_goes_on_only_when_it_is_asked_to) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal log;
    auto t = [](auto&&, journal* in) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto g = logged(here, in, 2);
        in->write("made");
        while (const int* const x = co_await g.next()) in->write("has " + std::to_string(*x));
        in->write("done");
    }(env, &log);
    by_hand.run_all();
    ASSERT_TRUE(t.done());
    EXPECT_EQ(log.lines(), (lines{"made", "makes 0", "has 0", "makes 1", "has 1", "ends", "local dies", "done"}));
}

TEST(async_generator, may_wait_between_elements) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto g = count_slowly(here, 1000);
            int expected = 0;
            while (const int* const x = co_await g.next()) EXPECT_EQ(*x, expected++);
            EXPECT_EQ(expected, 1000);
        }(env);
    });
}

TEST(async_generator, may_leave_children_running_while_its_consumer_has_an_element) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            for (int round = 0; round < static_cast<int>(coflux_test::repetitions(2000)) + 2; ++round) {
                auto g = ahead(here, 20);
                int expected = 0;
                while (const int* const x = co_await g.next()) {
                    EXPECT_EQ(*x, expected);
                    expected += 2;
                }
                EXPECT_EQ(expected, 40);
            }
        }(env);
    });
}

TEST(async_generator, runs_where_no_executor_is) {
    auto env = coflux::make_environment();
    auto t = [](auto&&) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto g = count_slowly(here, 10);
        int sum = 0;
        while (const int* const x = co_await g.next()) sum += *x;
        EXPECT_EQ(sum, 45);
    }(env);
    t.get();
}

TEST(async_generator, is_at_its_end_for_good) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto g = count(here, 1);
            EXPECT_NE(co_await g.next(), nullptr);
            for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await g.next(), nullptr);
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.has_value());
        }(env);
    });
}

TEST(async_generator, throws_what_its_body_threw_from_each_next) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<int> {
                co_yield 1;
                co_await coflux::yield();
                throw std::runtime_error("from the body");
            }(here);
            EXPECT_NE(co_await g.next(), nullptr);
            for (int i = 0; i < 2; ++i) {
                try {
                    (void)co_await g.next();
                    ADD_FAILURE() << "no error";
                } catch (const std::runtime_error& e) {
                    EXPECT_STREQ(e.what(), "from the body");
                }
            }
            const auto o = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(o.has_error());
        }(env);
    });
}

TEST(async_generator, gives_an_outcome_of_each_next) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<int> {
                co_yield 7;
                throw std::runtime_error("after it");
            }(here);
            auto first = co_await coflux::as_outcome(g.next());
            EXPECT_EQ(*std::move(first).value(), 7);
            const auto second = co_await coflux::as_outcome(g.next());
            EXPECT_TRUE(second.has_error());
        }(env);
    });
}

TEST(async_generator, hands_elements_over_without_a_copy) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto owned = [](auto&&) -> async_generator<coflux_test::move_only> {
                co_yield coflux_test::move_only(1);
                coflux_test::move_only local(2);
                co_yield std::move(local);
            }(here);
            for (int i = 1; i <= 2; ++i) {
                coflux_test::move_only* const x = co_await owned.next();
                const coflux_test::move_only taken = std::move(*x);
                EXPECT_EQ(*taken.value, i);
            }
            int lent = 1;
            auto lends = [](auto&&, borrowed<int> of) -> async_generator<int&> {
                co_yield *of;
                EXPECT_EQ(*of, 5);
            }(here, borrowed(lent));
            int* const same = co_await lends.next();
            EXPECT_EQ(same, &lent);
            *same = 5;
            EXPECT_EQ(co_await lends.next(), nullptr);
            auto reads = [](auto&&, borrowed<int> of) -> async_generator<const int&> { co_yield *of; }(here,
                                                                                                       borrowed(lent));
            const int* const read = co_await reads.next();
            EXPECT_EQ(read, &lent);
        }(env);
    });
}

TEST(async_generator, yields_a_copy_of_an_lvalue_that_its_consumer_may_move_from) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<std::string> {
                const std::string kept = "long enough to live on the heap";
                co_yield kept;
                EXPECT_EQ(kept.size(), 31U);
            }(here);
            std::string* const x = co_await g.next();
            const std::string taken = std::move(*x);
            EXPECT_EQ(taken.size(), 31U);
            EXPECT_EQ(co_await g.next(), nullptr);
        }(env);
    });
}

coflux::fork<int, pool> sums_the_rest(auto&&, async_generator<int> of) {
    int sum = 0;
    while (const int* const x = co_await of.next()) sum += *x;
    co_return sum;
}

TEST(async_generator, can_be_stored_and_moved_to_another_coroutine) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            std::vector<async_generator<int>> stored;
            stored.push_back(count_slowly(here, 10));
            stored.push_back(count(here, 5));
            EXPECT_EQ(*co_await stored[0].next(), 0);
            EXPECT_EQ(*co_await stored[0].next(), 1);
            auto f = sums_the_rest(here, std::move(stored[0]));
            EXPECT_FALSE(stored[0].valid());
            EXPECT_EQ(co_await std::move(f), 44);
            stored[0] = std::move(stored[1]);
            EXPECT_EQ(co_await sums_the_rest(here, std::move(stored[0])), 10);
        }(env);
    });
}

TEST(async_generator, that_is_destroyed_at_an_element_or_before_the_first_destroys_its_locals_at_once) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    journal log;
    auto t = [](auto&&, journal* in) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        {
            auto fresh = logged(here, in, 5);
            auto g = logged(here, in, 5);
            (void)co_await g.next();
        }
        in->write("goes on");
    }(env, &log);
    by_hand.run_all();
    ASSERT_TRUE(t.done());
    EXPECT_EQ(log.lines(), (lines{"makes 0", "local dies", "goes on"}));
}

TEST(async_generator, takes_one_frame_from_its_environment_and_nothing_for_an_element) {
    coflux::counting_resource frames;
    manual_executor by_hand;
    {
        auto env = coflux::make_environment(&frames, by_hand);
        auto t = [](auto&&, coflux::counting_resource* counted) -> coflux::task<void, manual_executor> {
            auto&& here = co_await coflux::context();
            const std::size_t before = counted->allocations();
            auto g = count_slowly(here, 100);
            EXPECT_EQ(counted->allocations(), before + 1);
            while (co_await g.next() != nullptr) {}
            EXPECT_EQ(counted->allocations(), before + 1);
        }(env, &frames);
        by_hand.run_all();
        ASSERT_TRUE(t.done());
    }
    EXPECT_EQ(frames.live(), 0U);
}

TEST(async_generator, that_cannot_have_a_frame_throws_from_the_call_and_nothing_has_happened) {
    coflux::counting_resource frames;
    manual_executor by_hand;
    {
        auto env = coflux::make_environment(&frames, by_hand);
        auto t = [](auto&&, coflux::counting_resource* failing) -> coflux::task<void, manual_executor> {
            auto&& here = co_await coflux::context();
            failing->fail_at(1);
            EXPECT_THROW((void)count(here, 1), std::bad_alloc);
            auto g = count(here, 1);
            EXPECT_EQ(*co_await g.next(), 0);
        }(env, &frames);
        by_hand.run_all();
        ASSERT_TRUE(t.done());
    }
    EXPECT_EQ(frames.live(), 0U);
}

TEST(async_generator, of_ten_million_elements_uses_constant_stack) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            const auto many = static_cast<int>(coflux_test::ten_million);
            auto g = count(here, many);
            int expected = 0;
            while (const int* const x = co_await g.next()) expected += *x == expected ? 1 : 2;
            EXPECT_EQ(expected, many);
        }(env);
    });
}

TEST(async_generator, that_goes_to_another_executor_gives_its_element_on_that_of_its_consumer) {
    thread_executor home;
    thread_executor away;
    auto env = coflux::make_environment(home, away);
    auto t = [](auto&&, thread_executor* first, thread_executor* other) -> coflux::task<void, thread_executor> {
        auto&& here = co_await coflux::context();
        auto g = [](auto&&, thread_executor* from, thread_executor* to) -> async_generator<int> {
            for (int i = 0; i < 10; ++i) {
                EXPECT_EQ(std::this_thread::get_id(), from->id());
                co_await coflux::resume_on(*to);
                EXPECT_EQ(std::this_thread::get_id(), to->id());
                co_yield i;
            }
            co_await coflux::resume_on(*to);
        }(here, first, other);
        while (co_await g.next() != nullptr) EXPECT_EQ(std::this_thread::get_id(), first->id());
        EXPECT_EQ(std::this_thread::get_id(), first->id());
    }(env, &home, &away);
    t.get();
}

TEST(async_generator, goes_where_its_consumer_goes_and_its_children_with_it) {
    thread_executor home;
    thread_executor away;
    auto env = coflux::make_environment(home, away);
    auto t = [](auto&&, thread_executor* first, thread_executor* other) -> coflux::task<void, thread_executor> {
        auto&& here = co_await coflux::context();
        auto g = [](auto&&) -> async_generator<std::thread::id> {
            auto&& inside = co_await coflux::context();
            for (;;) {
                co_await coflux::yield();
                const std::thread::id own = std::this_thread::get_id();
                const auto child = [](auto&&) -> coflux::fork<std::thread::id> {
                    co_return std::this_thread::get_id();
                };
                EXPECT_EQ(co_await child(inside), own);
                co_yield own;
            }
        }(here);
        EXPECT_EQ(*co_await g.next(), first->id());
        co_await coflux::resume_on(*other);
        EXPECT_EQ(*co_await g.next(), other->id());
        co_await coflux::resume_on(*first);
        EXPECT_EQ(*co_await g.next(), first->id());
    }(env, &home, &away);
    t.get();
}

/// `co_await whose{}`: what the running coroutine belongs to.
struct whose {
    coflux::detail::answer_awaiter<coflux::environment*> await_in(coflux::detail::promise_base& p,
                                                                  std::source_location) const noexcept {
        return coflux::detail::answer_awaiter(p.parent());
    }
};
coflux::call<coflux::environment*> asks_whose(auto&&) {
    co_return co_await whose{};
}

TEST(async_generator, lets_its_calls_belong_to_the_forks_that_combinators_wrap_them_in) {
    on_pool([](coflux::environment& env) {
        return [](coflux::environment&) -> root {
            auto&& here = co_await coflux::context();
            auto g = [](auto&&) -> async_generator<bool> {
                auto&& inside = co_await coflux::context();
                coflux::environment* const plain = co_await asks_whose(inside);
                co_yield plain == &inside;
                auto [wrapped] = co_await coflux::when_all(asks_whose(inside));
                co_yield wrapped != &inside;
            }(here);
            for (int i = 0; i < 2; ++i) EXPECT_TRUE(*co_await g.next());
        }(env);
    });
}

coflux::fork<void, manual_executor> takes_one(auto&&, borrowed<async_generator<int>> of) {
    (void)co_await of->next();
}

void asks_twice_at_once() {
    coflux_test::die_rather_than_hang();
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](auto&&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto g = count_slowly(here, 2);
        auto a = takes_one(here, borrowed(g));
        auto b = takes_one(here, borrowed(g));
        co_await std::move(a);
        co_await std::move(b);
    }(env);
    by_hand.run_all();
}
void dies_while_it_is_asked() {
    coflux_test::die_rather_than_hang();
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = [](auto&&) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto g = std::make_unique<async_generator<int>>(count_slowly(here, 2));
        auto a = takes_one(here, borrowed(*g));
        co_await coflux::yield();
        g.reset();
        co_await std::move(a);
    }(env);
    by_hand.run_all();
}
void is_asked_after_it_was_moved_from() {
    auto env = coflux::make_environment();
    auto g = count(env, 1);
    const auto other = std::move(g);
    (void)g.next();
}

TEST(async_generator, refuses_what_cannot_be_right) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(asks_twice_at_once(), "next\\(\\) of an async_generator whose next\\(\\) is being awaited");
    EXPECT_DEATH(dies_while_it_is_asked(), "destroyed while its next\\(\\) was awaited");
    EXPECT_DEATH(is_asked_after_it_was_moved_from(), "used after it was moved from");
}

}  // namespace
