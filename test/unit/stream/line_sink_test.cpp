// Lines into a file: what a failed write, a crash and a second run leave.
#include <coflux/stream/line_sink.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
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
using coflux::testing::sim_disk;
using coflux::testing::sim_executor;
using stream::line_sink;
using stream::positions;

coflux::call<void> write(environment&, line_sink& to, std::vector<std::string> texts) {
    auto& here = co_await coflux::context();
    std::vector<stream::record<std::string>> records;
    for (std::string& t : texts) records.push_back({std::move(t)});
    co_await to.write(here, records);
}

struct one_disk {
    template <typename Block>
    void run(Block block) {
        [](environment&, borrowed<Block> b) -> coflux::task<void, sim_executor> {
            auto& here = co_await coflux::context();
            co_await (*b)(here);
        }(env, borrowed(block))
                                                   .get();
    }

    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation sim{fifo};
    sim_executor on;
    sim_disk disk{on};
    decltype(coflux::make_environment(std::declval<sim_executor&>())) env{coflux::make_environment(on)};
};

TEST(line_sink, writes_lines_behind_those_that_are_there) {
    one_disk d;
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        co_await write(here, to, {"one", "two"});
        co_await write(here, to, {""});
        co_await to.flush(here);
    });
    EXPECT_EQ(d.disk.contents("out"), "one\ntwo\n\n");
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        co_await to.flush(here);
        co_await write(here, to, {"three"});
    });
    EXPECT_EQ(d.disk.contents("out"), "one\ntwo\n\nthree\n");
}

TEST(line_sink, cuts_off_the_rest_of_a_line_that_a_crash_has_left) {
    for (const std::string& rest : {std::string("ha"), std::string(200'000, 'x')}) {
        one_disk d;
        d.disk.put("out", "one\n" + rest);
        d.disk.put("rest", rest);
        d.run([](environment& here) -> coflux::call<void> {
            line_sink to("out");
            co_await write(here, to, {"two"});
            line_sink other("rest");
            co_await write(here, other, {"x"});
        });
        EXPECT_EQ(d.disk.contents("out"), "one\ntwo\n");
        EXPECT_EQ(d.disk.contents("rest"), "x\n");
    }
}

TEST(line_sink, writes_to_the_same_place_after_a_write_that_failed) {
    one_disk d;
    d.disk.fail({.on = disk_call::write, .error = std::errc::no_space_on_device});
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        bool failed = false;
        try {
            co_await write(here, to, {"one", "two"});
        } catch (const std::system_error&) {
            failed = true;
        }
        EXPECT_TRUE(failed);
        co_await write(here, to, {"one", "two"});
    });
    EXPECT_EQ(d.disk.contents("out"), "one\ntwo\n");
}

TEST(line_sink, refuses_a_string_that_would_be_two_lines) {
    one_disk d;
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        bool refused = false;
        try {
            co_await write(here, to, {"fine", "one\ntwo"});
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
    });
    EXPECT_EQ(d.disk.contents("out").value_or(""), "");
    EXPECT_THROW(line_sink("folder/"), std::invalid_argument);
}

TEST(line_sink, gives_up_what_is_not_committed) {
    one_disk d;
    d.disk.put("out", "before\n");
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        EXPECT_EQ(co_await to.committed(here), std::nullopt);
        co_await to.begin(here);
        co_await write(here, to, {"one"});
        co_await to.commit(here, {{"p", 1}});
        co_await to.begin(here);
        co_await write(here, to, {"two"});
        co_await to.abort(here);
        co_await to.begin(here);
        co_await write(here, to, {"three"});
        co_await to.flush(here);
    });
    EXPECT_EQ(d.disk.contents("out"), "before\none\nthree\n");
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        EXPECT_EQ(co_await to.committed(here), (positions{{"p", 1}}));
    });
    EXPECT_EQ(d.disk.contents("out"), "before\none\n");
}

TEST(line_sink, tells_a_commit_point_that_was_changed_and_a_file_that_has_become_shorter) {
    one_disk d;
    d.run([](environment& here) -> coflux::call<void> {
        line_sink to("out");
        (void)co_await to.committed(here);
        co_await to.begin(here);
        co_await write(here, to, {"one"});
        co_await to.commit(here, {{"p", 1}});
    });
    const std::string whole = d.disk.contents("out.committed").value_or("");
    const auto error = [&d] {
        std::string text = "none";
        d.run([&](environment& here) -> coflux::call<void> {
            line_sink to("out");
            try {
                (void)co_await to.committed(here);
            } catch (const stream::corrupt_state& e) {
                text = e.what();
            }
        });
        return text;
    };
    for (std::size_t n = 0; n != whole.size(); ++n) {
        d.disk.put("out.committed", whole.substr(0, n));
        EXPECT_TRUE(error().starts_with("coflux: the commit point out.committed: ")) << n;
        std::string changed = whole;
        changed[n] = static_cast<char>(changed[n] ^ 4);
        d.disk.put("out.committed", changed);
        EXPECT_TRUE(error().starts_with("coflux: the commit point out.committed: ")) << n;
    }
    d.disk.put("out.committed", whole);
    d.disk.put("out", "on");
    EXPECT_EQ(error(), "coflux: out has 2 bytes, and 4 are committed");
}

// --- exactly once, with crashes --------------------------------------------------------------------------------------

struct total {
    std::int64_t n = 0;
    template <typename A>
    void fields(A& all) {
        all(n);
    }
};

/// Counts the lines of "in" into "out", with a checkpoint and a commit often.
coflux::fork<void, sim_executor> counts(environment&) {
    auto& here = co_await coflux::context();
    stream::line_source from("/in");
    line_sink to("/out");
    (void)co_await stream::run(
        here,
        stream::from(from) | stream::to_one() |
            stream::fold<total, std::string>([](total& t, const stream::text_line& l, const auto& emit) {
                ++t.n;
                emit(l.text + " " + std::to_string(t.n));
            }) |
            stream::to(to),
        stream::job{.workers = 1,
                    .slots = 1,
                    .max_batch = 2,
                    .linger = std::chrono::milliseconds(1),
                    .commit_every = std::chrono::milliseconds(1),
                    .delivery = stream::exactly_once,
                    .state = stream::folder_store("/state", "counts")});
}
coflux::fork<void, sim_executor> cuts_the_power(environment&, borrowed<sim_disk> disk, std::size_t steps) {
    co_await coflux::sleep_for(steps * std::chrono::microseconds(100));
    disk->crash();
}
coflux::task<void, sim_executor> counts_through_crashes(environment&, borrowed<sim_disk> disk, std::size_t first,
                                                        std::size_t second) {
    auto& here = co_await coflux::context();
    for (const std::size_t steps : {first, second}) {
        {
            auto running = coflux::make_environment(here);
            auto counting = counts(running);
            co_await cuts_the_power(running, disk, steps);
            (void)co_await coflux::as_outcome(std::move(counting));
            co_await running.join();
        }
        disk->restart();
    }
    co_await counts(here);
}
TEST(line_sink, has_each_output_once_whatever_crashes) {
    std::size_t steps = 0;
    const std::string expected = "a 1\nb 2\nc 3\nd 4\ne 5\nf 6\n";
    const auto r =
        coflux::testing::explore({.runs = coflux_test::repetitions(20'000)}, [&](coflux::testing::simulation&) {
            sim_executor on;
            sim_disk disk(on, {.latency = std::chrono::microseconds(100), .sector = 16});
            disk.make_directory("/state");
            disk.put("/in", "a\nb\nc\nd\ne\nf\n");
            auto env = coflux::make_environment(on);
            steps = (steps + 1) % 100;
            counts_through_crashes(env, borrowed(disk), steps, steps * 7 % 100).get();
            if (disk.contents("/out") != expected) throw std::runtime_error(disk.contents("/out").value_or("-"));
        });
    EXPECT_TRUE(r.ok()) << r.report();
}

}  // namespace
