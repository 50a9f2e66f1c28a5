// A job over files whose process is ended by SIGKILL, again and again: its output is that of a run that was not
// disturbed.
#include <coflux/stream/folder_store.hpp>
#include <coflux/stream/line_sink.hpp>
#include <coflux/stream/line_source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "support/temporary_folder.hpp"

// A namespace with a name, because frames of coroutines have these types.
namespace {

namespace stream = coflux::stream;
using pool = coflux::thread_pool_executor;

constexpr int records = 100'000;
constexpr int kills = 20;

struct total {
    std::int64_t n = 0;
    template <typename A>
    void fields(A& all) {
        all(n);
    }
};
struct kill_at {
    std::atomic<int> left;
};

/// Counts the lines of IN by their first two characters into OUT, and ends the process at a record of it.
coflux::task<void, pool> counts(coflux::environment&, std::string folder, coflux::borrowed<kill_at> kill,
                                coflux::borrowed<coflux::blocking_pool> files) {
    auto& here = co_await coflux::context();
    stream::line_source from(folder + "/in", {.pool = &*files});
    stream::line_sink to(folder + "/out", {.pool = &*files});
    (void)co_await stream::run(
        here, stream::from(from) | stream::by_key([](const stream::text_line& l) {
                  return l.text.substr(0, 2);
              }) | stream::fold<total, std::string>([kill](total& t, const stream::text_line& l, const auto& emit) {
                  if (kill->left.fetch_sub(1) == 1) std::raise(SIGKILL);
                  emit(l.text + " " + std::to_string(++t.n));
              }) | stream::to(to),
        // One worker, so that the order of the output is that of the input.
        stream::job{.name = "counts",
                    .workers = 1,
                    // A few commits of each run, however busy the machine is.
                    .max_batch = 1000,
                    .commit_every = std::chrono::milliseconds(1),
                    .delivery = stream::exactly_once,
                    .state = stream::folder_store(folder + "/state", "counts", {.pool = &*files})});
}
void run(const std::string& folder, int kill_at_record) {
    kill_at kill{{kill_at_record}};
    // Not the shared one: in a child of fork() it has the threads of its parent, which are not there.
    coflux::blocking_pool files;
    pool threads{2};
    auto env = coflux::make_environment(threads);
    counts(env, folder, coflux::borrowed(kill), coflux::borrowed(files)).get();
}
void prepare(const coflux_test::temporary_folder& folder) {
    std::string lines;
    for (int i = 0; i != records; ++i) lines += std::to_string(i * 7919 % records) + "\n";
    folder.file("in", lines);
    std::filesystem::create_directory(folder.path("state"));
}

TEST(killed_job_death, has_the_output_of_a_run_that_was_not_disturbed) {
    const coflux_test::temporary_folder disturbed;
    prepare(disturbed);
    std::minstd_rand random(1);
    for (int i = 0; i != kills; ++i) {
        // So few that each run has records left, wherever the one before has got.
        const int at = 1 + static_cast<int>(random() % (records / kills - 1));
        EXPECT_EXIT(run(disturbed.path(), at), testing::KilledBySignal(SIGKILL), "");
    }
    const auto committed = std::filesystem::file_size(disturbed.path("out.committed"));
    EXPECT_GT(committed, 0U);
    run(disturbed.path(), -1);
    const coflux_test::temporary_folder quiet;
    prepare(quiet);
    run(quiet.path(), -1);
    const std::string expected = coflux_test::text_of(quiet.path("out"));
    EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), records);
    EXPECT_TRUE(coflux_test::text_of(disturbed.path("out")) == expected);
}

}  // namespace
