// A job with its states in a database whose process is ended by SIGKILL, again and again, or whose disk is full: the
// states are those of a run that was not disturbed.
#include <coflux/rocksdb/database.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "paced_source.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace rocksdb = coflux::rocksdb;
namespace stream = coflux::stream;
using pool = coflux::thread_pool_executor;
using sums = std::map<std::string, std::int64_t>;

constexpr int records = 40'000;
constexpr int customers = 3'001;
constexpr int kills = 10;

struct order {
    std::string customer;
    std::int64_t amount;
};
struct total {
    std::int64_t sum = 0;
    template <typename A>
    void fields(A& all) {
        all(sum);
    }
};
std::vector<order> orders() {
    std::vector<order> all(records);
    for (int i = 0; i != records; ++i) all[i] = {"customer " + std::to_string(i * 7919 % customers), i % 300};
    return all;
}
struct kill_at {
    std::atomic<int> left;
};

coflux::task<void, pool> add_up(coflux::environment&, std::string folder, std::vector<order> all,
                                coflux::borrowed<kill_at> kill, coflux::borrowed<sums> last) {
    auto& here = co_await coflux::context();
    stream::memory_source from(std::move(all));
    stream::for_each to([last](const std::pair<std::string, std::int64_t>& s) { (*last)[s.first] = s.second; });
    const rocksdb::database state(std::move(folder), "orders", {.cached_keys = 200, .write_buffer = 100'000});
    const auto add = [kill](total& t, const order& o, const auto& emit) {
        if (kill->left.fetch_sub(1) == 1) std::raise(SIGKILL);
        t.sum += o.amount;
        emit(std::pair(o.customer, t.sum));
    };
    (void)co_await stream::run(
        here,
        stream::from(from) | stream::by_key(&order::customer) |
            stream::fold<total, std::pair<std::string, std::int64_t>>(add, state.table("t")) | stream::to(to),
        stream::job{.workers = 2, .max_batch = 100, .commit_every = std::chrono::milliseconds(1), .state = state});
}
/// Returns: the last sum of each customer of this run.
sums run(const std::string& folder, std::vector<order> all, int kill_at_record) {
    kill_at kill{{kill_at_record}};
    sums last;
    pool threads{2};
    auto env = coflux::make_environment(threads);
    add_up(env, folder, std::move(all), coflux::borrowed(kill), coflux::borrowed(last)).get();
    return last;
}
/// Runs the job to its end. Returns: whether the states are those of all records, each taken once.
bool ends_right(const std::string& folder) {
    std::vector<order> all = orders();
    sums expected;
    for (const order& o : all) expected[o.customer] += o.amount;
    (void)run(folder, all, -1);
    for (const auto& [customer, sum] : expected) all.push_back({customer, 0});
    return run(folder, all, -1) == expected;
}

/// A line_sink whose process ends in its n-th commit, before or behind the point from which it is one.
struct killed_sink : stream::line_sink {
    int commits_left;
    killed_sink(std::string path, int at) : stream::line_sink(std::move(path)), commits_left(at) {}

    coflux::call<void> commit(coflux::environment&, const stream::positions& done) {
        auto& here = co_await coflux::context();
        const int n = commits_left--;
        if (n == 1) std::raise(SIGKILL);
        co_await stream::line_sink::commit(here, done);
        if (n == 0) std::raise(SIGKILL);
    }
};
/// Writes, exactly once, the how manieth order of its customer each is; every third one forgets the customer.
coflux::task<void, pool> number(coflux::environment&, std::string folder, std::vector<order> all, int kill_at_commit) {
    auto& here = co_await coflux::context();
    stream::job_control control;
    coflux_test::paced_source from(std::move(all), 1'000, control);
    killed_sink to(folder + "/out", kill_at_commit);
    const rocksdb::database state(folder + "/state", "numbers", {.cached_keys = 200, .write_buffer = 100'000});
    const auto thirds = [](total& t, const order& o, const auto& emit) {
        emit(o.customer + " " + std::to_string(++t.sum));
        return t.sum == 3 ? stream::key_state::forget : stream::key_state::keep;
    };
    (void)co_await stream::run(here,
                               stream::from(from) | stream::by_key(&order::customer) |
                                   stream::fold<total, std::string>(thirds, state.table("t")) | stream::to(to),
                               stream::job{.workers = 2,
                                           .max_batch = 100,
                                           .commit_every = std::chrono::milliseconds(1),
                                           .delivery = stream::exactly_once_t{},
                                           .state = state,
                                           .control = &control});
}
void run_numbers(const std::string& folder, int kill_at_commit) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    number(env, folder, orders(), kill_at_commit).get();
}

TEST(rocksdb_job_DeathTest, has_each_output_once_wherever_it_is_killed_in_a_commit) {
    const coflux_test::temporary_folder at;
    std::filesystem::create_directory(at.path("state"));
    for (int i = 0; i != kills; ++i) {
        // Few commits a run, so that the next ones have some.
        EXPECT_EXIT(run_numbers(at.path(), i % 4), testing::KilledBySignal(SIGKILL), "");
    }
    const auto ends = [&] {
        run_numbers(at.path(), -1);
        return 0;
    };
    EXPECT_EXIT(std::_Exit(ends()), testing::ExitedWithCode(0), "");
    std::map<std::string, int> seen;
    std::map<std::string, int> expected;
    std::istringstream lines(coflux_test::text_of(at.path("out")));
    for (std::string line; std::getline(lines, line);) ++seen[line];
    sums before;
    for (const order& o : orders()) ++expected[o.customer + " " + std::to_string(before[o.customer]++ % 3 + 1)];
    EXPECT_TRUE(seen == expected);
}

// RocksDB's threads do not live on in a child of fork(), so only children open the database.
TEST(rocksdb_job_DeathTest, has_each_record_once_in_its_states_however_often_it_is_killed) {
    const coflux_test::temporary_folder at;
    std::minstd_rand random(1);
    for (int i = 0; i != kills; ++i) {
        // So few that each run has records left, wherever the one before has got.
        const int record = 1 + static_cast<int>(random() % (records / kills - 1));
        EXPECT_EXIT((void)run(at.path(), orders(), record), testing::KilledBySignal(SIGKILL), "");
    }
    EXPECT_EXIT(std::_Exit(ends_right(at.path()) ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(rocksdb_job_DeathTest, fails_where_the_disk_is_full_and_loses_nothing) {
    const coflux_test::temporary_folder at;
    const auto fails_and_goes_on = [&] {
        (void)std::signal(SIGXFSZ, SIG_IGN);
        rlimit before = {};
        if (::getrlimit(RLIMIT_FSIZE, &before) != 0) return 2;
        rlimit small = before;
        small.rlim_cur = 60'000;  // no file is longer
        if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 3;
        std::string error;
        try {
            (void)run(at.path(), orders(), -1);
        } catch (const std::system_error& e) {
            error = e.what();
        }
        if (::setrlimit(RLIMIT_FSIZE, &before) != 0) return 4;
        std::fputs(error.c_str(), stderr);
        if (error.find(at.path()) == std::string::npos) return 5;
        return ends_right(at.path()) ? 0 : 6;
    };
    EXPECT_EXIT(std::_Exit(fails_and_goes_on()), testing::ExitedWithCode(0), "File too large");
}

}  // namespace
