// A coroutine that ends nested on its awaiter's stack frees its own frame, and its result goes by the thread: whatever
// it returns, whatever its parameters do when they die, and whatever else ends meanwhile. docs/design/fork_join.md has
// the protocol.
#include <coflux/core/detail/promise/end.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace {

using coflux::detail::is_passed_by_thread;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

/// Copies by its bytes, but has neither default constructor nor assignment, nor copies for every caller.
struct odd {
    explicit odd(std::int32_t v) : value(v) {}
    odd(const odd&) = delete;
    odd(odd&&) = default;
    odd& operator=(const odd&) = delete;
    const std::int32_t value;
    bool operator==(const odd& other) const { return value == other.value; }
};
/// Is copied as bytes, wherever it says that it lies.
struct elsewhere {
    std::int32_t value;
    elsewhere* operator&() { return nullptr; }
    bool operator==(const elsewhere& other) const { return value == other.value; }
};
struct empty {
    bool operator==(const empty&) const = default;
};
struct three_bytes {
    std::array<char, 3> bytes;
    bool operator==(const three_bytes&) const = default;
};
struct nine_bytes {
    std::array<char, 9> bytes;
    bool operator==(const nine_bytes&) const = default;
};
struct alignas(16) wide {
    std::int32_t value;
    bool operator==(const wide&) const = default;
};
enum class colour : std::uint8_t { red = 3, green = 200 };

static_assert(is_passed_by_thread<void> && is_passed_by_thread<bool> && is_passed_by_thread<double> &&
              is_passed_by_thread<colour>);
static_assert(is_passed_by_thread<odd> && is_passed_by_thread<empty> && is_passed_by_thread<three_bytes> &&
              is_passed_by_thread<void*>);
static_assert(is_passed_by_thread<std::string&> && is_passed_by_thread<const wide&> &&
              is_passed_by_thread<std::string&&>);
static_assert(!is_passed_by_thread<nine_bytes> && !is_passed_by_thread<wide> && !is_passed_by_thread<std::string>);
static_assert(!is_passed_by_thread<std::unique_ptr<int>>);

template <typename T>
coflux::fork<T, pool> fork_of(coflux::environment&, T v, bool leaves) {
    if (leaves) co_await coflux::yield();
    co_return std::move(v);
}
template <typename T>
coflux::call<T> call_of(coflux::environment&, T v, bool leaves) {
    if (leaves) co_await coflux::yield();
    co_return std::move(v);
}

/// A parameter whose death runs coroutines that end in nested runs: their results go by the thread, too.
class busy_death {
public:
    explicit busy_death(int& deaths) : deaths_(&deaths) {}
    busy_death(busy_death&& other) noexcept : deaths_(std::exchange(other.deaths_, nullptr)) {}
    busy_death(const busy_death&) = delete;
    busy_death& operator=(const busy_death&) = delete;
    ~busy_death() {
        if (deaths_ == nullptr) return;
        auto env = coflux::make_environment();
        EXPECT_EQ((adds(env, 3).get()), 6);
        ++*deaths_;
    }

private:
    static coflux::call<int> number(coflux::environment&, int v) { co_return v; }
    static coflux::task<int, noop> adds(auto&&, int n) {
        auto&& here = co_await coflux::context();
        int sum = 0;
        for (int i = 1; i <= n; ++i) sum += co_await number(here, i);
        co_return sum;
    }

    int* deaths_;
};

template <typename T>
coflux::fork<T, pool> fork_with(coflux::environment&, busy_death, T v, bool leaves) {
    if (leaves) co_await coflux::yield();
    co_return std::move(v);
}
template <typename T>
coflux::call<T> call_with(coflux::environment&, busy_death, T v, bool leaves) {
    if (leaves) co_await coflux::yield();
    co_return std::move(v);
}

template <typename T>
coflux::task<int, pool> gives(auto&&, T (*make)()) {
    auto&& here = co_await coflux::context();
    int deaths = 0;
    for (const bool leaves : {false, true, false}) {
        EXPECT_EQ(co_await fork_of<T>(here, make(), leaves), make());
        EXPECT_EQ(co_await call_of<T>(here, make(), leaves), make());
        EXPECT_EQ(co_await fork_with<T>(here, busy_death(deaths), make(), leaves), make());
        EXPECT_EQ(co_await call_with<T>(here, busy_death(deaths), make(), leaves), make());
        auto first = fork_with<T>(here, busy_death(deaths), make(), leaves);
        auto second = fork_of<T>(here, make(), leaves);
        EXPECT_EQ(co_await std::move(second), make());
        EXPECT_EQ(co_await std::move(first), make());
    }
    co_return deaths;
}

/// On one worker and on two, from the frame pool and from a resource that has to have everything back.
template <typename T>
void expect_gives(T (*make)()) {
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        auto pooled = coflux::make_environment(workers);
        EXPECT_EQ(gives<T>(pooled, make).get(), 9);
        coflux::counting_resource counted(std::pmr::new_delete_resource());
        {
            auto env = coflux::make_environment(&counted, workers);
            EXPECT_EQ(gives<T>(env, make).get(), 9);
        }
        EXPECT_EQ(counted.live(), 0U);
        EXPECT_EQ(counted.live_bytes(), 0U);
    }
}

TEST(nested_run_freed, gives_results_of_all_small_types) {
    expect_gives<bool>([] { return true; });
    expect_gives<int>([] { return -7; });
    expect_gives<double>([] { return 0.1; });
    expect_gives<std::uint64_t>([] { return ~std::uint64_t{5}; });
    expect_gives<colour>([] { return colour::green; });
    expect_gives<odd>([] { return odd(-3); });
    expect_gives<elsewhere>([] { return elsewhere{6}; });
    expect_gives<empty>([] { return empty(); });
    expect_gives<three_bytes>([] { return three_bytes{{'a', 'b', 'c'}}; });
}

TEST(nested_run_freed, keeps_the_frames_of_others) {
    expect_gives<nine_bytes>([] { return nine_bytes{{'n', 'i', 'n', 'e'}}; });
    expect_gives<wide>([] { return wide{4}; });
    expect_gives<std::string>([] { return std::string(100, 'x'); });
    expect_gives<std::vector<int>>([] { return std::vector<int>{1, 2, 3}; });
}

coflux::call<std::string&> same(coflux::environment&, std::string& s) {
    co_return s;
}
coflux::fork<const int&, pool> element(coflux::environment&, coflux::borrowed<std::vector<int>> of, std::size_t i) {
    co_return (*of)[i];
}
coflux::call<void> adds_to(coflux::environment&, int& sum) {
    ++sum;
    co_return;
}
coflux::task<void, pool> references(auto&&) {
    auto&& here = co_await coflux::context();
    std::string text = "text";
    EXPECT_EQ(&co_await same(here, text), &text);
    std::vector<int> numbers{1, 2, 3};
    EXPECT_EQ(&co_await element(here, coflux::borrowed(numbers), 1), &numbers[1]);
    int sum = 0;
    for (int i = 0; i < 1000; ++i) co_await adds_to(here, sum);
    EXPECT_EQ(sum, 1000);
}

TEST(nested_run_freed, gives_references_and_nothing) {
    pool one(1);
    auto env = coflux::make_environment(one);
    references(env).get();
}

// All may begin before the first result is taken (COFLUX_LATE_RESULTS).
coflux::task<void, pool> awaits_several_at_once(auto&&) {
    auto&& here = co_await coflux::context();
    for (int which = 0; which < 16; ++which) {
        const auto leaves = [&](int n) { return (which >> n & 1) != 0; };
        auto first = fork_of<int>(here, 1, leaves(0));
        auto second = fork_of<int>(here, 20, leaves(1));
        EXPECT_EQ(co_await std::move(second) + co_await call_of<int>(here, 300, leaves(2)) +
                      co_await call_of<int>(here, 4000, leaves(3)) + co_await std::move(first),
                  4321);
    }
}

TEST(nested_run_freed, gives_each_of_several_awaits_in_one_expression_its_own_result) {
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        auto env = coflux::make_environment(workers);
        awaits_several_at_once(env).get();
    }
}

// --- whose scope has something left

coflux::fork<int, pool> late(coflux::environment&, coflux::borrowed<int> ended, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return ++*ended;
}
coflux::call<int> leaves_children(coflux::environment&, int& ended, int yields) {
    auto&& here = co_await coflux::context();
    late(here, coflux::borrowed(ended), yields).attach();
    late(here, coflux::borrowed(ended), yields).attach();
    co_return 5;
}
coflux::fork<int, pool> fails_alone(coflux::environment&) {
    throw std::runtime_error("not observed");
    co_return 0;
}
coflux::call<int> leaves_a_failure(coflux::environment&) {
    auto&& here = co_await coflux::context();
    fails_alone(here).attach();
    co_await coflux::yield();
    co_return 5;
}
coflux::task<void, pool> awaits_those_with_children(auto&&) {
    auto&& here = co_await coflux::context();
    for (int yields = 0; yields < 3; ++yields) {
        int ended = 0;
        EXPECT_EQ(co_await leaves_children(here, ended, yields), 5);
        EXPECT_EQ(ended, 2);
    }
    EXPECT_THROW((void)co_await leaves_a_failure(here), std::runtime_error);
}

TEST(nested_run_freed, waits_for_its_children_first) {
    pool one(1);
    auto env = coflux::make_environment(one);
    awaits_those_with_children(env).get();
}

// A child that was not made by its parent is released while its parent looks whether it has children.
struct meeting {
    std::atomic<bool> begun{false};
    std::atomic<bool> may_end{false};
};
/// Spins, so that both go on at once, but leaves the processor to the other where that waits for one.
void spin_until(const std::atomic<bool>& told) {
    for (int looks = 1; !told; ++looks) {
        if (looks % 1024 == 0) std::this_thread::yield();
    }
}
coflux::fork<void, pool> ends_when_told(coflux::environment&, coflux::borrowed<meeting> m) {
    m->begun = true;
    spin_until(m->may_end);
    co_return;
}
coflux::call<void> makes_it_for(coflux::environment& parent, meeting& m) {
    (void)co_await coflux::context();
    ends_when_told(parent, coflux::borrowed(m)).attach();
}
coflux::fork<int, pool> ends_with_it(coflux::environment&, coflux::borrowed<meeting> m, int value) {
    auto&& here = co_await coflux::context();
    co_await makes_it_for(here, *m);
    spin_until(m->begun);  // another worker has it
    m->may_end = true;
    for (int i = 0; i < value % 300; ++i) asm volatile("");
    co_return value;
}
coflux::task<void, pool> end_together(auto&&, int rounds) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < rounds; ++i) {
        meeting m;
        EXPECT_EQ(co_await ends_with_it(here, coflux::borrowed(m), i), i);
    }
}

TEST(nested_run_freed, looks_once_whether_it_has_children) {
    pool two(2);
    auto env = coflux::make_environment(two);
    end_together(env, coflux_test::sanitized ? 300 : 3000).get();
}

// --- another coroutine suspends inside

coflux::fork<void, noop> suspends_in_its_creator(coflux::environment&) {
    co_await coflux::yield();
}
coflux::call<int> makes_one_that_suspends(coflux::environment&, std::vector<coflux::fork<void, noop>>& kept) {
    auto&& here = co_await coflux::context();
    auto inner = suspends_in_its_creator(here);
    co_await std::move(inner);
    (void)kept;
    co_return 8;
}
coflux::call<int> ends_while_one_is_suspended(coflux::environment& outer, std::vector<coflux::fork<void, noop>>& kept) {
    kept.push_back(suspends_in_its_creator(outer));  // the caller's child: this call ends in place
    co_return 9;
}
coflux::task<void, pool> awaits_those(auto&&) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<void, noop>> kept;
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(co_await makes_one_that_suspends(here, kept), 8);
        EXPECT_EQ(co_await ends_while_one_is_suspended(here, kept), 9);
        EXPECT_EQ(co_await ends_while_one_is_suspended(here, kept), 9);
        EXPECT_EQ(coflux::detail::this_thread.current, &here);
    }
    for (auto& f : kept) co_await std::move(f);
}

TEST(nested_run_freed, is_distinguished_from_one_that_suspended_although_another_suspended_in_its_creator) {
    pool one(1);
    auto env = coflux::make_environment(one);
    awaits_those(env).get();
}

// A coroutine's own child, made by another coroutine: counted atomically, and where it ends nested on its parent's
// stack, released by the owner.
coflux::fork<int, pool> three(coflux::environment&) {
    co_return 3;
}
coflux::call<coflux::fork<int, pool>> made_for(coflux::environment&, coflux::environment& parent) {
    (void)co_await coflux::context();
    co_return three(parent);
}
coflux::fork<int, pool> has_them_made(auto&&, int times) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 0; i < times; ++i) {
        auto of_another = co_await made_for(here, here);
        auto own = three(here);
        sum += co_await std::move(own);
        sum += co_await std::move(of_another);
    }
    co_return sum;
}
coflux::task<int, pool> makers(auto&&, int forks, int times) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 0; i < forks; ++i) sum += co_await has_them_made(here, times);
    co_return sum;
}

TEST(nested_run_freed, of_a_child_that_another_made_for_its_parent) {
    for (const std::size_t workers : {1, 2}) {
        pool p(workers);
        auto env = coflux::make_environment(p);
        EXPECT_EQ(makers(env, 200, 50).get(), 200 * 50 * 6);
    }
}

}  // namespace
