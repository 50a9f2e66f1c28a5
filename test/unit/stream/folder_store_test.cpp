// Checkpoints in a folder: what comes back, what is told of files that were changed, and what a crash leaves.
#include <coflux/stream/folder_store.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_disk.hpp>

#include "support/iterations.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace stream = coflux::stream;
using coflux::borrowed;
using coflux::environment;
using coflux::testing::disk_call;
using coflux::testing::explore;
using coflux::testing::sim_disk;
using coflux::testing::sim_executor;
using coflux::testing::simulation;
using stream::checkpoint;
using stream::folder_store;
using stream::folder_store_options;
using sim_task = coflux::task<void, sim_executor>;

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto raw = std::as_bytes(std::span(text));
    return {raw.begin(), raw.end()};
}
std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// Slot i of region 1 has the text i.
checkpoint made(std::int64_t at, const std::vector<std::string>& texts) {
    checkpoint c{4, {{"p", at}}, {}};
    for (std::uint32_t i = 0; i != texts.size(); ++i) c.states.push_back({1, i, bytes_of(texts[i])});
    return c;
}
std::string shown(const std::optional<checkpoint>& c) {
    if (!c) return "none";
    std::string text;
    for (const stream::position& p : c->at) text += p.partition + std::to_string(p.next);
    for (const stream::slot_state& s : c->states) {
        text += " " + std::to_string(s.region) + "." + std::to_string(s.slot) + "=" + text_of(s.bytes);
    }
    return text;
}

/// A simulated disk with a folder.
struct one_folder {
    explicit one_folder(coflux::testing::sim_disk_options options = {}) : disk(on, std::move(options)) {
        disk.make_directory("/at");
    }
    template <typename Block>
    void run(Block block) {
        [](environment&, borrowed<Block> b) -> sim_task {
            auto& here = co_await coflux::context();
            co_await (*b)(here);
        }(env, coflux::borrowed(block))
                                                   .get();
    }
    void store(folder_store to, const checkpoint& c) {
        run([&](environment& here) -> coflux::call<void> { co_await to.store(here, c); });
    }
    std::string load(folder_store from, const stream::positions* wanted = nullptr) {
        std::string text;
        run([&](environment& here) -> coflux::call<void> { text = shown(co_await from.load(here, wanted)); });
        return text;
    }
    /// The text of the error.
    std::string load_error(const folder_store& from, const stream::positions* wanted = nullptr) {
        try {
            return "loaded " + load(from, wanted);
        } catch (const stream::corrupt_state& e) {
            return e.what();
        }
    }
    [[nodiscard]] std::string file(int number) const { return disk.contents(path(number)).value_or("-"); }
    [[nodiscard]] static std::string path(int number) {
        return "/at/000000000" + std::to_string(number) + ".checkpoint";
    }
    [[nodiscard]] bool has(int number) const { return disk.contents(path(number)).has_value(); }

    coflux::testing::fifo_chooser fifo;
    simulation sim{fifo};
    sim_executor on;
    sim_disk disk;
    decltype(coflux::make_environment(std::declval<sim_executor&>())) env{coflux::make_environment(on)};
};
folder_store store_of(folder_store_options options = {}) {
    return {"/at", "orders", options};
}

TEST(folder_store, has_nothing_in_an_empty_folder) {
    one_folder f;
    EXPECT_EQ(f.load(store_of()), "none");
}

TEST(folder_store, gives_the_last_checkpoint_and_the_one_of_some_positions) {
    one_folder f;
    auto store = store_of();
    f.store(store, made(1, {"a", "b"}));
    f.store(store, made(2, {"a", "c"}));
    EXPECT_EQ(f.load(store_of()), "p2 1.0=a 1.1=c");
    const stream::positions one{{"p", 1}};
    EXPECT_EQ(f.load(store_of(), &one), "p1 1.0=a 1.1=b");
    const stream::positions other{{"p", 3}};
    EXPECT_EQ(f.load(store_of(), &other), "none");
}

TEST(folder_store, keeps_the_slots_count_and_states_of_any_size) {
    one_folder f;
    checkpoint c{64, {{"x", -1}, {"y", 7}}, {{1, 0, {}}, {2, 63, std::vector<std::byte>(3'000'000, std::byte{7})}}};
    f.store(store_of(), c);
    f.run([&](environment& here) -> coflux::call<void> {
        const auto got = co_await store_of().load(here, nullptr);
        EXPECT_TRUE(got.has_value());
        if (!got) co_return;
        EXPECT_EQ(got->slots, 64U);
        EXPECT_EQ(got->at, c.at);
        EXPECT_EQ(got->states.size(), 2U);
        EXPECT_TRUE(got->states[0].bytes.empty());
        EXPECT_EQ(got->states[1].bytes, c.states[1].bytes);
        EXPECT_EQ(got->states[1].slot, 63U);
    });
}

TEST(folder_store, keeps_two_checkpoints_or_as_many_as_it_is_told) {
    one_folder f;
    auto two = store_of({.full_every = 1});
    for (int i = 1; i != 5; ++i) f.store(two, made(i, {std::to_string(i)}));
    EXPECT_FALSE(f.has(1) || f.has(2));
    EXPECT_TRUE(f.has(3) && f.has(4));
    one_folder g;
    auto three = store_of({.keep = 3, .full_every = 1});
    for (int i = 1; i != 5; ++i) g.store(three, made(i, {std::to_string(i)}));
    EXPECT_FALSE(g.has(1));
    EXPECT_TRUE(g.has(2) && g.has(3) && g.has(4));
}

TEST(folder_store, stores_what_has_changed_and_keeps_the_files_that_are_needed) {
    one_folder f;
    auto store = store_of({.full_every = 4});
    const std::string large(1000, 'x');
    f.store(store, made(1, {large, "1"}));
    for (int i = 2; i != 5; ++i) f.store(store, made(i, {large, std::to_string(i)}));
    EXPECT_GT(f.file(1).size(), 1000U);
    EXPECT_FALSE(f.has(2));
    EXPECT_LT(f.file(3).size(), 300U);
    EXPECT_LT(f.file(4).size(), 300U);
    EXPECT_EQ(f.load(store_of()), "p4 1.0=" + large + " 1.1=4");
    f.store(store, made(5, {large, "5"}));
    EXPECT_GT(f.file(5).size(), 1000U) << "each fourth is full";
    EXPECT_TRUE(f.has(1)) << "4 needs it";
    f.store(store, made(6, {large}));
    EXPECT_FALSE(f.has(1));
    EXPECT_EQ(f.load(store_of()), "p6 1.0=" + large) << "a slot that is gone does not come back";
}

TEST(folder_store, begins_each_run_with_a_full_checkpoint) {
    one_folder f;
    f.store(store_of(), made(1, {"a"}));
    auto second = store_of();
    EXPECT_EQ(f.load(second), "p1 1.0=a");
    f.store(second, made(2, {"a"}));
    f.disk.put(one_folder::path(1), "gone");
    EXPECT_EQ(f.load(store_of()), "p2 1.0=a");
}

TEST(folder_store, keeps_what_the_sink_has_committed_through_any_number_of_crashes) {
    one_folder f;
    f.store(store_of(), made(1, {"committed"}));
    const stream::positions committed{{"p", 1}};
    for (int i = 2; i != 9; ++i) {
        auto run = store_of();
        EXPECT_EQ(f.load(run, &committed), "p1 1.0=committed");
        f.store(run, made(i, {"not committed"}));
        EXPECT_TRUE(f.has(1) && f.has(i));
        if (i > 2) EXPECT_FALSE(f.has(i - 1)) << "what was not committed goes";
    }
}

TEST(folder_store, leaves_other_files_alone) {
    one_folder f;
    f.disk.put("/at/notes", "mine");
    f.disk.put("/at/x1.checkpoint", "mine");
    f.disk.put("/at/0000000003.checkpoint.new", "of a run that has ended within a store");
    auto store = store_of();
    for (int i = 1; i != 4; ++i) f.store(store, made(i, {std::to_string(i)}));
    EXPECT_EQ(f.disk.contents("/at/notes"), "mine");
    EXPECT_EQ(f.disk.contents("/at/x1.checkpoint"), "mine");
    EXPECT_FALSE(f.disk.contents("/at/0000000003.checkpoint.new").has_value());
    EXPECT_EQ(f.load(store_of()), "p3 1.0=3");
}

// --- files that were changed -----------------------------------------------------------------------------------------

/// A full checkpoint, and one that needs it.
void fill(one_folder& f) {
    auto store = store_of();
    f.store(store, made(1, {"first", "state"}));
    f.store(store, made(2, {"first", "other"}));
}
bool names(const std::string& error, int number) {
    return error.starts_with("coflux: the checkpoint " + one_folder::path(number) + ", byte ");
}

TEST(folder_store, tells_a_file_that_is_torn_at_any_byte) {
    for (const int torn : {1, 2}) {
        one_folder f;
        fill(f);
        const std::string whole = f.file(torn);
        for (std::size_t n = 0; n != whole.size(); ++n) {
            f.disk.put(one_folder::path(torn), std::string_view(whole).substr(0, n));
            const std::string error = f.load_error(store_of());
            EXPECT_TRUE(names(error, torn)) << n << ": " << error;
        }
        f.disk.put(one_folder::path(torn), whole + "x");
        EXPECT_TRUE(names(f.load_error(store_of()), torn));
    }
}

TEST(folder_store, tells_each_bit_that_was_changed) {
    for (const int changed : {1, 2}) {
        one_folder f;
        fill(f);
        const std::string whole = f.file(changed);
        const std::size_t needed = changed == 2 ? whole.size() : whole.size() - std::string("state").size();
        for (std::size_t bit = 0; bit != 8 * needed; ++bit) {
            std::string now = whole;
            now[bit / 8] = static_cast<char>(now[bit / 8] ^ (1 << bit % 8));
            f.disk.put(one_folder::path(changed), now);
            const std::string error = f.load_error(store_of());
            EXPECT_TRUE(names(error, changed)) << bit << ": " << error;
        }
    }
}

TEST(folder_store, uses_the_one_before_if_it_is_told_so) {
    one_folder f;
    fill(f);
    const std::string whole = f.file(2);
    f.disk.put(one_folder::path(2), whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(names(f.load_error(store_of()), 2));
    auto patient = store_of({.use_older = true});
    EXPECT_EQ(f.load(patient), "p1 1.0=first 1.1=state");
    f.store(patient, made(3, {"next"}));
    EXPECT_EQ(f.load(store_of()), "p3 1.0=next");
    EXPECT_FALSE(f.has(2));
}

TEST(folder_store, never_takes_a_folder_without_a_good_checkpoint_for_an_empty_one) {
    one_folder f;
    fill(f);
    f.disk.put(one_folder::path(1), "x");
    EXPECT_TRUE(names(f.load_error(store_of({.use_older = true})), 1));
}

TEST(folder_store, finds_the_positions_that_it_is_asked_for_beside_a_torn_file) {
    one_folder f;
    fill(f);
    f.disk.put(one_folder::path(2), "x");
    const stream::positions one{{"p", 1}};
    const stream::positions two{{"p", 2}};
    EXPECT_EQ(f.load(store_of(), &one), "p1 1.0=first 1.1=state");
    EXPECT_TRUE(names(f.load_error(store_of({.use_older = true}), &two), 2));
}

TEST(folder_store, refuses_another_job_a_newer_version_another_name_and_a_missing_base) {
    one_folder f;
    fill(f);
    EXPECT_NE(f.load_error({"/at", "invoices"}).find("of the job \"orders\"; this job is \"invoices\""),
              std::string::npos);
    const std::string whole = f.file(2);
    std::string newer = whole;
    newer[8] = 2;
    f.disk.put(one_folder::path(2), newer);
    EXPECT_NE(f.load_error(store_of()).find("byte 8: its format is version 2; this program reads version 1"),
              std::string::npos);
    f.disk.put(one_folder::path(2), "no checkpoint at all, and long enough");
    EXPECT_NE(f.load_error(store_of()).find("byte 0: it does not begin as a checkpoint"), std::string::npos);
    f.disk.put(one_folder::path(2), whole);
    f.disk.put(one_folder::path(3), whole);
    EXPECT_NE(f.load_error(store_of()).find("it is checkpoint 2 under another name"), std::string::npos);
    f.run([](environment&) -> coflux::call<void> {
        auto names = co_await coflux::directory::open("/at");
        co_await names.remove("0000000003.checkpoint");
        co_await names.remove("0000000001.checkpoint");
    });
    EXPECT_NE(f.load_error(store_of()).find("needs 0000000001.checkpoint, which is not in the folder"),
              std::string::npos);
}

// --- what the system refuses -----------------------------------------------------------------------------------------

std::errc error_of_store(one_folder& f, const folder_store& store, const checkpoint& c) {
    try {
        f.store(store, c);
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("/at"), std::string::npos) << e.what();
        return static_cast<std::errc>(e.code().value());
    }
    return std::errc();
}

TEST(folder_store, keeps_the_last_one_where_the_next_cannot_be_stored) {
    using enum disk_call;
    for (const disk_call on : {open, write, sync, rename}) {
        for (std::size_t from = 1; from != 3; ++from) {
            one_folder f;
            auto store = store_of({.full_every = 1});
            f.store(store, made(1, {"first"}));
            if (from == 2 && (on == write || on == rename)) continue;  // there is one
            f.disk.fail({.on = on, .from = from, .error = std::errc::permission_denied});
            EXPECT_EQ(error_of_store(f, store, made(2, {"second"})), std::errc::permission_denied);
            const std::string left = f.load(store_of());
            EXPECT_TRUE(left == "p1 1.0=first" || (on == sync && from == 2)) << left;
            f.store(store, made(3, {"third"}));
            EXPECT_EQ(f.load(store_of()), "p3 1.0=third");
        }
    }
}

TEST(folder_store, goes_on_when_there_is_space_again) {
    one_folder f({.capacity = 1000});
    auto store = store_of({.full_every = 1});
    f.store(store, made(1, {"first"}));
    EXPECT_EQ(error_of_store(f, store, made(2, {std::string(2000, 'x')})), std::errc::no_space_on_device);
    EXPECT_EQ(f.load(store_of()), "p1 1.0=first");
    f.store(store, made(3, {"third"}));
    EXPECT_EQ(f.load(store_of()), "p3 1.0=third");
}

TEST(folder_store, does_not_make_a_folder_that_is_missing) {
    one_folder f;
    EXPECT_THROW(f.store({"/none", "orders"}, made(1, {})), std::system_error);
    EXPECT_THROW((void)f.load({"/none", "orders"}), std::system_error);
}

TEST(folder_store, refuses_options_that_keep_too_little) {
    EXPECT_THROW(store_of({.keep = 1}), std::invalid_argument);
    EXPECT_THROW(store_of({.full_every = 0}), std::invalid_argument);
}

// --- a crash ---------------------------------------------------------------------------------------------------------

constexpr int most_stores = 6;
coflux::fork<void, sim_executor> stores_some(environment&, borrowed<int> acknowledged, std::size_t full_every) {
    auto& here = co_await coflux::context();
    auto store = store_of({.full_every = full_every});
    for (int i = 1; i <= most_stores; ++i) {
        co_await store.store(here, made(i, {"same", std::to_string(i)}));
        *acknowledged = i;
    }
}
coflux::fork<void, sim_executor> cuts_the_power(environment&, borrowed<sim_disk> disk, std::size_t steps) {
    for (; steps != 0; --steps) co_await coflux::this_coroutine::yield();
    disk->crash();
}
sim_task stores_and_crashes(environment&, borrowed<sim_disk> disk, std::size_t steps) {
    auto& here = co_await coflux::context();
    int acknowledged = 0;
    {
        auto running = coflux::make_environment(here);
        auto storing = stores_some(running, borrowed(acknowledged), steps % 2 == 0 ? 1 : 3);
        co_await cuts_the_power(running, disk, steps);
        (void)co_await coflux::as_outcome(std::move(storing));
        co_await running.join();
    }
    disk->restart();
    const auto got = co_await store_of().load(here, nullptr);
    const auto at = got ? static_cast<int>(got->at[0].next) : 0;
    if (at != acknowledged && at != acknowledged + 1) {
        throw std::runtime_error("acknowledged " + std::to_string(acknowledged) + ", loaded " + std::to_string(at));
    }
    if (got && shown(got) != "p" + std::to_string(at) + " 1.0=same 1.1=" + std::to_string(at)) {
        throw std::runtime_error("loaded " + shown(got));
    }
}
TEST(folder_store, is_there_as_a_whole_or_not_at_all_after_a_crash_at_any_point) {
    std::size_t steps = 0;
    const auto r = explore({.runs = coflux_test::repetitions(40'000)}, [&](simulation&) {
        sim_executor on;
        sim_disk disk(on, {.sector = 16, .short_moves = true});
        disk.make_directory("/at");
        auto env = coflux::make_environment(on);
        steps = (steps + 1) % 80;
        stores_and_crashes(env, borrowed(disk), steps).get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
}

// --- in a job, on the system -----------------------------------------------------------------------------------------

struct count {
    std::int64_t n = 0;
    template <typename A>
    void fields(A& all) {
        all(n);
    }
};
using counted = std::pair<std::uint64_t, std::int64_t>;

coflux::task<std::int64_t, coflux::thread_pool_executor> counts(environment&, std::string folder, std::size_t n) {
    auto& here = co_await coflux::context();
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i != n; ++i) values.push_back(i % 10);
    stream::memory_source source(std::move(values));
    stream::memory_sink<counted> sink;
    const auto report = co_await stream::run(
        here,
        stream::from(source) | stream::by_key([](std::uint64_t v) { return v; }) |
            stream::fold<count, counted>([](count& c, std::uint64_t v, const auto& emit) { emit({v, ++c.n}); }) |
            stream::to(sink),
        stream::job{.workers = 2, .state = folder_store(std::move(folder), "counts")});
    std::int64_t most = 0;
    for (const counted& c : sink.values()) most = std::max(most, c.second);
    EXPECT_GE(report.commits, 1U);
    co_return most;
}
TEST(folder_store, lets_a_job_go_on_where_the_last_run_has_ended) {
    const coflux_test::temporary_folder folder;
    coflux::thread_pool_executor pool{2};
    auto env = coflux::make_environment(pool);
    EXPECT_EQ(counts(env, folder.path(), 1000).get(), 100);
    EXPECT_EQ(counts(env, folder.path(), 1500).get(), 150);
}

}  // namespace
