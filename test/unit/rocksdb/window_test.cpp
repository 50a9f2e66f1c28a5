// Windows whose panes are in a database: what comes out is what comes out of memory.
#include <coflux/rocksdb/database.hpp>

#include <gtest/gtest.h>

#include <rocksdb/db.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "paced_source.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace rocksdb = coflux::rocksdb;
namespace stream = coflux::stream;
using coflux_test::temporary_folder;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using ended = stream::windowed<std::string, std::vector<int>>;

struct event {
    std::string key;
    stream::event_time time;
    int n;
    template <typename A>
    void fields(A& all) {
        all(key, time, n);
    }
};
// From before the epoch on, and up to 10 ms back, which is within the lateness.
std::vector<event> events(int count) {
    std::minstd_rand random(3);
    std::vector<event> all;
    std::int64_t now = -100;
    for (int i = 0; i != count; ++i) {
        now += static_cast<std::int64_t>(random() % 2);
        all.push_back({"key " + std::to_string(random() % 50),
                       stream::event_time(std::chrono::milliseconds(now - static_cast<std::int64_t>(random() % 11))),
                       i});
    }
    return all;
}

template <typename Window, typename Sink, typename Delivery = stream::at_least_once_t>
coflux::task<void, pool> run_windows(coflux::environment&, rocksdb::database state, std::vector<event> all,
                                     Window window, coflux::borrowed<Sink> sink, std::size_t workers,
                                     Delivery delivery = {}) {
    auto& here = co_await coflux::context();
    stream::job_control control;
    coflux_test::paced_source source(std::move(all), 200, control);
    (void)co_await stream::run(here,
                               stream::from(source) | stream::event_times(&event::time) | stream::by_key(&event::key) |
                                   std::move(window) | stream::to(*sink),
                               stream::job<Delivery, stream::fail_job, rocksdb::database>{.workers = workers,
                                                                                          .slots = 8,
                                                                                          .max_batch = 50,
                                                                                          .commit_every = 1ms,
                                                                                          .lateness = 10ms,
                                                                                          .delivery = delivery,
                                                                                          .state = state,
                                                                                          .control = &control});
}
template <typename Window, typename Sink, typename Delivery = stream::at_least_once_t>
void run(const rocksdb::database& state, std::vector<event> all, Window window, Sink& sink, std::size_t workers = 2,
         Delivery delivery = {}) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    run_windows(env, state, std::move(all), std::move(window), coflux::borrowed(sink), workers, delivery).get();
}
std::vector<ended> sorted(std::vector<ended> all) {
    std::ranges::sort(all, {}, [](const ended& w) { return std::pair(w.key, w.begin); });
    return all;
}
std::size_t keys_in(const std::string& path) {
    std::size_t n = 0;
    ::rocksdb::DB* files = nullptr;
    if (!::rocksdb::DB::Open({}, path, &files).ok()) return SIZE_MAX;
    {
        const std::unique_ptr<::rocksdb::Iterator> all(files->NewIterator({}));
        for (all->Seek("t"); all->Valid() && all->key()[0] == 't'; all->Next()) ++n;
    }
    delete files;
    return n;
}
struct number_of {
    // The values in their order: their merges do not commute.
    using state = std::vector<int>;
    void add(state& s, const event& e) const { s.push_back(e.n); }
    void merge(state& s, const state& later) const { s.insert(s.end(), later.begin(), later.end()); }
    [[nodiscard]] state result(state s) const { return s; }
};

std::vector<ended> in_memory(const std::vector<event>& all, auto spec) {
    const temporary_folder at;
    const rocksdb::database state(at.path(), "windows");
    stream::memory_sink<ended> sink;
    run(state, all, stream::window(spec, number_of()), sink);
    return sorted(sink.values());
}

TEST(rocksdb_window, gives_what_a_window_in_memory_gives_whatever_is_cached) {
    const std::vector<event> all = events(3'000);
    for (const auto& spec : {stream::tumbling(20ms), stream::sliding(30ms, 10ms), stream::sliding(20ms, 15ms)}) {
        const auto expected = in_memory(all, spec);
        for (const std::size_t cached : {1U, 100U, 100'000U}) {
            const temporary_folder at;
            rocksdb::database state(at.path(), "windows", {.cached_keys = cached});
            stream::memory_sink<ended> sink;
            run(state, all, stream::window(spec, number_of(), state.table("w")), sink);
            EXPECT_TRUE(sorted(sink.values()) == expected) << cached;
        }
    }
}

TEST(rocksdb_window, goes_on_where_a_run_was_drained_with_windows_open) {
    const std::vector<event> all = events(3'000);
    const auto expected = in_memory(all, stream::sliding(30ms, 10ms));
    const temporary_folder at;
    const rocksdb::database state(at.path(), "windows", {.cached_keys = 10});
    std::vector<ended> outputs;
    /// Drains its job behind a number of records.
    struct drained : stream::memory_source<event> {
        stream::job_control& control;
        std::size_t left;
        drained(std::vector<event> values, std::size_t n, stream::job_control& of)
            : stream::memory_source<event>(std::move(values)),
              control(of),
              left(n) {}
        coflux::call<bool> read(coflux::environment&, stream::batch<event>& into, std::size_t) {
            auto& here = co_await coflux::context();
            if (left == 0) {
                control.drain();
                co_await coflux::sleep_for(10s);  // the drain ends the wait
            }
            --left;
            co_return co_await stream::memory_source<event>::read(here, into, 1);
        }
    };
    const auto part = [&](std::size_t n) {
        pool threads{2};
        auto env = coflux::make_environment(threads);
        constexpr auto root = [](coflux::environment&, rocksdb::database of, coflux::borrowed<drained> from,
                                 coflux::borrowed<stream::memory_sink<ended>> to) -> coflux::task<void, pool> {
            auto& here = co_await coflux::context();
            (void)co_await stream::run(
                here,
                stream::from(*from) | stream::event_times(&event::time) | stream::by_key(&event::key) |
                    stream::window(stream::sliding(30ms, 10ms), number_of(), of.table("w")) | stream::to(*to),
                stream::job<stream::at_least_once_t, stream::fail_job, rocksdb::database>{
                    .workers = 2, .slots = 8, .lateness = 10ms, .state = of, .control = &from->control});
        };
        stream::job_control control;
        drained source(all, n, control);
        stream::memory_sink<ended> sink;
        root(env, state, coflux::borrowed(source), coflux::borrowed(sink)).get();
        outputs.insert(outputs.end(), sink.values().begin(), sink.values().end());
    };
    for (int i = 0; i != 4; ++i) part(500);
    stream::memory_sink<ended> sink;
    run(state, all, stream::window(stream::sliding(30ms, 10ms), number_of(), state.table("w")), sink);
    outputs.insert(outputs.end(), sink.values().begin(), sink.values().end());
    EXPECT_TRUE(sorted(outputs) == expected);
}

TEST(rocksdb_window, leaves_nothing_of_a_pane_whose_windows_have_ended) {
    const temporary_folder at;
    rocksdb::database state(at.path(), "windows", {.cached_keys = 10});
    stream::memory_sink<ended> sink;
    run(state, events(2'000), stream::window(stream::sliding(30ms, 10ms), number_of(), state.table("w")), sink);
    EXPECT_FALSE(sink.values().empty());
    const auto close = [](coflux::environment&, coflux::borrowed<rocksdb::database> of) -> coflux::task<void, pool> {
        auto& here = co_await coflux::context();
        co_await of->close(here);
    };
    pool threads{1};
    auto env = coflux::make_environment(threads);
    close(env, coflux::borrowed(state)).get();
    EXPECT_EQ(keys_in(at.path()), 0U);
}

/// Its commit number `left` throws, before or behind the point from which it is one.
struct failing_sink : stream::memory_sink<ended> {
    int left = -1;
    bool is_done_first = false;

    coflux::call<void> commit(coflux::environment&, const stream::positions& done) {
        auto& here = co_await coflux::context();
        const bool fails = left >= 0 && left-- == 0;
        if (!fails || is_done_first) co_await stream::memory_sink<ended>::commit(here, done);
        if (fails) throw std::runtime_error("the commit has failed");
    }
};

TEST(rocksdb_window, gives_each_result_once_wherever_the_commit_of_the_sink_fails) {
    const std::vector<event> all = events(4'000);
    const auto expected = in_memory(all, stream::sliding(30ms, 10ms));
    for (const bool is_done_first : {false, true}) {
        const temporary_folder at;
        const rocksdb::database state(at.path(), "windows", {.cached_keys = 10});
        failing_sink sink;
        sink.is_done_first = is_done_first;
        const auto try_once = [&] {
            run(state, all, stream::window(stream::sliding(30ms, 10ms), number_of(), state.table("w")), sink, 2,
                stream::exactly_once);
        };
        for (int i = 0; i != 6; ++i) {
            sink.left = i / 2;  // the first commit, too
            EXPECT_THROW(try_once(), std::runtime_error) << i;
        }
        sink.left = -1;
        try_once();
        EXPECT_TRUE(sorted(sink.values()) == expected);
    }
}

TEST(rocksdb_window, gives_late_values_as_outputs) {
    const temporary_folder at;
    const rocksdb::database state(at.path(), "windows", {.cached_keys = 1});
    std::vector<event> all;
    for (int i = 0; i != 500; ++i) all.push_back({"a", stream::event_time(std::chrono::milliseconds(i)), i});
    all.push_back({"a", stream::event_time(3ms), 500});
    stream::memory_sink<std::variant<ended, stream::late_record<event>>> sink;
    run(state, all,
        stream::window(stream::tumbling(10ms), number_of(), state.table("w"),
                       stream::window_options{.emit = stream::emit_final{}, .late = stream::late_records{}}),
        sink);
    std::size_t late = 0;
    for (const auto& each : sink.values()) late += each.index();
    EXPECT_EQ(late, 1U);
    EXPECT_EQ(sink.values().size(), 51U);
}

}  // namespace
