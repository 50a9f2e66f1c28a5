#include <coflux/inspect/dump.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/foreign_event.hpp"
#include "support/iterations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::thread_pool_executor;
namespace inspect = coflux::inspect;
using pool = thread_pool_executor;
using json = nlohmann::json;

json dump_now() {
    const std::string text = inspect::dump({.format = inspect::format::json, .limit = std::size_t{1} << 28});
    return json::parse(text);
}

/// The coroutines whose function's name ends so.
std::vector<json> in(const json& dump, const std::string& function) {
    std::vector<json> found;
    for (const json& c : dump.at("coroutines")) {
        const std::string name = c.value("function", "");
        if (name == function || name.ends_with("::" + function)) found.push_back(c);
    }
    return found;
}

json with_id(const json& dump, const json& id) {
    for (const json& c : dump.at("coroutines")) {
        if (c.at("id") == id) return c;
    }
    return {};
}

std::string address_text(const void* p) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(p)));
    return text;
}

/// The things that the coroutines below wait for, and the line of each await.
struct things {
    coflux::mutex mutex;
    coflux::shared_mutex shared_mutex;
    coflux::semaphore semaphore{0};
    coflux::latch latch{1};
    coflux::barrier<> barrier{2};
    coflux::manual_reset_event manual;
    coflux::auto_reset_event automatic;
    coflux::condition_variable condition;
    coflux::mutex of_condition;
    coflux::channel<int[1]> values;
    coflux::channel<int[1]> full;
    coflux::timer timer;
    coflux_test::foreign_event foreign;
    std::atomic<int> arrived{0};
    std::map<std::string, unsigned> lines;
    std::mutex lines_lock;

    void note(const char* name, unsigned line) {
        const std::lock_guard guard(lines_lock);
        lines[name] = line;
        ++arrived;
    }
    unsigned line_of(const char* name) {
        const std::lock_guard guard(lines_lock);
        return lines[name];
    }
};

coflux::fork<void, pool> in_mutex(environment&, things* t) {
    t->note("in_mutex", __LINE__ + 1);
    auto guard = co_await t->mutex.lock();
}
coflux::fork<void, pool> in_shared_mutex(environment&, things* t) {
    t->note("in_shared_mutex", __LINE__ + 1);
    auto guard = co_await t->shared_mutex.lock_shared();
}
coflux::fork<void, pool> in_semaphore(environment&, things* t) {
    t->note("in_semaphore", __LINE__ + 1);
    co_await t->semaphore.acquire();
}
coflux::fork<void, pool> in_latch(environment&, things* t) {
    t->note("in_latch", __LINE__ + 1);
    co_await t->latch.wait();
}
coflux::fork<void, pool> in_barrier(environment&, things* t) {
    t->note("in_barrier", __LINE__ + 1);
    co_await t->barrier.arrive_and_wait();
}
coflux::fork<void, pool> in_manual(environment&, things* t) {
    t->note("in_manual", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_automatic(environment&, things* t) {
    t->note("in_automatic", __LINE__ + 1);
    co_await t->automatic.wait();
}
coflux::fork<void, pool> in_condition(environment&, things* t) {
    auto guard = co_await t->of_condition.lock();
    t->note("in_condition", __LINE__ + 1);
    co_await t->condition.wait(guard);
}
coflux::fork<void, pool> in_receive(environment&, things* t) {
    t->note("in_receive", __LINE__ + 1);
    (void)co_await t->values.receive();
}
coflux::fork<void, pool> in_send(environment&, things* t) {
    (void)co_await t->full.send(1);
    t->note("in_send", __LINE__ + 1);
    (void)co_await t->full.send(2);
}
coflux::fork<void, pool> in_sleep(environment&, things* t) {
    t->note("in_sleep", __LINE__ + 1);
    co_await coflux::sleep_for(1h);
}
coflux::fork<void, pool> in_timer(environment&, things* t) {
    (void)t->timer.reset(1h);
    t->note("in_timer", __LINE__ + 1);
    (void)co_await t->timer.wait();
}
coflux::fork<void, pool> in_foreign(environment&, things* t) {
    t->note("in_foreign", __LINE__ + 1);
    co_await t->foreign;
}
coflux::call<void> a_call(environment&, things* t) {
    t->note("a_call", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_call(environment&, things* t) {
    auto&& here = co_await coflux::context();
    t->note("in_call", __LINE__ + 1);
    co_await a_call(here, t);
}
coflux::fork<void, pool> a_child(environment&, things* t) {
    t->note("a_child", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_child(environment&, things* t) {
    auto&& here = co_await coflux::context();
    t->note("in_child", __LINE__ + 1);
    co_await a_child(here, t);
}
coflux::fork<void, pool> one_of_all(environment&, things* t) {
    t->note("one_of_all", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_all(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto a = one_of_all(here, t);
    auto b = one_of_all(here, t);
    t->note("in_all", __LINE__ + 1);
    co_await coflux::when_all(std::move(a), std::move(b));
}
coflux::fork<void, pool> one_of_any(environment&, things* t) {
    t->note("one_of_any", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_any(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto a = one_of_any(here, t);
    auto b = one_of_any(here, t);
    t->note("in_any", __LINE__ + 1);
    co_await coflux::when_any(std::move(a), std::move(b));
}
coflux::fork<void, pool> left_behind(environment&, things* t) {
    t->note("left_behind", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_its_end(environment&, things* t) {
    auto&& here = co_await coflux::context();
    left_behind(here, t).attach();
    t->note("in_its_end", 0);
}
coflux::fork<void, pool> of_object(environment&, things* t) {
    t->note("of_object", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::fork<void, pool> in_join(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto derived = coflux::make_environment(here);
    of_object(derived, t).attach();
    t->note("in_join", __LINE__ + 1);
    co_await derived.join();
}
coflux::fork<int, pool> ends(environment&, things* t) {
    t->note("ends", 0);
    co_return 1;
}
coflux::async_generator<int> numbers(environment&, things* t) {
    t->note("numbers", __LINE__ + 1);
    co_yield 1;
}
coflux::call<void> ends_soon(environment&) {
    co_await coflux::yield();
}
coflux::call<void> not_begun(environment&, things* t) {
    co_await t->manual.wait();
}
coflux::call<void> without_environment(things* t) {
    co_await t->manual.wait();
}
coflux::fork<void, pool> has_stored(environment&, things* t) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 10; ++i) co_await ends_soon(here);  // what is in their memory stays there
    auto first = not_begun(here, t);
    auto second = without_environment(t);
    t->note("has_stored", __LINE__ + 1);
    co_await t->manual.wait();
    co_await std::move(first);
    co_await std::move(second);
}
coflux::fork<void, pool> has_two(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto ended = ends(here, t);
    auto from = numbers(here, t);
    (void)co_await from.next();
    t->note("has_two", __LINE__ + 1);
    co_await t->manual.wait();
    (void)co_await std::move(ended);
}

constexpr int noted = 30;

coflux::task<void, pool> all_of_them(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto held = co_await t->mutex.lock();
    auto shared = co_await t->shared_mutex.lock();
    in_mutex(here, t).attach();
    in_shared_mutex(here, t).attach();
    in_semaphore(here, t).attach();
    in_latch(here, t).attach();
    in_barrier(here, t).attach();
    in_manual(here, t).attach();
    in_automatic(here, t).attach();
    in_condition(here, t).attach();
    in_receive(here, t).attach();
    in_send(here, t).attach();
    in_sleep(here, t).attach();
    in_timer(here, t).attach();
    in_foreign(here, t).attach();
    in_call(here, t).attach();
    in_child(here, t).attach();
    in_all(here, t).attach();
    in_any(here, t).attach();
    in_its_end(here, t).attach();
    in_join(here, t).attach();
    has_two(here, t).attach();
    has_stored(here, t).attach();
    t->note("all_of_them", __LINE__ + 1);
    co_await t->manual.wait();
}

/// Until all have noted their awaits, and none runs any more.
void wait_until_suspended(const things& t, int n) {
    while (t.arrived.load() < n) std::this_thread::yield();
    for (int quiet = 0; quiet < 3;) {
        const json now = dump_now();
        const auto& all = now.at("coroutines");
        const bool rests = std::none_of(all.begin(), all.end(), [](const json& c) {
            return c.at("moving").get<bool>() || c.at("state") == "ready" || c.at("state") == "running";
        });
        quiet = rests ? quiet + 1 : 0;
        std::this_thread::yield();
    }
}

void check_all(const json& dump, things& t) {
    const auto check = [&](const char* name, std::size_t count, const char* state, const char* parent) -> json {
        const std::vector<json> found = in(dump, name);
        EXPECT_EQ(found.size(), count) << name;
        if (found.empty()) return {};
        for (const json& c : found) {
            EXPECT_EQ(c.at("state"), state) << name;
            const unsigned line = t.line_of(name);
            EXPECT_TRUE(line == 0 || c.at("line") == line) << name << " " << c.at("line");
            EXPECT_EQ(c.at("file"), __FILE__) << name;
            if (parent != nullptr) {
                const json above = with_id(dump, c.at("parent"));
                EXPECT_TRUE(above.is_object() && above.at("function").get<std::string>().ends_with(parent))
                    << name << " " << above;
            } else {
                EXPECT_TRUE(c.at("parent").is_null()) << name;
            }
        }
        return found.front();
    };
    const auto waits = [&](const char* name, const char* what, const void* on, const char* parent = "all_of_them") {
        const json c = check(name, 1, "waits", parent);
        if (c.is_null()) return;
        EXPECT_EQ(c.at("waits_for"), what) << name;
        EXPECT_TRUE(on == nullptr || c.value("address", "") == address_text(on)) << name << " " << c;
    };
    waits("in_mutex", "a mutex", &t.mutex);
    waits("in_shared_mutex", "a shared_mutex", &t.shared_mutex);
    waits("in_semaphore", "a semaphore", &t.semaphore);
    waits("in_latch", "a latch", &t.latch);
    waits("in_barrier", "a barrier", &t.barrier);
    waits("in_manual", "a manual_reset_event", &t.manual);
    waits("in_automatic", "an auto_reset_event", &t.automatic);
    waits("in_condition", "a condition variable", &t.condition);
    waits("in_receive", "a channel", nullptr);
    waits("in_send", "a channel", nullptr);
    waits("in_sleep", "a moment in time", nullptr);
    waits("in_timer", "a timer", &t.timer);
    waits("a_call", "a manual_reset_event", &t.manual, "in_call");
    waits("a_child", "a manual_reset_event", &t.manual, "in_child");
    waits("left_behind", "a manual_reset_event", &t.manual, "in_its_end");
    waits("of_object", "a manual_reset_event", &t.manual, "in_join");
    waits("has_two", "a manual_reset_event", &t.manual);
    waits("has_stored", "a manual_reset_event", &t.manual);
    std::size_t stored = 0;
    for (const json& c : dump.at("coroutines")) stored += c.at("state") == "unawaited" ? 1 : 0;
    EXPECT_EQ(stored, 2U);
    for (const json& c : in(dump, "in_mutex")) {
        const json holder = with_id(dump, c.value("holder", json()));
        EXPECT_TRUE(holder.is_object() && holder.at("function").get<std::string>().ends_with("all_of_them")) << c;
    }
    waits("all_of_them", "a manual_reset_event", &t.manual, nullptr);
    check("one_of_all", 2, "waits", "in_all");
    check("one_of_any", 2, "waits", "in_any");
    check("in_foreign", 1, "foreign", "all_of_them");
    check("in_its_end", 1, "joins", "all_of_them");
    check("ends", 1, "ended", "has_two");
    check("numbers", 1, "generator", "has_two");
    const json join = check("in_join", 1, "joins", "all_of_them");
    EXPECT_EQ(join.at("children"), 1);
    const auto awaits = [&](const char* name, std::size_t n, const char* what) {
        const json c = check(name, 1, "awaits", "all_of_them");
        if (c.is_null()) return;
        EXPECT_EQ(c.at("awaits"), n) << name;
        EXPECT_TRUE(with_id(dump, c.at("awaited")).at("function").get<std::string>().ends_with(what)) << name;
    };
    awaits("in_call", 1, "a_call");
    awaits("in_child", 1, "a_child");
    awaits("in_all", 1, "one_of_all");  // one behind the other
    awaits("in_any", 2, "one_of_any");
    const auto receives = in(dump, "in_receive");
    const auto sends = in(dump, "in_send");
    if (!receives.empty() && !sends.empty()) {
        EXPECT_NE(receives.front().at("address"), sends.front().at("address"));
    }
}

void end(environment& env, things& t, coflux::task<void, pool>& root) {
    env.request_stop();
    t.foreign.set();
    root.join();
}

TEST(dump, has_each_coroutine_once_with_its_place_its_parent_and_what_it_waits_for) {
    thread_pool_executor executor{2};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = all_of_them(env, &t);
    wait_until_suspended(t, noted);
    const json now = dump_now();
    EXPECT_EQ(now.at("version"), 1);
    EXPECT_EQ(now.at("count"), 34) << inspect::dump();
    EXPECT_EQ(now.at("moving"), 0);
    EXPECT_EQ(now.at("left_out"), 0);
    check_all(now, t);
    end(env, t, root);
}

coflux::fork<int, pool> churned(environment&, int n) {
    if (n % 16 == 0) co_await coflux::yield();
    co_return n;
}
coflux::fork<void, pool> churns(environment&, std::atomic<bool>* ends) {
    auto&& here = co_await coflux::context();
    coflux::mutex m;
    while (!ends->load(std::memory_order_relaxed)) {
        std::vector<coflux::fork<int, pool>> some;
        for (int i = 0; i < 100; ++i) some.push_back(churned(here, i));
        const auto guard = co_await m.lock();
        for (auto& f : some) (void)co_await std::move(f);
        co_await coflux::yield();
    }
}
coflux::task<void, pool> churners(environment&, std::atomic<bool>* ends) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 8; ++i) churns(here, ends).attach();
    co_return;
}

TEST(dump, has_them_once_beside_coroutines_that_come_and_go_and_slabs_that_are_released) {
    thread_pool_executor executor{2};
    thread_pool_executor busy{4};
    auto env = coflux::make_environment(executor);
    auto others = coflux::make_environment(busy);
    things t;
    auto root = all_of_them(env, &t);
    wait_until_suspended(t, noted);
    std::atomic<bool> ends{false};
    auto churning = churners(others, &ends);
    std::thread trims([&ends] {
        while (!ends.load()) {
            std::vector<void*> blocks(5000);
            for (void*& b : blocks) b = coflux::frame_pool::shared().allocate(300, 16);
            for (void* const b : blocks) coflux::frame_pool::shared().deallocate(b, 300, 16);
            coflux::frame_pool::shared().trim();
        }
    });
    for (std::size_t i = 0; i < coflux_test::repetitions(120); ++i) {
        check_all(dump_now(), t);
        if (HasFailure()) break;
    }
    ends.store(true);
    trims.join();
    churning.join();
    end(env, t, root);
}

TEST(dump, marks_those_that_changed_meanwhile) {
    thread_pool_executor busy{2};
    auto env = coflux::make_environment(busy);
    std::atomic<bool> ends{false};
    auto churning = churners(env, &ends);
    while (dump_now().at("moving") == 0) {}  // one that runs goes on in the end
    ends.store(true);
    churning.join();
}

/// Their frames were those of children of a coroutine that is there.
coflux::task<void, pool> forks_that_end(environment&, things* t, int n) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < n; ++i) (void)co_await churned(here, 1);
    {
        std::vector<coflux::fork<int, pool>> some;
        for (int i = 0; i < n; ++i) some.push_back(churned(here, 1));
        for (auto& f : some) (void)co_await std::move(f);
    }
    t->note("forks_that_end", __LINE__ + 1);
    co_await t->manual.wait();
}

TEST(dump, has_no_frame_that_is_free) {
    thread_pool_executor executor{1};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = forks_that_end(env, &t, 100'000);
    while (t.arrived.load() == 0) std::this_thread::yield();
    EXPECT_EQ(dump_now().at("count"), 1) << inspect::dump();
    t.manual.set();
    root.join();
}

coflux::fork<void, pool> deep(environment&, coflux::manual_reset_event* go, std::atomic<bool>* is_there, int n) {
    auto&& here = co_await coflux::context();
    if (n == 0) {
        is_there->store(true);
        co_await go->wait();
    } else {
        co_await deep(here, go, is_there, n - 1);
    }
}
coflux::task<void, pool> begins_deep(environment&, coflux::manual_reset_event* go, std::atomic<bool>* is_there, int n) {
    auto&& here = co_await coflux::context();
    co_await deep(here, go, is_there, n);
}

TEST(dump, of_a_chain_of_100_000_is_a_few_groups_and_a_tree) {
    thread_pool_executor executor{1};
    auto env = coflux::make_environment(executor);
    coflux::manual_reset_event go;
    constexpr int depth = COFLUX_TEST_TSAN ? 10'000 : 100'000;
    const std::string all = std::to_string(depth + 2) + " coroutines\n";
    std::atomic<bool> arrived{false};
    auto root = begins_deep(env, &go, &arrived, depth);
    while (!arrived.load()) std::this_thread::yield();
    const auto is_there = [&all](const std::string& groups) {
        return groups.find(all) != std::string::npos && groups.find("1 coroutine: waits for") != std::string::npos;
    };
    while (!is_there(inspect::dump())) std::this_thread::yield();
    const std::string groups = inspect::dump();
    EXPECT_LT(std::count(groups.begin(), groups.end(), '\n'), 60) << groups;
    EXPECT_NE(groups.find(all), std::string::npos) << groups;
    EXPECT_NE(groups.find("waits for a manual_reset_event at " + address_text(&go)), std::string::npos) << groups;
    const std::string tree = inspect::dump({.format = inspect::format::tree, .limit = std::size_t{1} << 26});
    EXPECT_EQ(std::count(tree.begin(), tree.end(), '\n'), depth + 3);
    const std::string some = inspect::dump({.format = inspect::format::tree});
    EXPECT_LE(some.size(), 64 * 1024U);
    EXPECT_NE(some.find(" more\n"), std::string::npos);
    go.set();
    root.join();
}

coflux::fork<void, pool> stuck(environment&, std::atomic<int>* at) {
    auto&& here = co_await coflux::context();
    (void)here;
    ++*at;
    while (*at != 0) std::this_thread::yield();
}
coflux::fork<void, pool> queued(environment&) {
    co_return;
}
coflux::task<void, pool> makes_stuck(environment&, std::atomic<int>* at) {
    auto&& here = co_await coflux::context();
    queued(here).attach();
    stuck(here, at).attach();
    stuck(here, at).attach();
    co_return;
}

TEST(dump, works_while_all_workers_are_stuck) {
    thread_pool_executor executor{2};
    auto env = coflux::make_environment(executor);
    std::atomic<int> at{0};
    auto root = makes_stuck(env, &at);
    while (at != 2) std::this_thread::yield();
    const json now = dump_now();
    const auto found = in(now, "stuck");
    ASSERT_EQ(found.size(), 2U) << now;
    std::set<int> workers;
    for (const json& c : found) {
        EXPECT_EQ(c.at("state"), "running");
        workers.insert(c.at("worker").get<int>());
    }
    EXPECT_EQ(workers.size(), 2U);
    const std::string groups = inspect::dump();
    EXPECT_NE(groups.find("\n2 coroutines: runs on a worker\n"), std::string::npos) << groups;
    at = 0;
    root.join();
}

/// Sends a signal from inside an allocation: the handler may need neither the heap nor a lock.
class signalling_resource final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        std::raise(SIGUSR1);
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept override {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};
int in_handler = -1;
std::atomic<int> handled{0};

TEST(dump, works_in_the_handler_of_a_signal_and_takes_no_memory_of_the_pool) {
    thread_pool_executor executor{2};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = all_of_them(env, &t);
    wait_until_suspended(t, noted);
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    in_handler = fileno(file);
    const auto before = std::signal(SIGUSR1, [](int) {
        if (inspect::dump_to(in_handler, {.format = inspect::format::json})) ++handled;
    });
    signalling_resource signals;
    const coflux::frame_pool_stats slabs = coflux::frame_pool::shared().stats();
    void* const block = signals.allocate(16);
    EXPECT_EQ(coflux::frame_pool::shared().stats().slabs_acquired, slabs.slabs_acquired);
    signals.deallocate(block, 16);
    std::signal(SIGUSR1, before);
    EXPECT_EQ(handled, 1);
    std::string text(std::size_t{1} << 17, '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    check_all(json::parse(text), t);
    end(env, t, root);
}

coflux::fork<void, pool> has_large_frame(environment&, things* t) {
    char much[10'000] = {};
    t->note("has_large_frame", __LINE__ + 1);
    co_await t->manual.wait();
    EXPECT_EQ(much[t->arrived.load()], 0);
}
coflux::task<void, pool> makes_large_frames(environment&, things* t, int n) {
    auto&& here = co_await coflux::context();
    char much[5'000] = {};
    for (int i = 0; i < n; ++i) has_large_frame(here, t).attach();
    co_await t->latch.wait();
    EXPECT_EQ(much[t->arrived.load()], 0);
}

TEST(dump, has_coroutines_whose_frames_are_larger_than_any_block_of_a_slab) {
    thread_pool_executor executor{2};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = makes_large_frames(env, &t, 20);
    wait_until_suspended(t, 20);
    const json now = dump_now();
    const auto found = in(now, "has_large_frame");
    EXPECT_EQ(found.size(), 20U) << inspect::dump();
    for (const json& c : found) {
        EXPECT_EQ(c.at("state"), "waits");
        EXPECT_EQ(c.at("line"), t.line_of("has_large_frame"));
        EXPECT_GT(c.at("bytes"), 10'000);
        EXPECT_TRUE(with_id(now, c.at("parent")).at("function").get<std::string>().ends_with("makes_large_frames"));
    }
    t.manual.set();
    while (!in(dump_now(), "has_large_frame").empty()) std::this_thread::yield();
    t.latch.count_down();
    root.join();
}

coflux::fork<void, pool> holds(environment&, things* t) {
    const auto guard = co_await t->mutex.lock();
    ++t->arrived;
    co_await t->automatic.wait();
}
coflux::task<void, pool> in_a_row(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto first = co_await t->mutex.lock();
    holds(here, t).attach();
    holds(here, t).attach();
    co_await t->manual.wait();
    first.unlock();
    t->note("in_a_row", __LINE__ + 1);
    co_await t->latch.wait();
}

TEST(dump, says_who_holds_a_mutex_after_each_hand_over) {
    thread_pool_executor executor{1};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = in_a_row(env, &t);
    const auto holders = [] {
        std::vector<std::string> found;
        const json now = dump_now();
        for (const json& c : in(now, "holds")) {
            if (c.contains("holder")) found.push_back(with_id(now, c.at("holder")).at("function").get<std::string>());
        }
        return found;
    };
    while (holders().size() != 2) std::this_thread::yield();
    for (const std::string& name : holders()) EXPECT_TRUE(name.ends_with("in_a_row")) << name;
    t.manual.set();
    wait_until_suspended(t, 2);
    const std::vector<std::string> after = holders();
    EXPECT_EQ(after.size(), 1U) << inspect::dump();
    for (const std::string& name : after) EXPECT_TRUE(name.ends_with("holds")) << name;
    t.latch.count_down();
    while (t.arrived < 3) {
        t.automatic.set();
        std::this_thread::yield();
    }
    t.automatic.set();
    root.join();
}

coflux::fork<void, pool> waits_for(environment&, things* t) {
    t->note("waits_for", __LINE__ + 1);
    co_await t->manual.wait();
}
coflux::task<void, pool> wakes_late(environment&, things* t, std::atomic<int>* at) {
    auto&& here = co_await coflux::context();
    waits_for(here, t).attach();
    while (t->arrived.load() == 0) co_await coflux::yield();
    stuck(here, at).attach();
}

TEST(dump, does_not_show_a_coroutine_that_was_woken_in_its_old_wait) {
    thread_pool_executor executor{1};
    auto env = coflux::make_environment(executor);
    things t;
    std::atomic<int> at{0};
    auto root = wakes_late(env, &t, &at);
    while (at != 1) std::this_thread::yield();
    json now = dump_now();
    ASSERT_EQ(in(now, "waits_for").size(), 1U) << now;
    EXPECT_EQ(in(now, "waits_for").front().at("state"), "waits");
    t.manual.set();
    now = dump_now();
    ASSERT_EQ(in(now, "waits_for").size(), 1U) << now;
    EXPECT_EQ(in(now, "waits_for").front().at("state"), "ready");
    at = 0;
    root.join();
}

coflux::fork<void, pool> fails(environment&) {
    throw std::runtime_error("on purpose");
    co_return;
}
coflux::task<void, pool> keeps_failed(environment&, things* t) {
    auto&& here = co_await coflux::context();
    auto failed = fails(here);
    t->note("keeps_failed", __LINE__ + 1);
    co_await t->manual.wait();
    try {
        co_await std::move(failed);
    } catch (const std::runtime_error&) {}
}

TEST(dump, says_that_a_place_is_not_known_where_an_error_is_kept_instead) {
    thread_pool_executor executor{1};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = keeps_failed(env, &t);
    wait_until_suspended(t, 1);
    const json now = dump_now();
    EXPECT_EQ(now.at("count"), 2);
    std::size_t without_place = 0;
    for (const json& c : now.at("coroutines")) without_place += c.contains("line") ? 0 : 1;
    EXPECT_EQ(without_place, 1U) << now;
    t.manual.set();
    root.join();
}

TEST(dump, names_its_members_as_the_docs_say) {
    thread_pool_executor executor{2};
    auto env = coflux::make_environment(executor);
    things t;
    auto root = all_of_them(env, &t);
    wait_until_suspended(t, noted);
    const json now = dump_now();
    const std::set<std::string> top{"version", "count", "moving", "coroutines", "left_out"};
    for (const auto& [name, value] : now.items()) EXPECT_TRUE(top.contains(name)) << name;
    const std::set<std::string> states{"ready", "running", "waits",     "awaits",   "joins",
                                       "ended", "foreign", "generator", "unawaited"};
    for (const json& c : now.at("coroutines")) {
        EXPECT_TRUE(c.at("id").is_string());
        EXPECT_TRUE(c.at("parent").is_string() || c.at("parent").is_null());
        EXPECT_TRUE(states.contains(c.at("state").get<std::string>()));
        EXPECT_TRUE(c.at("call").is_boolean());
        EXPECT_TRUE(c.at("moving").is_boolean());
        EXPECT_TRUE(c.at("bytes").is_number_unsigned());
        EXPECT_TRUE(c.at("children").is_number_unsigned());
        EXPECT_EQ(c.contains("waits_for"), c.at("state") == "waits");
        EXPECT_EQ(c.contains("awaits"), c.at("state") == "awaits");
        EXPECT_EQ(c.contains("awaited"), c.at("state") == "awaits");
        EXPECT_EQ(c.contains("worker"), c.at("state") == "running");
        EXPECT_TRUE(!c.contains("holder") || (c.at("state") == "waits" && c.at("holder").is_string()));
    }
    const std::string little = inspect::dump({.format = inspect::format::json, .limit = 2000});
    EXPECT_LE(little.size(), 2000U);
    const json some = json::parse(little);
    EXPECT_EQ(some.at("left_out").get<std::size_t>() + some.at("coroutines").size(), now.at("count"));
    for (const auto format : {inspect::format::grouped, inspect::format::tree, inspect::format::json}) {
        const std::string least = inspect::dump({.format = format, .limit = 0});
        EXPECT_LE(least.size(), 192U) << least;
    }
    end(env, t, root);
}

}  // namespace
