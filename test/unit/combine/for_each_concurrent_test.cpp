#include <coflux/combine/for_each_concurrent.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../core/stage.hpp"
#include "contenders.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;
using root = coflux::task<void, hand>;

/// How many run at a time, and how many ran.
struct crowd {
    int now = 0;
    int most = 0;
    int ended = 0;
};

coflux::fork<void, hand> joins_the_crowd(coflux::environment&, int yields, crowd* in) {
    in->most = std::max(in->most, ++in->now);
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    --in->now;
    ++in->ended;
}

TEST(for_each_concurrent, runs_as_many_as_the_window_has_and_no_more) {
    for (const std::size_t window : {1U, 3U, 10U, 1000U}) {
        stage<hand> s;
        crowd c;
        s.run([](coflux::environment&, std::size_t size, crowd* in) -> root {
            co_await coflux::for_each_concurrent(
                std::views::iota(0, 20), size, [in](auto&& env, int i) { return joins_the_crowd(env, 1 + i % 4, in); });
            EXPECT_EQ(in->ended, 20);
        }(s.env, window, &c));
        EXPECT_EQ(c.most, static_cast<int>(std::min<std::size_t>(window, 20)));
        EXPECT_EQ(c.now, 0);
    }
}

TEST(for_each_concurrent, begins_the_elements_in_order) {
    stage<hand> s;
    std::vector<int> begun;
    s.run([](coflux::environment&, std::vector<int>* out) -> root {
        co_await coflux::for_each_concurrent(std::views::iota(0, 6), 2, [out](auto&&, int i) -> coflux::call<void> {
            out->push_back(i);
            co_await coflux::yield();
        });
    }(s.env, &begun));
    EXPECT_EQ(begun, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

coflux::call<int> adds(coflux::environment& env, const std::string& text, int& sum) {
    auto&& here = co_await coflux::context();
    EXPECT_EQ(here.memory_resource(), env.memory_resource());
    co_await coflux::yield();
    sum += static_cast<int>(text.size());
    co_return sum;
}

TEST(for_each_concurrent, takes_calls_tasks_other_awaitables_and_plain_functions) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        const std::vector<std::string> texts{"a", "bb", "ccc"};
        int sum = 0;
        co_await coflux::for_each_concurrent(
            texts, 2, [&sum](coflux::environment& env, const std::string& t) { return adds(env, t, sum); });
        EXPECT_EQ(sum, 6);
        co_await coflux::for_each_concurrent(texts, 2, [](auto&&, std::string) -> coflux::task<int, hand> {
            co_await coflux::yield();
            co_return 1;
        });
        gate open;
        open.open();
        co_await coflux::for_each_concurrent(std::views::iota(0, 5), 2, [&open](int) { return open.wait(); });
        co_await coflux::for_each_concurrent(texts, 9,
                                             [&sum](const std::string& t) { sum += static_cast<int>(t.size()); });
        EXPECT_EQ(sum, 12);
        co_await coflux::for_each_concurrent(texts, 1, [&sum](coflux::environment& env, const auto&) {
            EXPECT_FALSE(env.stop_requested());
            return ++sum;
        });
        EXPECT_EQ(sum, 15);
    }(s.env));
}

int taken_by_name = 0;

coflux::call<void> is_called(coflux::environment&, int n) {
    taken_by_name += n;
    co_return;
}
coflux::call<void> is_called_alone(int n) {
    taken_by_name += n;
    co_return;
}
coflux::fork<void, hand> is_forked(coflux::environment&, int n) {
    taken_by_name += n;
    co_return;
}
void is_plain(int n) {
    taken_by_name += n;
}

TEST(for_each_concurrent, takes_functions_by_their_names) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        const std::vector<int> numbers{1, 2, 3};
        taken_by_name = 0;
        co_await coflux::for_each_concurrent(numbers, 2, is_called);
        co_await coflux::for_each_concurrent(numbers, 2, is_called_alone);
        co_await coflux::for_each_concurrent(coflux::collect_all, numbers, 2, is_forked);
        co_await coflux::for_each_concurrent(numbers, 2, is_plain);
        EXPECT_EQ(taken_by_name, 24);
    }(s.env));
}

TEST(for_each_concurrent, of_an_empty_range_does_nothing) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        co_await coflux::for_each_concurrent(std::vector<int>{}, 4, [](int) { ADD_FAILURE(); });
    }(s.env));
}

TEST(for_each_concurrent, gives_the_elements_of_a_forward_range_where_they_are) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        std::vector<int> numbers{1, 2, 3};
        co_await coflux::for_each_concurrent(numbers, 2, [](int& n) { n *= 10; });
        EXPECT_EQ(numbers, (std::vector<int>{10, 20, 30}));
    }(s.env));
}

TEST(for_each_concurrent, moves_out_of_a_container_that_is_given_away) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        std::vector<std::unique_ptr<int>> owned;
        for (int i = 1; i <= 3; ++i) owned.push_back(std::make_unique<int>(i));
        int sum = 0;
        co_await coflux::for_each_concurrent(std::move(owned), 2, [out = &sum](auto&& env, std::unique_ptr<int> n) {
            return [](auto&&, std::unique_ptr<int> mine, int* to) -> coflux::fork<void, hand> {
                co_await coflux::yield();
                *to += *mine;
            }(env, std::move(n), out);
        });
        EXPECT_EQ(sum, 6);
        std::vector<std::unique_ptr<int>> again;
        again.push_back(std::make_unique<int>(4));
        co_await coflux::for_each_concurrent(std::move(again), 2, [&sum](std::unique_ptr<int> n) { sum += *n; });
        EXPECT_EQ(sum, 10);
    }(s.env));
}

/// A range that can be read once, and forgets what it gave.
class single_pass {
public:
    explicit single_pass(int count, int throws_at = -1) noexcept : left_(count), throws_at_(throws_at) {}
    class iterator {
    public:
        using iterator_concept = std::input_iterator_tag;
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;
        explicit iterator(single_pass& of) noexcept : of_(&of) {}
        std::string& operator*() const noexcept { return of_->current_; }
        iterator& operator++() {
            of_->next();
            return *this;
        }
        void operator++(int) { of_->next(); }
        friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return i.of_->is_done(); }

    private:
        single_pass* of_;
    };
    iterator begin() {
        next();
        return iterator(*this);
    }
    std::default_sentinel_t end() const noexcept { return {}; }
    [[nodiscard]] bool is_done() const noexcept { return left_ < 0; }

private:
    void next() {
        if (left_ == throws_at_) throw std::runtime_error("range");
        current_ = "element " + std::to_string(left_--);
    }
    std::string current_;
    int left_;
    int throws_at_;
};
static_assert(std::ranges::input_range<single_pass> && !std::ranges::forward_range<single_pass>);

TEST(for_each_concurrent, copies_the_elements_of_a_range_that_forgets_them) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        single_pass range(3);
        co_await coflux::for_each_concurrent(range, 3, [log](auto&&, const std::string& text) -> coflux::call<void> {
            co_await coflux::yield();
            log->write(text);
        });
    }(s.env, &j));
    EXPECT_EQ(j.lines(), (lines{"element 3", "element 2", "element 1"}));
}

coflux::fork<void, hand> fails_or_runs(coflux::environment&, int i, journal* log) {
    const mortal local(*log, std::to_string(i));
    if (i == 2) {
        co_await coflux::yield();
        throw std::runtime_error("two");
    }
    for (;;) co_await coflux::yield();
}

TEST(for_each_concurrent, stops_and_joins_the_others_at_the_first_error_and_begins_no_more) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        try {
            co_await coflux::for_each_concurrent(std::views::iota(0, 1000), 4,
                                                 [log](auto&& env, int i) { return fails_or_runs(env, i, log); });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "two");
            EXPECT_EQ(coflux::other_errors().size(), 0U);
        }
        EXPECT_EQ(log->lines().size(), 4U);
    }(s.env, &j));
}

TEST(for_each_concurrent, has_the_other_errors_too) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        try {
            co_await coflux::for_each_concurrent(std::views::iota(0, 10), 3, [](auto&& env, int i) {
                return i == 1 ? fails_after(env, 1, "first") : fails_when_stopped(env, "later");
            });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
            EXPECT_EQ(coflux::other_errors().size(), 2U);
        }
    }(s.env));
}

TEST(for_each_concurrent, throws_an_error_that_comes_before_the_first_look_once) {
    stage<noop> s;
    auto t = [](coflux::environment&) -> coflux::task<std::size_t, noop> {
        std::size_t others = 99;
        try {
            co_await coflux::for_each_concurrent(std::views::iota(0, 10), 3, [](auto&& env, int) {
                return gives<noop>(env, 0, [] { throw std::runtime_error("at once"); });
            });
        } catch (const std::runtime_error&) {
            others = coflux::other_errors().size();
        }
        co_return others;
    }(s.env);
    EXPECT_EQ(t.get(), 0U);
}

TEST(for_each_concurrent, joins_its_children_when_the_range_or_the_function_throws) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        single_pass range(5, 2);
        const auto by_range = co_await coflux::as_outcome(coflux::for_each_concurrent(
            range, 9, [log](auto&& env, std::string name) { return runs_until_stopped(env, log, std::move(name)); }));
        EXPECT_TRUE(by_range.has_error());
        EXPECT_EQ(log->lines().size(), 3U);
        const auto by_function = co_await coflux::as_outcome(
            coflux::for_each_concurrent(std::views::iota(0, 9), 9, [log](auto&& env, int i) {
                if (i == 2) throw std::runtime_error("function");
                return runs_until_stopped(env, log, "child");
            }));
        EXPECT_TRUE(by_function.has_error());
        EXPECT_EQ(log->lines().size(), 5U);
    }(s.env, &j));
}

TEST(for_each_concurrent, joins_its_children_when_there_is_no_memory_for_one_more) {
    for (std::size_t n = 1; n < 12; ++n) {
        stage<hand> s;
        journal j;
        s.run([](coflux::environment&, journal* log, coflux::counting_resource* frames, std::size_t at) -> root {
            frames->fail_at(at);
            const auto o = co_await coflux::as_outcome(
                coflux::for_each_concurrent(std::views::iota(0, 20), 20, [log](auto&&, int) -> coflux::call<void> {
                    const mortal local(*log, "child");
                    for (;;) co_await coflux::yield();
                }));
            EXPECT_TRUE(o.has_error());
        }(s.env, &j, &s.frames(), n + 1));
        EXPECT_LT(j.lines().size(), 12U);
    }
}

TEST(for_each_concurrent, is_a_stop_point_at_each_element) {
    stage<noop> s;
    int begun = 0;
    auto t = [](coflux::environment&, int* count) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        co_await coflux::for_each_concurrent(std::views::iota(0), 4, [count, &here](int i) {
            ++*count;
            if (i == 10) here.request_stop();
        });
        ADD_FAILURE() << "went on";
    }(s.env, &begun);
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(begun, 11);
}

coflux::fork<void, hand> waits_for_a_full_window(coflux::environment&, gate* closed, journal* log) {
    const mortal local(*log, "caller");
    co_await coflux::for_each_concurrent(std::views::iota(0), 3, [closed, log](auto&&, int) -> coflux::call<void> {
        const mortal child(*log, "child");
        co_await closed->wait();
    });
}

TEST(for_each_concurrent, with_a_full_window_is_woken_by_a_stop) {
    stage<hand> s;
    gate never;
    journal j;
    s.run([](coflux::environment&, gate* closed, journal* log) -> root {
        auto&& here = co_await coflux::context();
        auto f = waits_for_a_full_window(here, closed, log);
        while (!closed->has_waiter()) co_await coflux::yield();
        co_await coflux::yield();
        f.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(f))).is_stopped());
        EXPECT_FALSE(closed->has_waiter());
    }(s.env, &never, &j));
    EXPECT_EQ(j.lines(), (lines{"child dies", "child dies", "child dies", "caller dies"}));
}

TEST(for_each_concurrent, stops_before_its_first_element_where_its_coroutine_was_stopped) {
    stage<hand> s;
    auto t = [](coflux::environment&) -> root {
        auto&& here = co_await coflux::context();
        here.request_stop();
        co_await coflux::for_each_concurrent(std::views::iota(0, 3), 3, [](int) { ADD_FAILURE() << "began"; });
    }(s.env);
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(for_each_concurrent, that_has_done_its_work_is_not_undone_by_a_stop) {
    stage<hand> s;
    bool went_on = false;
    auto t = [](coflux::environment&, bool* on) -> root {
        auto&& here = co_await coflux::context();
        co_await coflux::for_each_concurrent(std::views::iota(0, 3), 3, [&here](auto&& env, int i) {
            if (i == 2) here.request_stop();
            return gives_when_stopped(env, i);
        });
        *on = true;
    }(s.env, &went_on);
    s.drive();
    t.get();
    EXPECT_TRUE(went_on);
}

TEST(for_each_concurrent, takes_a_stopped_child_for_a_stop) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        const auto o = co_await coflux::as_outcome(
            coflux::for_each_concurrent(std::views::iota(0, 100), 3, [log](auto&& env, int i) {
                return i == 1 ? stops_after(env, 2) : runs_until_stopped(env, log, "child");
            }));
        EXPECT_TRUE(o.is_stopped());
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines(2, "child dies"));
}

TEST(for_each_concurrent, that_collects_runs_every_element_and_then_throws_the_first_error) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        int ended = 0;
        try {
            co_await coflux::for_each_concurrent(coflux::collect_all, std::views::iota(0, 20), 3,
                                                 [&ended](auto&&, int i) -> coflux::call<void> {
                                                     for (int n = i % 4; n >= 0; --n) co_await coflux::yield();
                                                     if (i % 5 == 1) throw std::runtime_error(std::to_string(i));
                                                     ++ended;
                                                 });
            ADD_FAILURE() << "no error";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "1");
            EXPECT_EQ(coflux::other_errors().size(), 3U);
        }
        EXPECT_EQ(ended, 16);
    }(s.env));
}

TEST(for_each_concurrent, that_collects_runs_on_after_a_stopped_child_and_then_stops) {
    stage<hand> s;
    s.run([](coflux::environment&) -> root {
        int ended = 0;
        const auto o = co_await coflux::as_outcome(coflux::for_each_concurrent(
            coflux::collect_all, std::views::iota(0, 10), 3, [&ended](auto&&, int i) -> coflux::call<void> {
                co_await coflux::yield();
                if (i == 1) co_await coflux::this_coroutine::stop();
                ++ended;
            }));
        EXPECT_TRUE(o.is_stopped());
        EXPECT_EQ(ended, 9);
    }(s.env));
}

TEST(for_each_concurrent, that_collects_is_stopped_as_any_other) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        const auto o = co_await coflux::as_outcome(coflux::for_each_concurrent(
            coflux::collect_all, std::views::iota(0, 100), 3, [&here, log](auto&& env, int i) {
                if (i == 2) here.request_stop();
                return runs_until_stopped(env, log, "child");
            }));
        EXPECT_TRUE(o.is_stopped());
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines(3, "child dies"));
}

TEST(for_each_concurrent, stops_and_joins_children_that_its_function_makes_elsewhere) {
    stage<hand> s;
    journal j;
    s.run([](coflux::environment&, journal* log) -> root {
        auto&& here = co_await coflux::context();
        coflux::task_scope elsewhere(here, coflux::collect_all);
        auto f = [](coflux::environment&, coflux::task_scope* other, journal* l) -> coflux::fork<void, hand> {
            co_await coflux::for_each_concurrent(
                std::views::iota(0), 2, [other, l](auto&&, int) { return runs_until_stopped(*other, l, "elsewhere"); });
        }(here, &elsewhere, log);
        for (int i = 0; i < 4; ++i) co_await coflux::yield();
        f.request_stop();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(f))).is_stopped());
        const auto o = co_await coflux::as_outcome(coflux::for_each_concurrent(
            std::views::iota(0), 2, [other = &elsewhere](auto&&, int) { return fails_after(*other, 0, "elsewhere"); }));
        EXPECT_TRUE(o.has_error());
        co_await elsewhere.join();  // the errors were observed
    }(s.env, &j));
    EXPECT_EQ(j.lines(), lines(2, "elsewhere dies"));
}

TEST(for_each_concurrent, takes_memory_for_its_window_and_not_for_its_range) {
    stage<hand> s;
    s.run([](coflux::environment&, coflux::counting_resource* frames) -> root {
        const std::size_t live = frames->live();
        std::size_t most = 0;
        co_await coflux::for_each_concurrent(std::views::iota(0, 1000), 8,
                                             [frames, &most](auto&&, int i) -> coflux::call<void> {
                                                 for (int k = 0; k < i % 3; ++k) co_await coflux::yield();
                                                 most = std::max(most, frames->live());
                                             });
        EXPECT_LE(most - live, 8U * 3 + 1);  // fork, call and slot of each, and the loop
        EXPECT_EQ(frames->live(), live);
    }(s.env, &s.frames()));
}

coflux::task<std::size_t, pool> sums(coflux::environment&, std::size_t count, std::size_t window) {
    std::atomic<std::size_t> sum{0};
    std::atomic<std::size_t> now{0};
    std::atomic<bool> too_many{false};
    co_await coflux::for_each_concurrent(std::views::iota(std::size_t{0}, count), window,
                                         [&](auto&&, std::size_t i) -> coflux::call<void> {
                                             if (now.fetch_add(1) >= window) too_many.store(true);
                                             if (i % 3 == 0) co_await coflux::yield();
                                             sum.fetch_add(i);
                                             now.fetch_sub(1);
                                         });
    EXPECT_FALSE(too_many.load());
    co_return sum.load();
}

TEST(for_each_concurrent, meets_ends_on_two_threads) {
    for (const std::size_t window : {1U, 2U, 7U, 64U}) {
        stage<pool> s;
        const std::size_t count = race_rounds / 20;
        EXPECT_EQ(s.run(sums(s.env, count, window)), count * (count - 1) / 2);
    }
}

coflux::fork<void, pool> goes_on_for_ever(coflux::environment&, std::size_t window, std::atomic<std::size_t>* begun) {
    co_await coflux::for_each_concurrent(std::views::iota(0), window, [begun](auto&&, int i) -> coflux::call<void> {
        begun->fetch_add(1);
        for (int k = 0; k < i % 5; ++k) co_await coflux::yield();
    });
}

coflux::task<std::size_t, pool> stops_each(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    std::size_t stopped = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        std::atomic<std::size_t> begun{0};
        auto f = goes_on_for_ever(here, 1 + i % 4, &begun);
        while (begun.load() < i % 16) co_await coflux::yield();
        f.request_stop();
        stopped += (co_await coflux::as_outcome(std::move(f))).is_stopped() ? 1U : 0U;
    }
    co_return stopped;
}

TEST(for_each_concurrent, is_stopped_at_any_moment_by_another_thread) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 50;
    EXPECT_EQ(s.run(stops_each(s.env, rounds)), rounds);
}

coflux::fork<void, pool> waits_at(coflux::environment&, gate* at) {
    co_await at->wait();
}

coflux::fork<void, pool> waits_for_others(coflux::environment&, coflux::task_scope* elsewhere, gate* never,
                                          std::atomic<bool>* begun) {
    begun->store(true);
    co_await coflux::for_each_concurrent(std::views::iota(0), 1,
                                         [elsewhere, never](auto&&, int) { return waits_at(*elsewhere, never); });
}

/// Nothing but the request itself wakes the loop: its child is not below it.
coflux::task<std::size_t, pool> stops_each_as_it_parks(coflux::environment&, std::size_t rounds) {
    auto&& here = co_await coflux::context();
    coflux::task_scope elsewhere(here);
    gate never;
    std::size_t stopped = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        std::atomic<bool> begun{false};
        auto f = waits_for_others(here, &elsewhere, &never, &begun);
        for (int k = 0; k < 2'000 && !begun.load(); ++k)
            coflux::detail::cpu_pause();  // for the other worker to take it
        while (!begun.load()) co_await coflux::yield();
        for (std::size_t k = 0; k < i % 64; ++k) coflux::detail::cpu_pause();
        f.request_stop();
        stopped += (co_await coflux::as_outcome(std::move(f))).is_stopped() ? 1U : 0U;
    }
    co_await elsewhere.join();
    co_return stopped;
}

TEST(for_each_concurrent, is_not_left_parked_by_a_stop_that_comes_as_it_parks) {
    stage<pool> s;
    const std::size_t rounds = race_rounds / 20;
    EXPECT_EQ(s.run(stops_each_as_it_parks(s.env, rounds)), rounds);
}

template <typename On>
class for_each_concurrent_on : public ::testing::Test {};
TYPED_TEST_SUITE(for_each_concurrent_on, combinations, combination_names);

template <typename Root, typename Child>
coflux::task<int, Root> applies_all(coflux::environment&, int yields) {
    std::atomic<int> sum{0};
    co_await coflux::for_each_concurrent(std::views::iota(0, 10), 3, [&sum, yields](auto&& env, int i) {
        return gives<Child>(env, yields, [&sum, i] { sum += i; });
    });
    co_return sum.load();
}

TYPED_TEST(for_each_concurrent_on, applies_to_all_however_the_children_run) {
    for (const int yields : yields_before_the_end) {
        typename TypeParam::stage_type s;
        EXPECT_EQ(s.run(applies_all<typename TypeParam::root, typename TypeParam::child>(s.env, yields)), 45);
    }
}

coflux::task<void, noop> has_a_window_of(coflux::environment&, std::size_t window) {
    co_await coflux::for_each_concurrent(std::vector<int>{}, window, [](int) {});
}

TEST(for_each_concurrent, throws_for_a_window_of_none) {
    const auto waits = [](std::size_t window) {
        auto env = coflux::make_environment(noop{});
        has_a_window_of(env, window).get();
    };
    waits(1);
    EXPECT_THROW(waits(0), std::invalid_argument);
}

}  // namespace
