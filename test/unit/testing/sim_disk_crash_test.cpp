// A crash of a simulated disk leaves some files; programs that trust in more are found.
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/pct_chooser.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_disk.hpp>

#include "support/iterations.hpp"

namespace {

using coflux::as_result;
using coflux::borrowed;
using coflux::environment;
using coflux::file;
using coflux::testing::disk_call;
using coflux::testing::explore;
using coflux::testing::search_kind;
using coflux::testing::sim_disk;
using coflux::testing::sim_disk_options;
using coflux::testing::sim_executor;
using coflux::testing::simulation;
using crash_task = coflux::task<void, sim_executor>;

constexpr coflux::file_options makes{.write = true, .create = true};

using crash_program = crash_task(environment&, borrowed<sim_disk>);

/// The contents that "a" may have after a crash at the end of the program; "-" if it may be gone.
std::set<std::string> left_by(const sim_disk_options& options, crash_program& program, bool is_old = false) {
    std::set<std::string> all;
    const auto r = explore({.runs = 100'000, .search = search_kind::exhaustive}, [&](simulation&) {
        sim_executor on;
        sim_disk disk(on, options);
        if (is_old) disk.put("a", "old");
        auto env = coflux::make_environment(on);
        program(env, borrowed(disk)).get();
        disk.crash();
        disk.restart();
        all.insert(disk.contents("a").value_or("-"));
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_TRUE(r.exhausted);
    return all;
}
using texts = std::set<std::string>;

// --- what is left ----------------------------------------------------------------------------------------------------

crash_task writes_and_does_not_sync(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", makes);
    co_await f.write_at(0, "new");
}
TEST(sim_disk_crash, may_lose_what_was_not_synced_and_a_name_too) {
    EXPECT_EQ(left_by({}, writes_and_does_not_sync), (texts{"-", "", "new"}));
    EXPECT_EQ(left_by({}, writes_and_does_not_sync, true), (texts{"old", "new"}));
}

crash_task writes_and_syncs(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", makes);
    co_await f.write_at(0, "new");
    co_await f.sync_data();
    co_await f.append("er");
}
TEST(sim_disk_crash, keeps_what_was_synced_with_its_name) {
    EXPECT_EQ(left_by({}, writes_and_syncs), (texts{"new", "newer"}));
}

crash_task opens_to_empty(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", {.write = true, .truncate = true});
    co_await f.write_at(0, "new");
}
TEST(sim_disk_crash, may_keep_a_cut_and_lose_what_was_written_after_it) {
    EXPECT_EQ(left_by({}, opens_to_empty, true), (texts{"old", "", "new"}));
}

crash_task writes_in_order(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", makes);
    co_await f.sync();
    co_await f.write_at(0, "1");
    co_await f.write_at(1, "2");
}
TEST(sim_disk_crash, may_keep_a_later_write_and_lose_an_earlier_one) {
    EXPECT_EQ(left_by({}, writes_in_order), (texts{"", "1", "12", std::string("\0002", 2)}));
}

crash_task writes_over_sectors(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", makes);
    co_await f.sync();
    co_await f.write_at(2, "345678");
}
TEST(sim_disk_crash, tears_a_write_at_sectors_and_never_within_one) {
    const auto with = [](std::string text) { return std::string("\0\0", 2) + text; };
    EXPECT_EQ(left_by({.sector = 4}, writes_over_sectors),
              (texts{"", with("34"), with("345678"), with(std::string("\0\0", 2) + "5678")}));
    EXPECT_EQ(left_by({.sector = 8}, writes_over_sectors), (texts{"", with("345678")}));
}

crash_task writes_three_sectors(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", makes);
    co_await f.sync();
    co_await f.write_at(0, "beg-mid-end-");
}
TEST(sim_disk_crash, may_lose_the_middle_of_a_write) {
    const std::string lost(4, '\0');
    EXPECT_EQ(left_by({.sector = 4}, writes_three_sectors),
              (texts{"", "beg-", "beg-mid-", "beg-mid-end-", lost + "mid-end-", lost + lost + "end-",
                     "beg-" + lost + "end-"}));
}

crash_task writes_many_sectors(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("a", makes);
    co_await f.sync();
    co_await f.write_at(0, std::string(100, 'x'));
}
TEST(sim_disk_crash, tears_a_long_write_near_its_ends) {
    const texts all = left_by({.sector = 1}, writes_many_sectors);
    for (const std::size_t n : {0, 1, 2, 3, 4, 97, 98, 99, 100}) {
        EXPECT_TRUE(all.contains(std::string(n, 'x'))) << n;
        if (n < 100) {
            EXPECT_TRUE(n == 0 || all.contains(std::string(n, '\0') + std::string(100 - n, 'x'))) << n;
        }
    }
}

crash_task syncs_with_an_error(environment&, borrowed<sim_disk> disk) {
    file f = co_await file::open("a", makes);
    co_await f.sync();
    co_await f.write_at(0, "1");
    disk->fail({.on = coflux::testing::disk_call::sync});
    EXPECT_TRUE((co_await as_result(f.sync())).error());
    co_await f.append("2");
    co_await f.sync();
}
TEST(sim_disk_crash, may_lose_what_a_sync_failed_for_although_a_later_one_succeeds) {
    EXPECT_EQ(left_by({}, syncs_with_an_error), (texts{"12", std::string("\0002", 2)}));
}

// --- names -----------------------------------------------------------------------------------------------------------

coflux::call<void> makes_new(environment&, std::string name) {
    file f = co_await file::open(std::move(name), makes);
    co_await f.write_at(0, "new");
    co_await f.sync();
}
crash_task replaces(environment&, borrowed<sim_disk>) {
    auto&& here = co_await coflux::context();
    co_await makes_new(here, "b");
    auto d = co_await coflux::directory::open("/");
    co_await d.rename("b", "a");
}
crash_task replaces_and_syncs(environment&, borrowed<sim_disk>) {
    auto&& here = co_await coflux::context();
    co_await makes_new(here, "b");
    auto d = co_await coflux::directory::open("/");
    co_await d.rename("b", "a");
    co_await d.sync();
}
crash_task replaces_what_is_not_synced(environment&, borrowed<sim_disk>) {
    file f = co_await file::open("b", makes);
    co_await f.write_at(0, "new");
    auto d = co_await coflux::directory::open("/");
    co_await d.rename("b", "a");
    co_await d.sync();
}
TEST(sim_disk_crash, keeps_renames_whose_directory_is_synced) {
    EXPECT_EQ(left_by({}, replaces, true), (texts{"old", "new"}));
    EXPECT_EQ(left_by({}, replaces), (texts{"-", "new"}));
    EXPECT_EQ(left_by({}, replaces_and_syncs, true), (texts{"new"}));
    EXPECT_EQ(left_by({}, replaces_what_is_not_synced, true), (texts{"", "new"}));
}

crash_task removes(environment&, borrowed<sim_disk>) {
    auto d = co_await coflux::directory::open("/");
    co_await d.remove("a");
}
crash_task removes_and_syncs(environment&, borrowed<sim_disk>) {
    auto d = co_await coflux::directory::open("/");
    co_await d.remove("a");
    co_await d.sync();
}
crash_task makes_again(environment&, borrowed<sim_disk>) {
    auto&& here = co_await coflux::context();
    auto d = co_await coflux::directory::open("/");
    co_await d.rename("a", "b");
    co_await makes_new(here, "a");
}
TEST(sim_disk_crash, undoes_a_removal_unless_the_name_has_come_again) {
    EXPECT_EQ(left_by({}, removes, true), (texts{"-", "old"}));
    EXPECT_EQ(left_by({}, removes_and_syncs, true), (texts{"-"}));
    EXPECT_EQ(left_by({}, makes_again, true), (texts{"new"}));
}

crash_task syncs_names_with_an_error(environment&, borrowed<sim_disk> disk) {
    disk->fail({.on = disk_call::sync});
    disk->fail({.on = disk_call::rename, .from = 2});
    disk->fail({.on = disk_call::remove});
    auto d = co_await coflux::directory::open("/");
    co_await d.rename("a", "b");
    EXPECT_TRUE((co_await as_result(d.sync())).error());
    EXPECT_TRUE((co_await as_result(d.rename("b", "c"))).error());
    EXPECT_TRUE((co_await as_result(d.remove("b"))).error());
    EXPECT_EQ((co_await as_result(d.remove("none"))).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ((co_await as_result(d.rename("none", "x"))).error(), std::errc::no_such_file_or_directory);
}
TEST(sim_disk_crash, keeps_no_rename_where_the_sync_has_failed) {
    EXPECT_EQ(left_by({}, syncs_names_with_an_error, true), (texts{"-", "old"}));
}

TEST(sim_disk_crash, loses_nothing_where_the_chooser_takes_zero) {
    coflux::testing::fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    sim_disk disk(on);
    auto env = coflux::make_environment(on);
    writes_and_does_not_sync(env, borrowed(disk)).get();
    disk.crash();
    EXPECT_EQ(disk.contents("a"), "new");
    EXPECT_FALSE(disk.is_up());
    EXPECT_EQ(disk.dump(), "  is down\n  /a: 3 bytes\n");
}

// --- files that were open --------------------------------------------------------------------------------------------

coflux::fork<std::error_code, sim_executor> appends_once(environment&, file* f) {
    co_return (co_await as_result(f->append("x"))).error();
}
crash_task goes_on_after_a_crash(environment&, borrowed<sim_disk> disk) {
    auto&& here = co_await coflux::context();
    const auto is_lost = [](const std::error_code& e) { return e == std::errc::no_such_device; };
    file f = co_await file::open("a", makes);
    co_await f.sync();
    auto waits = appends_once(here, &f);
    disk->crash();
    disk->crash();
    EXPECT_TRUE(is_lost(co_await std::move(waits)));
    EXPECT_TRUE(is_lost((co_await as_result(f.write_at(0, "x"))).error()));
    EXPECT_TRUE(is_lost((co_await as_result(f.sync())).error()));
    EXPECT_TRUE(is_lost((co_await as_result(f.size())).error()));
    EXPECT_TRUE(is_lost((co_await as_result(file::open("a"))).error()));
    disk->restart();
    EXPECT_TRUE(is_lost((co_await as_result(f.append("x"))).error()));
    file again = co_await file::open("a");
    EXPECT_EQ(co_await again.size(), 0U);
    co_await f.close();
}
TEST(sim_disk_crash, loses_files_that_are_open_and_what_waits_for_them) {
    coflux::testing::fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    sim_disk disk(on);
    auto env = coflux::make_environment(on);
    goes_on_after_a_crash(env, borrowed(disk)).get();
    EXPECT_EQ(disk.open_files(), 0U);
}

// --- a log that is written before the data: planted faults -----------------------------------------------------------

enum class fault { none, acknowledges_before_sync, syncs_before_write, trusts_whole_records, ignores_errors };

/// Records of eight bytes: "rec", a digit, and "....". The log says which of them are there for sure.
template <fault Planted>
crash_task writes_a_log(environment&, std::vector<std::string>* acknowledged) {
    file log = co_await file::open("log", makes);
    for (int i = 0; i < 3; ++i) {
        const std::string record = "rec" + std::to_string(i) + "....";
        if constexpr (Planted == fault::syncs_before_write) co_await log.sync_data();
        co_await log.append(record);
        if constexpr (Planted == fault::acknowledges_before_sync) acknowledged->push_back(record);
        if constexpr (Planted == fault::ignores_errors) {
            (void)co_await as_result(log.sync_data());
        } else if constexpr (Planted != fault::syncs_before_write) {
            const auto synced = co_await as_result(log.sync_data());
            if (synced.error()) co_return;  // another sync would not tell
        }
        if constexpr (Planted != fault::acknowledges_before_sync) acknowledged->push_back(record);
    }
}
coflux::fork<void, sim_executor> cuts_the_power(environment&, borrowed<sim_disk> disk) {
    co_await coflux::this_coroutine::yield();
    disk->crash();
}
template <bool ChecksRecords>
crash_task recovers(environment&, std::vector<std::string> acknowledged) {
    auto opened = co_await as_result(file::open("log"));
    std::string log;
    if (opened.has_value()) {
        log.resize(co_await opened->size());
        (void)co_await opened->read_at(0, std::as_writable_bytes(std::span(log)));
    }
    std::size_t whole = 0;
    for (; whole + 8 <= log.size(); whole += 8) {
        const std::string record = log.substr(whole, 8);
        if (record.starts_with("rec") && record.ends_with("....")) continue;
        if (!ChecksRecords) throw std::runtime_error("a record that is none");
        break;
    }
    for (std::size_t i = 0; i < acknowledged.size(); ++i) {
        if (whole < 8 * (i + 1) || log.substr(8 * i, 8) != acknowledged[i])
            throw std::runtime_error("an acknowledged record is lost");
    }
}
template <fault Planted>
crash_task runs_and_crashes(environment&, borrowed<sim_disk> disk) {
    auto&& here = co_await coflux::context();
    std::vector<std::string> acknowledged;
    {
        auto running = coflux::make_environment(here);
        auto power = cuts_the_power(running, disk);
        auto writing = [](environment& env, std::vector<std::string>* to) -> coflux::fork<void, sim_executor> {
            auto&& inside = co_await coflux::context();
            (void)env;
            (void)co_await coflux::as_outcome(writes_a_log<Planted>(inside, to));
        }(running, &acknowledged);
        co_await std::move(power);
        (void)co_await coflux::as_outcome(std::move(writing));
        co_await running.join();
    }
    disk->restart();
    co_await recovers<Planted != fault::trusts_whole_records>(here, acknowledged);
}
template <fault Planted>
void log_body(simulation&) {
    sim_executor on;
    // Four bytes a sector: a record of eight can be torn.
    constexpr bool has_faults = Planted == fault::ignores_errors || Planted == fault::none;
    sim_disk disk(on, {.sector = 4, .faults = has_faults ? 1U : 0U, .read_errors = false});
    auto env = coflux::make_environment(on);
    runs_and_crashes<Planted>(env, borrowed(disk)).get();
}
template <fault Planted>
coflux::testing::exploration finds() {
    const auto r = explore({.runs = 1000}, log_body<Planted>);
    EXPECT_FALSE(r.ok());
    EXPECT_LT(r.runs, 1000U);
    return r;
}

TEST(sim_disk_faults, finds_a_log_that_acknowledges_before_it_syncs) {
    const auto r = finds<fault::acknowledges_before_sync>();
    EXPECT_EQ(r.failure->what, "an acknowledged record is lost");
}
TEST(sim_disk_faults, finds_a_log_that_syncs_before_it_writes) {
    (void)finds<fault::syncs_before_write>();
}
TEST(sim_disk_faults, finds_a_recovery_that_trusts_in_whole_records) {
    EXPECT_EQ(finds<fault::trusts_whole_records>().failure->what, "a record that is none");
}
TEST(sim_disk_faults, finds_a_log_that_goes_on_after_a_sync_that_failed) {
    (void)finds<fault::ignores_errors>();
}
TEST(sim_disk_faults, finds_nothing_in_a_log_without_faults) {
    const auto r = explore({.runs = coflux_test::repetitions(10'000)}, log_body<fault::none>);
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(r.distinct, r.runs / 20);
}

TEST(sim_disk_faults, are_found_by_exhaustive_search_with_two_deviations) {
    const auto r = explore({.runs = 10'000, .search = search_kind::exhaustive, .deviations = 2},
                           log_body<fault::acknowledges_before_sync>);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.failure->what, "an acknowledged record is lost");
    const auto whole =
        explore({.runs = 200'000, .search = search_kind::exhaustive, .deviations = 2}, log_body<fault::none>);
    EXPECT_TRUE(whole.ok()) << whole.report();
    EXPECT_TRUE(whole.exhausted);
}

/// True if the body fails in the schedule that `decides` makes.
bool fails_by(coflux::testing::chooser& decides) {
    simulation sim(decides);
    try {
        log_body<fault::acknowledges_before_sync>(sim);
    } catch (const std::runtime_error& e) {
        return std::string(e.what()) == "an acknowledged record is lost";
    }
    return false;
}
TEST(sim_disk_faults, are_found_by_pct_alone) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        coflux::testing::pct_chooser pct(seed, 2, 32);
        found += fails_by(pct) ? 1 : 0;
    }
    EXPECT_GT(found, 0);
}
TEST(sim_disk_faults, are_replayed_by_a_schedule_that_was_made_small) {
    const auto r = finds<fault::acknowledges_before_sync>();
    coflux::testing::replay_chooser again(r.failure->schedule);
    EXPECT_TRUE(fails_by(again));
    const auto deviations = std::count_if(r.failure->schedule.begin(), r.failure->schedule.end(),
                                          [](const coflux::testing::decision& d) { return d.chosen != 0; });
    EXPECT_LE(deviations, 5);
    EXPECT_LE(static_cast<std::size_t>(deviations), r.failure->deviations_found);
}

}  // namespace
