#include <coflux/testing/sim_disk.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_network.hpp>

#include "support/temporary_folder.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::borrowed;
using coflux::environment;
using coflux::file;
using coflux::file_options;
using coflux::testing::disk_call;
using coflux::testing::fifo_chooser;
using coflux::testing::random_chooser;
using coflux::testing::sim_disk;
using coflux::testing::sim_disk_options;
using coflux::testing::sim_executor;
using coflux::testing::simulation;
using disk_task = coflux::task<void, sim_executor>;
using disk_fork = coflux::fork<void, sim_executor>;

std::span<std::byte> room_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}
bool is_error(const std::error_code& error, std::errc what) {
    return error == std::error_condition(what);
}
constexpr file_options to_make{.write = true, .create = true};

/// A simulation with a disk.
struct one_disk {
    explicit one_disk(sim_disk_options options = {}) : disk(on, std::move(options)) {}

    template <typename... Args>
    void run(disk_task (*program)(environment&, Args...), std::type_identity_t<Args>... args) {
        program(env, std::move(args)...).get();
    }
    template <typename... Args>
    void run(disk_task (*program)(environment&, borrowed<sim_disk>, Args...), std::type_identity_t<Args>... args) {
        program(env, borrowed(disk), std::move(args)...).get();
    }

    fifo_chooser fifo;
    simulation sim{fifo};
    sim_executor on;
    sim_disk disk;
    decltype(coflux::make_environment(std::declval<sim_executor&>())) env{coflux::make_environment(on)};
};

// --- what a disk does on a good day ----------------------------------------------------------------------------------

disk_task reads_back(environment&) {
    file f = co_await file::open("a", to_make);
    EXPECT_TRUE(f.is_open());
    EXPECT_GT(f.native_handle(), 1 << 30);
    co_await f.write_at(3, "defgh");
    co_await f.write_at(0, "abc");
    EXPECT_EQ(co_await f.size(), 8U);
    std::string got(4, ' ');
    EXPECT_EQ(co_await f.read_at(2, room_of(got)), 4U);
    EXPECT_EQ(got, "cdef");
    co_await f.append("ij");
    co_await f.sync();
    co_await f.sync_data();
    EXPECT_EQ(co_await f.read_at(8, room_of(got)), 2U);
    EXPECT_EQ(co_await f.read_at(10, room_of(got)), 0U);
    EXPECT_EQ(co_await f.read_at(0, {}), 0U);
    co_await f.truncate(5);
    co_await f.write_at(7, "x");
    co_await f.truncate(9);
    EXPECT_EQ(co_await f.size(), 9U);
    co_await f.close();
    EXPECT_FALSE(f.is_open());
}
TEST(sim_disk, has_what_was_written_at_each_offset) {
    one_disk w;
    w.run(reads_back);
    EXPECT_EQ(w.disk.contents("/a"), std::string("abcde\0\0x\0", 9));
    EXPECT_EQ(w.disk.open_files(), 0U);
    EXPECT_FALSE(std::filesystem::exists("a"));
}

disk_task appends_to_a_log(environment&) {
    file f = co_await file::open("log", {.write = true, .create = true, .append = true});
    file other = co_await file::open("log", {.write = true, .append = true});
    co_await f.append("+1");
    co_await other.append("+2");
    co_await f.append("+3");
    file cut = co_await file::open("log2", to_make);
    co_await cut.write_at(0, "much");
    cut = co_await file::open("log2", {.write = true, .truncate = true});
    EXPECT_EQ(co_await cut.size(), 0U);
}
TEST(sim_disk, opens_files_as_their_options_say) {
    one_disk w;
    w.run(appends_to_a_log);
    EXPECT_EQ(w.disk.contents("log"), "+1+2+3");
    EXPECT_EQ(w.disk.contents("log2"), "");
}

coflux::call<std::error_code> error_of_open(environment&, std::string path, file_options how) {
    co_return (co_await as_result(file::open(path, how))).error();
}
disk_task opens_what_cannot_be(environment&) {
    auto&& here = co_await coflux::context();
    using std::errc;
    EXPECT_TRUE(is_error(co_await error_of_open(here, "none", {}), errc::no_such_file_or_directory));
    EXPECT_TRUE(is_error(co_await error_of_open(here, "", to_make), errc::no_such_file_or_directory));
    EXPECT_TRUE(is_error(co_await error_of_open(here, "no/where", to_make), errc::no_such_file_or_directory));
    EXPECT_TRUE(is_error(co_await error_of_open(here, "/", {}), errc::is_a_directory));
    EXPECT_TRUE(is_error(co_await error_of_open(here, "data/../data", to_make), errc::is_a_directory));
    EXPECT_TRUE(is_error(co_await error_of_open(here, "data/old/x", to_make), errc::not_a_directory));
    file_options exclusive = to_make;
    exclusive.exclusive = true;
    EXPECT_TRUE(is_error(co_await error_of_open(here, "data/old", exclusive), errc::file_exists));
    EXPECT_FALSE(co_await error_of_open(here, "data/new", exclusive));
    EXPECT_FALSE(co_await error_of_open(here, "./data//old", {}));
    try {
        (void)co_await file::open("none");
        ADD_FAILURE() << "it was opened";
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("open none"), std::string::npos) << e.what();
    }
    file reads = co_await file::open("data/old");
    EXPECT_TRUE(is_error((co_await as_result(reads.write_at(0, "x"))).error(), errc::bad_file_descriptor));
    file writes = co_await file::open("data/old", {.read = false, .write = true});
    std::string got(1, ' ');
    EXPECT_TRUE(is_error((co_await as_result(writes.read_at(0, room_of(got)))).error(), errc::bad_file_descriptor));
    EXPECT_TRUE(
        is_error((co_await as_result(writes.write_at(~std::uint64_t{0}, "x"))).error(), errc::invalid_argument));
}
TEST(sim_disk, refuses_what_a_system_refuses) {
    one_disk w;
    w.disk.make_directory("data/deep");
    w.disk.put("data/old", "abc");
    w.run(opens_what_cannot_be);
    EXPECT_EQ(w.disk.contents("data/new"), "");
    EXPECT_EQ(w.disk.contents("data/none"), std::nullopt);
    EXPECT_THROW(w.disk.put("data", "x"), std::invalid_argument);
    EXPECT_THROW(w.disk.put("nowhere/x", "x"), std::invalid_argument);
    EXPECT_THROW(w.disk.make_directory("data/old/x"), std::invalid_argument);
}

// --- which disk ------------------------------------------------------------------------------------------------------

disk_task writes_its_name(environment&, std::string name) {
    file f = co_await file::open("name", to_make);
    co_await f.write_at(0, name);
}
TEST(sim_disk, belongs_to_an_executor_or_to_all_that_have_none) {
    fifo_chooser fifo;
    simulation sim(fifo);
    coflux::testing::sim_network net(sim);
    sim_executor on_a = net.host("10.0.0.1").executor();
    sim_executor on_b = net.host("10.0.0.2").executor();
    sim_executor on_c;
    sim_disk of_a(on_a);
    sim_disk of_b(on_b);
    sim_disk of_all;
    auto a = coflux::make_environment(on_a);
    auto b = coflux::make_environment(on_b);
    auto c = coflux::make_environment(on_c);
    writes_its_name(a, "a").get();
    writes_its_name(b, "b").get();
    writes_its_name(c, "c").get();
    EXPECT_EQ(of_a.contents("name"), "a");
    EXPECT_EQ(of_b.contents("name"), "b");
    EXPECT_EQ(of_all.contents("name"), "c");
}

disk_task writes_at(environment&, std::string path) {
    file f = co_await file::open(path, to_make);
    co_await f.write_at(0, "abc");
}
TEST(sim_disk, leaves_files_to_the_system_where_there_is_none) {
    const coflux_test::temporary_folder folder;
    const std::string path = folder.path("none");
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    sim_executor other;
    auto env = coflux::make_environment(on);
    {
        sim_disk disk(other);
        { const sim_disk gone(on); }
        writes_at(env, path).get();
        EXPECT_EQ(disk.contents(path), std::nullopt);
    }
    EXPECT_TRUE(std::filesystem::remove(path));
}

coflux::task<void, coflux::noop_executor> writes_without_an_executor(environment&) {
    file f = co_await file::open("a", to_make);
    for (int i = 0; i < 3; ++i) co_await f.append("abc");
}
TEST(sim_disk, serves_coroutines_without_an_executor) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_disk disk;
    coflux::noop_executor none;
    auto env = coflux::make_environment(none);
    writes_without_an_executor(env).get();
    EXPECT_EQ(disk.contents("a"), "abcabcabc");
}

// --- time, order and stops -------------------------------------------------------------------------------------------

disk_task takes_its_time(environment&) {
    const auto begun = coflux::clock::now();
    file f = co_await file::open("a", to_make);
    EXPECT_EQ(coflux::clock::now() - begun, 1ms);
    co_await f.write_at(0, "abc");
    EXPECT_EQ(coflux::clock::now() - begun, 2ms);
    co_await f.sync();
    EXPECT_EQ(coflux::clock::now() - begun, 12ms);
    std::string got(3, ' ');
    (void)co_await f.read_at(0, room_of(got));
    EXPECT_EQ(coflux::clock::now() - begun, 13ms);
}
TEST(sim_disk, lets_latency_pass_in_virtual_time) {
    one_disk w({.latency = 1ms, .sync_latency = 10ms});
    w.run(takes_its_time);
}

disk_fork writes_one(environment&, file* f, std::string text) {
    co_await f->write_at(0, text);
}
disk_task writes_two(environment&) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open("a", to_make);
    auto first = writes_one(here, &f, "1");
    auto second = writes_one(here, &f, "2");
    co_await coflux::when_all(std::move(first), std::move(second));
}
TEST(sim_disk, does_what_waits_at_the_same_time_in_any_order) {
    bool ended_with_1 = false;
    bool ended_with_2 = false;
    const auto r = coflux::testing::explore({.search = coflux::testing::search_kind::exhaustive}, [&](simulation&) {
        sim_executor on;
        sim_disk disk(on);
        auto env = coflux::make_environment(on);
        writes_two(env).get();
        (disk.contents("a") == "1" ? ended_with_1 : ended_with_2) = true;
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_TRUE(ended_with_1 && ended_with_2);
}

disk_fork writes_slowly(environment&, file* f, bool* ended) {
    co_await f->write_at(0, "abc");
    *ended = true;
}
disk_task stops_writes(environment&, borrowed<sim_disk> disk) {
    auto&& here = co_await coflux::context();
    file f = co_await file::open("a", to_make);
    bool ended = false;
    auto inside = coflux::make_environment(here);
    auto first = writes_slowly(inside, &f, &ended);
    inside.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(first))).is_stopped());
    co_await inside.join();
    EXPECT_EQ(disk->contents("a"), "");

    auto later = coflux::make_environment(here);
    auto second = writes_slowly(later, &f, &ended);
    co_await coflux::sleep_for(500us);  // it has begun
    later.request_stop();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(second))).has_value());
    co_await later.join();
    EXPECT_TRUE(ended);
    EXPECT_EQ(disk->contents("a"), "abc");
}
TEST(sim_disk, gives_up_what_has_not_begun_where_it_is_stopped_and_waits_for_the_rest) {
    one_disk w({.latency = 1ms});
    w.run(stops_writes);
}

disk_task moves_bytes(environment&) {
    file f = co_await file::open("a", to_make);
    co_await f.write_at(0, "0123456789");
    co_await f.sync();
    std::string got(10, ' ');
    if (co_await f.read_at(0, room_of(got)) != 10 || got != "0123456789") throw std::runtime_error("got " + got);
}
TEST(sim_disk, loses_nothing_to_a_stop_at_any_step) {
    for (std::size_t at = 1; at < 40; ++at) {
        random_chooser random(at);
        simulation sim(random);
        sim_executor on;
        sim_disk disk(on, {.latency = 1ms, .short_moves = true});
        auto env = coflux::make_environment(on);
        auto all = moves_bytes(env);
        sim.on_step([&env, at](std::size_t n) {
            if (n == at) env.request_stop();
        });
        all.join();
        EXPECT_EQ(disk.open_files(), 0U);
    }
}

TEST(sim_disk, makes_the_same_run_of_the_same_decisions) {
    const auto schedule_of = [](coflux::testing::chooser& decides) {
        simulation sim(decides);
        sim_executor on;
        sim_disk disk(on, {.short_moves = true});
        auto env = coflux::make_environment(on);
        writes_two(env).get();
        moves_bytes(env).get();
        disk.crash();
        return std::pair(sim.schedule(), disk.dump());
    };
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        random_chooser random(seed);
        const auto first = schedule_of(random);
        coflux::testing::replay_chooser again(first.first);
        EXPECT_EQ(schedule_of(again), first);
    }
}

TEST(sim_disk, moves_all_bytes_however_many_a_call_moves) {
    const auto r = coflux::testing::explore({.runs = 300}, [](simulation&) {
        sim_executor on;
        sim_disk disk(on, {.short_moves = true});
        auto env = coflux::make_environment(on);
        moves_bytes(env).get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_GT(r.distinct, 50U);
}

// --- faults ----------------------------------------------------------------------------------------------------------

disk_task is_full(environment&, borrowed<sim_disk> disk) {
    file f = co_await file::open("a", to_make);
    std::string text;
    try {
        co_await f.write_at(0, "0123456789");
    } catch (const std::system_error& e) {
        EXPECT_TRUE(is_error(e.code(), std::errc::no_space_on_device));
        text = e.what();
    }
    EXPECT_NE(text.find("after 8 bytes"), std::string::npos) << text;
    EXPECT_TRUE(is_error((co_await as_result(f.append("x"))).error(), std::errc::no_space_on_device));
    EXPECT_TRUE(is_error((co_await as_result(f.truncate(9))).error(), std::errc::no_space_on_device));
    EXPECT_TRUE(is_error((co_await as_result(f.write_at(5ULL << 30, "x"))).error(), std::errc::no_space_on_device));
    co_await f.write_at(0, "overwrit");
    co_await f.truncate(6);
    co_await f.append("yz");
    disk->set_capacity(4);
    EXPECT_TRUE(is_error((co_await as_result(f.append("x"))).error(), std::errc::no_space_on_device));
}
TEST(sim_disk, is_full_where_its_capacity_ends) {
    one_disk w({.capacity = 10});
    w.disk.put("b", "12");
    w.run(is_full);
    EXPECT_EQ(w.disk.contents("a"), "overwryz");
}

disk_task meets_rules(environment&, borrowed<sim_disk> disk) {
    file f = co_await file::open("a", to_make);
    disk->fail({.on = disk_call::write, .from = 2});
    disk->fail({.on = disk_call::read, .times = 2, .error = std::errc::no_such_device_or_address});
    disk->fail({.on = disk_call::sync});
    disk->fail({.on = disk_call::open, .error = std::errc::too_many_files_open});
    co_await f.write_at(0, "abc");
    EXPECT_TRUE(is_error((co_await as_result(f.write_at(0, "xyz"))).error(), std::errc::io_error));
    co_await f.append("def");
    std::string got(6, ' ');
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(
            is_error((co_await as_result(f.read_at(0, room_of(got)))).error(), std::errc::no_such_device_or_address));
    }
    EXPECT_EQ(co_await f.read_at(0, room_of(got)), 6U);
    EXPECT_EQ(got, "abcdef");
    EXPECT_TRUE(is_error((co_await as_result(f.sync_data())).error(), std::errc::io_error));
    co_await f.sync();
    EXPECT_TRUE(is_error((co_await as_result(file::open("a"))).error(), std::errc::too_many_files_open));
}
TEST(sim_disk, fails_at_the_calls_that_a_rule_names) {
    one_disk w;
    w.run(meets_rules);
}

disk_task writes_until_it_is_kept(environment&, int* errors) {
    file f = co_await file::open("a", to_make);
    const auto tries = [errors](const std::error_code& e) {
        if (!e) return false;
        ++*errors;
        if (!is_error(e, std::errc::io_error) && !is_error(e, std::errc::no_space_on_device))
            throw std::runtime_error("another error");
        return true;
    };
    while (tries((co_await as_result(f.write_at(0, "0123456789"))).error())) {}
    while (tries((co_await as_result(f.sync())).error())) {}
    std::string got(10, ' ');
    while (tries((co_await as_result(f.read_at(0, room_of(got)))).error())) {}
    if (got != "0123456789") throw std::runtime_error("got " + got);
}
TEST(sim_disk, lets_the_chooser_make_so_many_faults_and_no_more) {
    int most = 0;
    int none = 0;
    const auto r = coflux::testing::explore({.runs = 500}, [&](simulation&) {
        sim_executor on;
        sim_disk disk(on, {.short_moves = true, .faults = 2});
        auto env = coflux::make_environment(on);
        int errors = 0;
        writes_until_it_is_kept(env, &errors).get();
        most = std::max(most, errors);
        none += errors == 0 ? 1 : 0;
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_EQ(most, 2);
    EXPECT_GT(none, 0);
}

// --- messages --------------------------------------------------------------------------------------------------------

disk_task waits_for_nothing(environment&) {
    file f = co_await file::open("wal", to_make);
    co_await f.write_at(0, "one");
    co_await f.sync();
    co_await f.append("two");
    file g = co_await file::open("new", to_make);
    coflux::manual_reset_event never;
    co_await never.wait();
}
TEST(sim_disk, is_described_in_the_text_of_a_deadlock) {
    one_disk w({.name = "disk of the server"});
    w.disk.put("kept", "x");
    std::string text;
    try {
        w.run(waits_for_nothing);
    } catch (const coflux::testing::deadlock_error& e) {
        text = e.what();
    }
    EXPECT_NE(text.find("disk of the server:\n"
                        "  /kept: 1 byte\n"
                        "  /new: 0 bytes; its name is not synced; open 1 time\n"
                        "  /wal: 6 bytes; 1 write is not synced; open 1 time\n"),
              std::string::npos)
        << text;
}

TEST(sim_disk_death, has_options_that_make_no_sense) {
    fifo_chooser fifo;
    simulation sim(fifo);
    EXPECT_DEATH((void)sim_disk({.sector = 0}), "a simulated disk whose sectors hold no bytes");
    EXPECT_DEATH((void)sim_disk({.latency = -1ms}), "a latency of a simulated disk that is negative");
    EXPECT_DEATH((void)sim_disk({.sync_latency = -1ms}), "a latency of a simulated disk that is negative");
}
TEST(sim_disk_death, ends_with_a_file_open_or_is_one_of_two) {
    fifo_chooser fifo;
    simulation sim(fifo);
    sim_executor on;
    EXPECT_DEATH(
        {
            const sim_disk one(on);
            const sim_disk two(on);
        },
        "an executor of a simulation has a disk, and is given another one");
    EXPECT_DEATH(
        {
            const sim_disk one;
            const sim_disk two;
        },
        "a simulation has a disk, and is given another one");
    EXPECT_DEATH(
        {
            file left;
            const sim_disk disk(on);
            auto env = coflux::make_environment(on);
            const auto opens = [](environment&, file* to) -> disk_task { *to = co_await file::open("a", to_make); };
            opens(env, &left).get();
        },
        "a simulated disk ends while files are open:\n  /a: 0 bytes; its name is not synced; open 1 time");
}

}  // namespace
