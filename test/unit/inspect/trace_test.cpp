#include <coflux/inspect/trace.hpp>

#include <coflux/coflux.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "inspect/trace/trace_ring.hpp"
#include "inspect/trace/trace_rings.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/perfetto.hpp"

namespace {

namespace inspect = coflux::inspect;

using coflux::detail::trace_event;
using coflux::detail::trace_kind;
using coflux::detail::trace_ring;
using coflux::test::perfetto_event;
using coflux::test::perfetto_trace;
using pool = coflux::thread_pool_executor;
using json = nlohmann::json;

coflux::thread_pool_options traced(std::string name, coflux::trace_level level, std::size_t events = 4096) {
    return {.threads = 1, .name = std::move(name), .trace = level, .trace_events = events};
}

/// A text without the namespace that this file may have where it is compiled with others.
std::string plain(std::string text) {
    constexpr std::string_view here = "trace_test_cpp::";
    for (std::size_t at; (at = text.find(here)) != std::string::npos;) text.erase(at, here.size());
    return text;
}

/// The trace of a pool of one worker and that name. The worker's track is found by its name.
struct of_pool {
    explicit of_pool(const std::string& name, const inspect::trace_options& options = {})
        : all(coflux::test::read_perfetto(inspect::trace(options))) {
        for (perfetto_event& e : all.events) e.name = plain(e.name);
        for (const auto& [uuid, t] : all.tracks) {
            if (t.name == name + "-0") track = uuid;
        }
    }
    std::vector<perfetto_event> named(const std::string& name) const {
        std::vector<perfetto_event> found;
        for (const perfetto_event& e : all.events) {
            if (track != 0 && e.track == track && e.name == name) found.push_back(e);
        }
        return found;
    }
    /// The events at which an arrow that begins in `from` ends.
    std::vector<perfetto_event> led_to(const perfetto_event& from) const {
        std::vector<perfetto_event> found;
        for (const std::uint64_t flow : from.flows) {
            for (const perfetto_event& e : all.events) {
                if (std::count(e.ended_flows.begin(), e.ended_flows.end(), flow) != 0) found.push_back(e);
            }
        }
        return found;
    }

    perfetto_trace all;
    std::uint64_t track = 0;
};

coflux::fork<int, pool> traced_child(coflux::environment&, int n) {
    co_await coflux::yield();
    co_return n;
}
coflux::task<int, pool> traced_parent(coflux::environment&, int children) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 0; i < children; ++i) sum += co_await traced_child(here, i);
    co_return sum;
}
coflux::fork<int, pool> traced_receiver(coflux::environment&, coflux::channel<int[1]>* from) {
    co_return (co_await from->receive()).value_or(-1);
}
coflux::task<int, pool> traced_sender(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::channel<int[1]> numbers;
    auto receiver = traced_receiver(here, &numbers);
    co_await coflux::yield();        // the receiver waits
    (void)co_await numbers.send(7);  // it is not closed
    co_return co_await std::move(receiver);
}
coflux::task<void, pool> traced_spans(coflux::environment&) {
    const inspect::span outer("an outer span");
    co_await coflux::yield();
    const inspect::span inner("an inner span");
    co_await coflux::yield();
}

// --- the ring --------------------------------------------------------------------------------------------------------

struct small_ring {
    explicit small_ring(std::size_t size)
        : cells(std::make_unique<trace_ring::cell[]>(size)),
          ring(cells.get(), size) {}
    std::vector<trace_event> copy() {
        std::vector<trace_event> events(ring.size());
        events.resize(ring.copy(events.data(), owner));
        return events;
    }
    std::unique_ptr<trace_ring::cell[]> cells;
    trace_ring ring;
    trace_ring::owner owner{};
};

TEST(trace_ring, drops_the_oldest_and_counts_what_it_dropped) {
    small_ring r(8);
    EXPECT_TRUE(r.copy().empty());
    r.ring.begin("a thread", 17, 100);
    for (std::uint64_t i = 1; i <= 20; ++i) r.ring.add(100 + i, trace_kind::runs, i, i, i);
    const std::vector<trace_event> events = r.copy();
    ASSERT_EQ(events.size(), 7U);  // the place of the eighth may be being written
    for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].argument(), 14 + i);
    EXPECT_EQ(r.owner.dropped, 21 - events.size());
    EXPECT_STREQ(r.owner.name, "a thread");
    EXPECT_EQ(r.owner.thread, 17U);
}

TEST(trace_ring, shows_nothing_of_the_owner_before) {
    small_ring r(8);
    r.ring.begin("the first", 1, 100);
    for (std::uint64_t i = 0; i < 20; ++i) r.ring.add(i, trace_kind::runs);
    r.ring.begin("the second", 2, 200);
    const std::vector<trace_event> events = r.copy();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind(), trace_kind::begins);
    EXPECT_EQ(r.owner.dropped, 0U);
    EXPECT_STREQ(r.owner.name, "the second");
}

TEST(trace_ring, is_copied_whole_while_its_thread_writes) {
    small_ring r(16);
    r.ring.begin("a thread", 1, 0);
    std::atomic<bool> ends{false};
    std::thread writer([&] {
        for (std::uint64_t i = 1; !ends.load(std::memory_order_relaxed); ++i) r.ring.add(i, trace_kind::runs, i, i, i);
    });
    std::uint64_t last = 0;
    for (std::size_t n = 0; n < coflux_test::race_rounds; ++n) {
        const std::vector<trace_event> events = r.copy();
        for (std::size_t i = 0; i < events.size(); ++i) {
            const trace_event& e = events[i];
            ASSERT_EQ(e.argument(), e.cycles);
            ASSERT_EQ(e.first, e.cycles);
            ASSERT_EQ(e.second, e.cycles);
            if (i == 0) continue;
            ASSERT_EQ(e.cycles, events[i - 1].cycles + 1);
        }
        if (events.empty()) continue;
        ASSERT_GE(events.back().cycles, last);
        last = events.back().cycles;
    }
    ends = true;
    writer.join();
}

// --- what is seen ----------------------------------------------------------------------------------------------------

TEST(trace, shows_which_coroutine_a_worker_ran_and_where_it_came_from) {
    pool workers(traced("runs", coflux::trace_level::scheduling));
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(traced_parent(env, 3).get(), 3);
    const of_pool seen("runs");
    const auto parents = seen.named("traced_parent");
    ASSERT_FALSE(parents.empty());
    EXPECT_EQ(parents[0].type, perfetto_event::kind::slice_begin);
    EXPECT_EQ(parents[0].annotations.at("from"), "outside");
    EXPECT_NE(parents[0].annotations.at("at").find("trace_test.cpp:"), std::string::npos);
    const auto children = seen.named("traced_child");
    EXPECT_EQ(children.size(), 3U);  // each is resumed once, after its yield
    EXPECT_TRUE(seen.named("forks traced_child").empty());
    EXPECT_EQ(seen.all.tracks.at(seen.track).process, seen.all.tracks.at(1).process);
    EXPECT_NE(seen.all.tracks.at(seen.track).thread, 0U);
}

TEST(trace, of_a_pool_that_keeps_none_is_not_there) {
    pool workers(coflux::thread_pool_options{.threads = 1, .name = "untraced"});
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(traced_parent(env, 3).get(), 3);
    EXPECT_EQ(of_pool("untraced").track, 0U);
}

TEST(trace, is_there_when_its_pool_has_ended) {
    {
        pool workers(traced("ended", coflux::trace_level::scheduling));
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(traced_parent(env, 3).get(), 3);
    }
    EXPECT_EQ(of_pool("ended").named("traced_child").size(), 3U);
}

TEST(trace, keeps_what_one_worker_of_a_pool_did_from_another_that_begins_when_it_has_ended) {
    const coflux::detail::reserved_ring first(64);
    const coflux::detail::reserved_ring second(64);
    ASSERT_NE(first.get(), nullptr);
    EXPECT_NE(first.get(), second.get());
    std::thread([&] { const coflux::detail::traced_thread ends(first.get(), "first"); }).join();
    std::thread([&] { const coflux::detail::traced_thread begins(second.get(), "second"); }).join();
    trace_ring::owner owner;
    std::array<trace_event, 64> events;
    EXPECT_EQ(first.get()->copy(events.data(), owner), 2U);
    EXPECT_EQ(std::string_view(owner.name), "first");
}

TEST(trace, closes_each_slice_before_the_next_of_its_thread_begins) {
    {
        pool workers(traced("closed", coflux::trace_level::all));
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(traced_parent(env, 50).get(), 50 * 49 / 2);
    }
    const of_pool seen("closed");
    std::vector<perfetto_event> slices;
    for (const perfetto_event& e : seen.all.events) {
        if (e.track == seen.track && e.type != perfetto_event::kind::instant) slices.push_back(e);
    }
    EXPECT_GT(slices.size(), 100U);
    // An end comes before the begin at the same moment.
    std::sort(slices.begin(), slices.end(),
              [](const auto& a, const auto& b) { return std::pair(a.time, b.type) < std::pair(b.time, a.type); });
    int open = 0;
    for (const perfetto_event& e : slices) {
        open += e.type == perfetto_event::kind::slice_begin ? 1 : -1;
        ASSERT_GE(open, 0);
        ASSERT_LE(open, 1) << e.name;
    }
    EXPECT_EQ(open, 0);
}

TEST(trace, has_an_arrow_from_each_fork_to_its_start) {
    {
        pool workers(traced("forks", coflux::trace_level::all));
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(traced_parent(env, 100).get(), 100 * 99 / 2);
    }
    const of_pool seen("forks");
    const auto forks = seen.named("forks traced_child");
    ASSERT_EQ(forks.size(), 100U);
    for (const perfetto_event& f : forks) {
        const auto to = seen.led_to(f);
        ASSERT_EQ(to.size(), 1U);
        // In the await of its maker, unless the round of that was over.
        EXPECT_TRUE(to[0].name == "begins traced_child" || to[0].name == "traced_child") << to[0].name;
        EXPECT_GE(to[0].time, f.time);
    }
}

TEST(trace, has_an_arrow_from_a_send_to_the_receive) {
    {
        pool workers(traced("sends", coflux::trace_level::all));
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(traced_sender(env).get(), 7);
    }
    const of_pool seen("sends");
    const auto sends = seen.named("wakes traced_receiver");
    ASSERT_FALSE(sends.empty());
    const auto to = seen.led_to(sends.back());
    ASSERT_EQ(to.size(), 1U);
    EXPECT_EQ(to[0].name, "traced_receiver");
    EXPECT_NE(to[0].annotations.at("at").find("trace_test.cpp:"), std::string::npos);
}

TEST(trace, of_all_runs_the_same_as_no_trace) {
    constexpr int children = 2000;  // more than a round
    pool workers(traced("same", coflux::trace_level::all, 64));
    auto env = coflux::make_environment(workers);
    EXPECT_EQ(traced_parent(env, children).get(), children * (children - 1) / 2);
    const of_pool seen("same");
    EXPECT_TRUE(seen.all.dropped);
    EXPECT_FALSE(seen.all.events.empty());
}

TEST(trace, shows_spans_beside_the_worker_that_they_ended_on) {
    {
        pool workers(traced("spans", coflux::trace_level::scheduling));
        auto env = coflux::make_environment(workers);
        traced_spans(env).join();
        const inspect::span on_no_worker("a span of no worker");
    }
    const of_pool seen("spans");
    std::map<std::string, std::vector<perfetto_event>> spans;
    for (const perfetto_event& e : seen.all.events) {
        const std::string& track = seen.all.tracks.at(e.track).name;
        if (track.ends_with(" span")) spans[track].push_back(e);
    }
    ASSERT_EQ(spans["an outer span"].size(), 2U);
    ASSERT_EQ(spans["an inner span"].size(), 2U);
    EXPECT_LT(spans["an outer span"][0].time, spans["an inner span"][0].time);
    EXPECT_LE(spans["an inner span"][1].time, spans["an outer span"][1].time);
    for (const auto& [uuid, t] : seen.all.tracks) EXPECT_NE(t.name, "a span of no worker");
}

TEST(trace, leaves_out_what_is_older_than_was_asked_for) {
    {
        pool workers(traced("old", coflux::trace_level::scheduling));
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(traced_parent(env, 3).get(), 3);
    }
    EXPECT_EQ(of_pool("old", {.last = std::chrono::hours(1)}).named("traced_child").size(), 3U);
    EXPECT_TRUE(of_pool("old", {.last = std::chrono::nanoseconds(0)}).named("traced_child").empty());
}

// --- Chrome's format -------------------------------------------------------------------------------------------------

TEST(trace, in_the_format_of_chrome_has_the_same) {
    {
        pool workers(traced("chrome", coflux::trace_level::all));
        auto env = coflux::make_environment(workers);
        EXPECT_EQ(traced_sender(env).get(), 7);
        traced_spans(env).join();
    }
    const json trace = json::parse(plain(inspect::trace({.format = inspect::trace_format::chrome})));
    std::map<std::string, std::vector<json>> by_phase;
    std::uint64_t thread = 0;
    for (const json& e : trace.at("traceEvents")) {
        if (e.at("ph") == "M" && e.at("args").at("name") == "chrome-0") thread = e.at("tid").get<std::uint64_t>();
    }
    ASSERT_NE(thread, 0U);
    for (const json& e : trace.at("traceEvents")) {
        if (e.at("tid") == thread) by_phase[e.at("ph").get<std::string>()].push_back(e);
    }
    const auto has = [&](const char* phase, const std::string& name) {
        return std::any_of(by_phase[phase].begin(), by_phase[phase].end(),
                           [&](const json& e) { return e.at("name") == name; });
    };
    EXPECT_TRUE(has("X", "traced_receiver"));
    EXPECT_TRUE(has("i", "wakes traced_receiver"));
    EXPECT_TRUE(has("b", "an outer span"));
    EXPECT_TRUE(has("e", "an outer span"));
    for (const json& e : by_phase["X"]) EXPECT_GE(e.at("dur").get<double>(), 0);
    std::map<std::uint64_t, double> begun;
    for (const json& e : by_phase["s"]) begun[e.at("id").get<std::uint64_t>()] = e.at("ts").get<double>();
    std::size_t arrows = 0;
    for (const json& e : by_phase["f"]) {
        const auto from = begun.find(e.at("id").get<std::uint64_t>());
        ASSERT_NE(from, begun.end());
        EXPECT_LE(from->second, e.at("ts").get<double>());
        ++arrows;
    }
    EXPECT_EQ(arrows, begun.size());
    EXPECT_GT(arrows, 0U);
    EXPECT_TRUE(trace.at("otherData").contains("dropped_events"));
}

// --- what is not the library's ---------------------------------------------------------------------------------------

/// A coroutine of another library, which has no control in front of its frame.
struct foreign_coroutine {
    struct promise_type {
        foreign_coroutine get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<> handle;
};
foreign_coroutine sets(std::atomic<bool>& flag) {
    flag = true;
    co_return;
}

TEST(trace, shows_a_coroutine_of_another_library_without_its_name) {
    {
        pool workers(traced("foreign", coflux::trace_level::all));
        std::atomic<bool> ran{false};
        workers.execute(sets(ran).handle);
        while (!ran) std::this_thread::yield();
    }
    EXPECT_EQ(of_pool("foreign").named("a coroutine").size(), 1U);
}

// --- threads and processes -------------------------------------------------------------------------------------------

TEST(trace, is_written_while_the_workers_go_on) {
    pool workers(coflux::thread_pool_options{
        .threads = 2, .name = "goes on", .trace = coflux::trace_level::all, .trace_events = 256});
    auto env = coflux::make_environment(workers);
    std::atomic<bool> ends{false};
    std::thread reader([&] {
        while (!ends) (void)coflux::test::read_perfetto(inspect::trace());
    });
    for (int i = 0; i < 50; ++i) EXPECT_EQ(traced_parent(env, 100).get(), 100 * 99 / 2);
    ends = true;
    reader.join();
}

class trace_death : public testing::Test {
protected:
    // The pool's threads do not survive a fork of the process that does not exec.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

coflux::task<void, pool> fails_a_check(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto child = traced_child(here, 1);
    (void)co_await std::move(child);
    (void)co_await std::move(child);
}
void fails_while_it_is_traced() {
    coflux_test::die_rather_than_hang();
    pool workers(traced("last", coflux::trace_level::scheduling));
    auto env = coflux::make_environment(workers);
    fails_a_check(env).join();
}

TEST_F(trace_death, of_a_check_that_fails_has_what_the_workers_did_last) {
    EXPECT_DEATH(fails_while_it_is_traced(),
                 "in [a-z_:]*fails_a_check at [^\n]*\n  the last that the traced workers did:\n(.*\n)*"
                 "    [0-9.]+ ms ago, last-0: [a-z_:]*traced_child at [^\n]*trace_test\\.cpp:[0-9]+, for [0-9.]+ ms\n");
}

}  // namespace
