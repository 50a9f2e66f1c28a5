// A job over files on a disk that is full: it ends with an error that names the file, commits nothing that is not
// written, and goes on once there is space.
#include <coflux/stream/dead_letter_file.hpp>
#include <coflux/stream/folder_store.hpp>
#include <coflux/stream/line_sink.hpp>
#include <coflux/stream/line_source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_disk.hpp>

// A namespace with a name, because frames of coroutines have these types.
namespace {

namespace stream = coflux::stream;
using coflux::testing::sim_disk;
using coflux::testing::sim_executor;

struct total {
    std::int64_t n = 0;
    template <typename A>
    void fields(A& all) {
        all(n);
    }
};

/// Counts the lines of /in into /out, and puts those that are "bad" into /dead.
coflux::task<void, sim_executor> counts(coflux::environment&, std::uint32_t attempts) {
    auto& here = co_await coflux::context();
    stream::line_source from("/in");
    stream::line_sink to("/out");
    stream::dead_letter_file dead("/dead");
    const auto good = [](std::string_view text) {
        if (text.starts_with("bad")) throw std::invalid_argument("it is bad");
        return std::string(text);
    };
    const auto count = [](total& t, const std::string& text, const auto& emit) {
        emit(text + " " + std::to_string(++t.n));
    };
    (void)co_await stream::run(here,
                               stream::from(from) | stream::parse(good) | stream::to_one() |
                                   stream::fold<total, std::string>(count) | stream::to(to),
                               stream::job{.workers = 1,
                                           .slots = 1,
                                           .max_batch = 2,
                                           .linger = std::chrono::milliseconds(1),
                                           .commit_every = std::chrono::milliseconds(1),
                                           .delivery = stream::exactly_once,
                                           .on_error = stream::dead_letters(dead),
                                           .retries = {.attempts = attempts, .first = std::chrono::milliseconds(1)},
                                           .state = stream::folder_store("/state", "counts")});
}

/// Runs it on a disk of each size up to one that is large enough, and then on a large one.
void run_at_each_size(const std::string& in, const std::string& out, std::size_t least_dead) {
    bool was_full = true;
    std::size_t refused = 0;
    for (std::uint64_t size = in.size(); was_full; size += 23) {
        coflux::testing::fifo_chooser fifo;
        coflux::testing::simulation sim{fifo};
        sim_executor on;
        sim_disk disk(on, {.latency = std::chrono::microseconds(100), .capacity = size});
        disk.make_directory("/state");
        disk.put("/in", in);
        auto env = coflux::make_environment(on);
        try {
            counts(env, 1).get();
            was_full = false;
        } catch (const std::system_error& e) {
            ++refused;
            EXPECT_EQ(e.code(), std::errc::no_space_on_device);
            const std::string text = e.what();
            EXPECT_TRUE(text.find("/out") != std::string::npos || text.find("/dead") != std::string::npos ||
                        text.find("/state/") != std::string::npos)
                << text;
        }
        // The file has a part of the output, and its last line may be cut off.
        const std::string part = disk.contents("/out").value_or("");
        EXPECT_EQ(out.substr(0, part.size()), part);
        disk.set_capacity(std::uint64_t{1} << 20);
        if (was_full) counts(env, 1).get();
        ASSERT_EQ(disk.contents("/out").value_or(""), out) << size;
        const std::string dead = disk.contents("/dead").value_or("");
        EXPECT_GE(static_cast<std::size_t>(std::ranges::count(dead, '\n')), least_dead) << size;
    }
    EXPECT_GT(refused, 10U);
}

TEST(full_disk, fails_a_job_that_commits_nothing_which_is_not_written) {
    std::string in;
    std::string out;
    for (int i = 1; i != 20; ++i) {
        in += std::to_string(i) + "\n";
        out += std::to_string(i) + " " + std::to_string(i) + "\n";
    }
    run_at_each_size(in, out, 0);
}

TEST(full_disk, takes_no_dead_letter_away) {
    run_at_each_size("1\nbad\n2\n3\nbad " + std::string(200, 'x') + "\n4\n", "1 1\n2 2\n3 3\n4 4\n", 2);
}

}  // namespace
