// Coroutines whose frames are of other resources than the frame pool, in a dump.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/inspect/deadlocks.hpp>
#include <coflux/inspect/dump.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/foreign_event.hpp"
#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using pool = coflux::thread_pool_executor;
namespace inspect = coflux::inspect;
using json = nlohmann::json;

json dump_now() {
    return json::parse(inspect::dump({.format = inspect::format::json, .limit = std::size_t{1} << 28}));
}
std::string name_of(const json& c) {
    const std::string name = c.value("function", "");
    return name.substr(name.rfind(':') == std::string::npos ? 0 : name.rfind(':') + 1);
}
json with_id(const json& dump, const json& id) {
    for (const json& c : dump.at("coroutines")) {
        if (c.at("id") == id) return c;
    }
    return {};
}

struct things {
    coflux::mutex mutex;
    coflux::manual_reset_event go;
    coflux_test::foreign_event foreign;
    std::pmr::memory_resource* inner = nullptr;  // of a derived environment
};

coflux::fork<void, pool> locks(environment&, things* t) {
    const auto guard = co_await t->mutex.lock();
}
coflux::fork<void, pool> sleeps(environment&) {
    co_await coflux::sleep_for(1h);
}
coflux::fork<void, pool> leaf(environment&, things* t) {
    co_await t->go.wait();
}
coflux::fork<void, pool> branch(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await leaf(here, t);
}
coflux::call<void> inner_call(environment&, things* t) {
    co_await t->go.wait();
}
coflux::call<void> outer_call(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await inner_call(here, t);
}
coflux::fork<void, pool> calls(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await outer_call(here, t);
}
coflux::fork<void, pool> one_of_all(environment&, things* t) {
    co_await t->go.wait();
}
coflux::fork<void, pool> all(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await coflux::when_all(one_of_all(here, t), one_of_all(here, t));
}
coflux::fork<void, pool> one_of_any(environment&, things* t) {
    co_await t->go.wait();
}
coflux::fork<void, pool> any(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await coflux::when_any(one_of_any(here, t), one_of_any(here, t));
}
coflux::fork<void, pool> one_of_a_range(environment&, things* t) {
    co_await t->go.wait();
}
coflux::fork<void, pool> any_of_a_range(environment&, things* t) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<void, pool>> some;
    for (int i = 0; i < 3; ++i) some.push_back(one_of_a_range(here, t));
    co_await coflux::when_any(std::move(some));
}
coflux::fork<void, pool> in_derived(environment&, things* t) {
    co_await t->go.wait();
}
coflux::call<void> call_in_derived(environment&, things* t) {
    co_await t->go.wait();
}
coflux::fork<void, pool> derives(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto sub = t->inner == nullptr ? coflux::make_environment(here) : coflux::make_environment(here, t->inner);
    in_derived(sub, t).attach();
    co_await call_in_derived(sub, t);
    co_await sub.join();
}
coflux::fork<void, pool> joined(environment&, things* t) {
    co_await t->go.wait();
}
coflux::fork<void, pool> joins(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    joined(sub, t).attach();
    co_await sub.join();
}
coflux::fork<void, pool> awaits_foreign(environment&, things* t) {
    co_await t->foreign;
}
coflux::fork<void, pool> above_foreign(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await awaits_foreign(here, t);
}
coflux::fork<int, pool> ends(environment&, int n) {
    if (n % 2 == 0) co_await coflux::yield();
    co_return n;
}
coflux::task<void, pool> root(environment&, things* t) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 100; ++i) (void)co_await ends(here, i);
    const auto guard = co_await t->mutex.lock();
    locks(here, t).attach();
    sleeps(here).attach();
    branch(here, t).attach();
    calls(here, t).attach();
    all(here, t).attach();
    any(here, t).attach();
    any_of_a_range(here, t).attach();
    derives(here, t).attach();
    joins(here, t).attach();
    co_await t->go.wait();
}

struct expected {
    const char* name;
    std::size_t count;
    const char* state;
    const char* parent;
};
constexpr std::array every_one{
    expected{"root", 1, "waits", ""},
    expected{"locks", 1, "waits", "root"},
    expected{"sleeps", 1, "waits", "root"},
    expected{"branch", 1, "awaits", "root"},
    expected{"leaf", 1, "waits", "branch"},
    expected{"calls", 1, "awaits", "root"},
    expected{"outer_call", 1, "awaits", "calls"},
    expected{"inner_call", 1, "waits", "outer_call"},
    expected{"all", 1, "awaits", "root"},
    expected{"one_of_all", 2, "waits", "all"},
    expected{"any", 1, "awaits", "root"},
    expected{"one_of_any", 2, "waits", "any"},
    expected{"any_of_a_range", 1, "awaits", "root"},
    expected{"one_of_a_range", 3, "waits", "any_of_a_range"},
    expected{"derives", 1, "awaits", "root"},
    expected{"in_derived", 1, "waits", "derives"},
    expected{"call_in_derived", 1, "waits", "derives"},
    expected{"joins", 1, "joins", "root"},
    expected{"joined", 1, "waits", "joins"},
};

/// Empty: each is there once, as it should be. Else the first that is not.
std::string wrong_in(const json& dump) {
    std::size_t known = 0;
    for (const expected& e : every_one) {
        std::size_t count = 0;
        for (const json& c : dump.at("coroutines")) {
            if (name_of(c) != e.name) continue;
            ++count;
            const json above = c.at("parent").is_null() ? json::object() : with_id(dump, c.at("parent"));
            if (c.at("state").get<std::string>() != e.state || name_of(above) != e.parent || c.at("moving").get<bool>())
                return c.dump();
        }
        if (count != e.count) return std::string(e.name) + " is there " + std::to_string(count) + " times";
        known += count;
    }
    return known == dump.at("count").get<std::size_t>()
               ? ""
               : std::to_string(dump.at("count").get<std::size_t>()) + " are there";
}
void wait_until_right() {
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (!wrong_in(dump_now()).empty() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

/// Blocks of a size of its own, which stay as they are when they are freed.
class bump_resource final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return memory_.allocate(bytes, alignment); }
    void do_deallocate(void*, std::size_t, std::size_t) noexcept override {}
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::synchronized_pool_resource memory_{std::pmr::new_delete_resource()};
};

void expect_all_once(std::pmr::memory_resource* of_root, std::pmr::memory_resource* of_derived) {
    pool executor{1};  // an arena is for one thread at a time
    auto env = coflux::make_environment(of_root, executor);
    things t;
    t.inner = of_derived;
    auto r = root(env, &t);
    wait_until_right();
    const json now = dump_now();
    EXPECT_EQ(wrong_in(now), "") << inspect::dump({.format = inspect::format::tree});
    for (const json& c : now.at("coroutines")) {
        if (name_of(c) != "locks") continue;
        EXPECT_EQ(name_of(with_id(now, c.value("holder", json()))), "root") << c;
    }
    env.request_stop();
    r.join();
    EXPECT_EQ(dump_now().at("count"), 0) << inspect::dump();
}

TEST(dump_of_other_resources, has_coroutines_of_the_heap_once) {
    expect_all_once(std::pmr::new_delete_resource(), nullptr);
}

TEST(dump_of_other_resources, has_coroutines_of_an_arena_over_the_pool_once_and_none_that_has_gone) {
    coflux::arena memory;
    expect_all_once(&memory, nullptr);
    coflux::arena small(512);
    expect_all_once(&small, nullptr);
}

TEST(dump_of_other_resources, has_coroutines_of_an_arena_over_the_heap_once) {
    coflux::arena memory(16 * 1024, std::pmr::new_delete_resource());
    expect_all_once(&memory, nullptr);
}

TEST(dump_of_other_resources, has_coroutines_of_a_buffer_once) {
    alignas(64) static std::array<std::byte, 256 * 1024> buffer;
    std::pmr::monotonic_buffer_resource memory(buffer.data(), buffer.size(), std::pmr::null_memory_resource());
    expect_all_once(&memory, nullptr);
}

TEST(dump_of_other_resources, has_coroutines_of_a_users_resource_once) {
    bump_resource memory;
    expect_all_once(&memory, nullptr);
    coflux::counting_resource counted(&coflux::frame_pool::shared());
    expect_all_once(&counted, nullptr);
}

TEST(dump_of_other_resources, has_those_of_an_arena_below_the_pool_and_those_of_the_pool_below_an_arena) {
    coflux::arena below;
    expect_all_once(&coflux::frame_pool::shared(), &below);
    coflux::arena above;
    expect_all_once(&above, &coflux::frame_pool::shared());
    coflux::arena first;
    coflux::arena second(1024, std::pmr::new_delete_resource());
    expect_all_once(&first, &second);
}

coflux::task<void, pool> arena_root(environment&, things* t) {
    auto&& here = co_await coflux::context();
    co_await above_foreign(here, t);
}

TEST(dump_of_other_resources, has_none_that_nothing_refers_to) {
    pool executor{1};
    auto env = coflux::make_environment(std::pmr::new_delete_resource(), executor);
    things t;
    auto r = arena_root(env, &t);
    while (!t.foreign.has_waiter()) std::this_thread::yield();
    EXPECT_EQ(dump_now().at("count"), 0) << inspect::dump();
    t.foreign.set();
    r.join();
}

coflux::fork<void, pool> locks_both(environment&, coflux::mutex* a, coflux::mutex* b, std::atomic<int>* arrived) {
    const auto one = co_await a->lock();
    ++*arrived;
    while (*arrived < 2) co_await coflux::yield();
    const auto two = co_await b->lock();
}
coflux::task<void, pool> crosswise(environment&, std::array<coflux::mutex, 2>* m, std::atomic<int>* arrived) {
    auto&& here = co_await coflux::context();
    locks_both(here, m->data(), m->data() + 1, arrived).attach();
    locks_both(here, m->data() + 1, m->data(), arrived).attach();
    co_return;
}

TEST(dump_of_other_resources, names_the_deadlock_of_two_of_them) {
    pool executor{2};
    auto env = coflux::make_environment(std::pmr::new_delete_resource(), executor);
    std::array<coflux::mutex, 2> m;
    std::atomic<int> arrived{0};
    auto r = crosswise(env, &m, &arrived);
    std::vector<std::string> found;
    while ((found = inspect::deadlocks()).empty()) std::this_thread::yield();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].find("2 coroutines wait for each other"), std::string::npos) << found[0];
    env.request_stop();
    r.join();
    EXPECT_TRUE(inspect::deadlocks().empty());
}

coflux::task<void, pool> many(environment&, things* t, int n) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < n; ++i) leaf(here, t).attach();
    co_await t->go.wait();
}

TEST(dump_of_other_resources, has_each_of_many) {
    constexpr int n = 20'000;
    pool executor{1};
    auto env = coflux::make_environment(std::pmr::new_delete_resource(), executor);
    things t;
    auto r = many(env, &t, n);
    const std::string counted = "coflux: " + std::to_string(n + 1) + " coroutines\n";
    const std::string wait = std::to_string(n) + " coroutines: waits for a manual_reset_event";
    std::string text;
    do text = inspect::dump();
    while (text.find(counted) == std::string::npos || text.find(wait) == std::string::npos);
    EXPECT_NE(text.find(counted), std::string::npos);
    t.go.set();
    r.join();
    EXPECT_EQ(dump_now().at("count"), 0);
}

coflux::fork<int, pool> churned(environment&, int n) {
    if (n % 4 == 0) co_await coflux::yield();
    co_return n;
}
coflux::task<void, pool> churns(environment&, std::atomic<bool>* stop) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    while (!stop->load(std::memory_order_relaxed)) {
        coflux::arena memory;
        auto sub = coflux::make_environment(here, &memory);
        for (int i = 0; i < 20; ++i) {
            const auto guard = co_await m.lock();
            (void)co_await churned(sub, i);
        }
        co_await sub.join();
    }
}

TEST(dump_of_other_resources, has_them_once_beside_arenas_that_come_and_go) {
    pool executor{1};
    pool busy{2};
    auto env = coflux::make_environment(std::pmr::new_delete_resource(), executor);
    auto others = coflux::make_environment(busy);
    things t;
    auto r = root(env, &t);
    wait_until_right();
    std::atomic<bool> stop{false};
    auto first = churns(others, &stop);
    auto second = churns(others, &stop);
    const auto mine = [](const json& dump) {
        json left = dump;
        left["coroutines"] = json::array();
        for (const json& c : dump.at("coroutines")) {
            if (name_of(c) != "churned" && name_of(c) != "churns" && !name_of(c).empty())
                left["coroutines"].push_back(c);
        }
        left["count"] = left["coroutines"].size();
        return left;
    };
    for (std::size_t i = 0; i < coflux_test::repetitions(2000) && !HasFailure(); ++i)
        EXPECT_EQ(wrong_in(mine(dump_now())), "");
    stop.store(true);
    first.join();
    second.join();
    env.request_stop();
    r.join();
}

}  // namespace
