// States in a database: what a job finds again, what is refused, and what a crash, a full disk and a stop leave.
#include <coflux/rocksdb/database.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <rocksdb/db.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "paced_source.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
namespace rocksdb = coflux::rocksdb;
namespace stream = coflux::stream;
using coflux_test::temporary_folder;
using pool = coflux::thread_pool_executor;
using stream::checkpoint;
using sums = std::pair<std::uint64_t, std::int64_t>;

struct order {
    std::uint64_t customer;
    std::int64_t amount;
};
std::vector<order> orders(std::size_t n, std::uint64_t customers) {
    std::vector<order> all(n);
    for (std::size_t i = 0; i != n; ++i) all[i] = {i * 7919 % customers, static_cast<std::int64_t>(i % 300)};
    return all;
}
struct total {
    std::int64_t sum = 0;
    template <typename A>
    void fields(A& all) {
        all(sum);
    }
};
/// The next version of it.
struct second : total {
    std::int64_t count = 0;
    template <typename A>
    void fields(A& all) {
        total::fields(all);
        if (all.version() >= 1) all(count);
    }
};
constexpr auto add = [](total& t, const order& o, const auto& emit) {
    t.sum += o.amount;
    emit(sums{o.customer, t.sum});
};

template <typename Block>
void on_pool(std::size_t threads, Block block) {
    pool on{threads};
    auto env = coflux::make_environment(on);
    constexpr auto root = [](coflux::environment&, coflux::borrowed<Block> b) -> coflux::task<void, pool> {
        auto& here = co_await coflux::context();
        co_await (*b)(here);
    };
    root(env, coflux::borrowed(block)).get();
}
/// The text of what `f` throws, as an `E`.
template <typename E, typename F>
std::string error_of(F f) {
    try {
        f();
    } catch (const E& e) {
        return e.what();
    }
    return "nothing was thrown";
}
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

checkpoint made(std::int64_t at, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {4, {{"p", at}}, {{1, 2, {bytes.begin(), bytes.end()}}}};
}
void store(rocksdb::database to, const checkpoint& c) {
    on_pool(1, [&](coflux::environment& here) -> coflux::call<void> { co_await to.store(here, c); });
}
std::optional<checkpoint> load(rocksdb::database from, const stream::positions* wanted = nullptr) {
    std::optional<checkpoint> found;
    on_pool(1, [&](coflux::environment& here) -> coflux::call<void> { found = co_await from.load(here, wanted); });
    return found;
}
std::string shown(const std::optional<checkpoint>& c) {
    if (!c) return "none";
    std::string text;
    for (const auto& p : c->at) text += p.partition + std::to_string(p.next);
    for (const auto& s : c->states)
        text += " " + std::string(reinterpret_cast<const char*>(s.bytes.data()), s.bytes.size());
    return text;
}

void store_two(const temporary_folder& at) {
    const rocksdb::database to(at.path(), "orders");
    (void)load(to);
    store(to, made(1, "a"));
    store(to, made(2, "b"));
}

/// Two folds in tables, by customer and by a part of it, and one in memory.
coflux::call<void> run_into(coflux::environment&, const rocksdb::database& state, stream::memory_source<order>& source,
                            stream::memory_sink<sums>& sink, std::size_t workers) {
    auto& here = co_await coflux::context();
    constexpr auto of_sums = [](total& t, const sums& s, const auto& emit) {
        t.sum += s.second % 11;
        emit(sums{s.first, t.sum});
    };
    (void)co_await stream::run(here,
                               stream::from(source) | stream::by_key(&order::customer) |
                                   stream::fold<total, sums>(add, state.table("by customer")) |
                                   stream::fold<total, sums>(of_sums) |
                                   stream::by_key([](const sums& s) { return std::to_string(s.first % 7); }) |
                                   stream::fold<total, sums>(of_sums, state.table("by part")) | stream::to(sink),
                               stream::job{.workers = workers,
                                           .slots = 8,
                                           .max_batch = 100,
                                           .commit_every = std::chrono::milliseconds(10),
                                           .state = state});
}
/// Returns: the last sum of each part.
std::map<std::uint64_t, std::int64_t> run(const rocksdb::database& state, const std::vector<order>& values,
                                          std::size_t workers = 2) {
    std::map<std::uint64_t, std::int64_t> last;
    on_pool(workers, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(values);
        stream::memory_sink<sums> sink;
        co_await run_into(here, state, source, sink, workers);
        for (const auto& [customer, sum] : sink.values()) last[customer % 7] = std::max(last[customer % 7], sum);
    });
    return last;
}
std::map<std::uint64_t, std::int64_t> expected(const std::vector<order>& values) {
    std::map<std::uint64_t, std::int64_t> by_customer;
    std::map<std::uint64_t, std::int64_t> again;
    std::map<std::uint64_t, std::int64_t> by_part;
    for (const order& o : values) {
        const std::int64_t sum = by_customer[o.customer] += o.amount;
        by_part[o.customer % 7] += (again[o.customer] += sum % 11) % 11;
    }
    return by_part;
}

/// A sink whose commit number `at` throws, before or behind the point from which it is one.
struct failing_sink : stream::memory_sink<sums> {
    int commits_left = -1;
    bool is_done_first = false;

    coflux::call<void> commit(coflux::environment&, const stream::positions& done) {
        auto& here = co_await coflux::context();
        const bool fails = commits_left >= 0 && commits_left-- == 0;
        if (!fails || is_done_first) co_await stream::memory_sink<sums>::commit(here, done);
        if (fails) throw std::runtime_error("the commit has failed");
    }
};
/// Runs a job that is exactly once, and forgets a customer with each third order of it.
void run_exactly(const rocksdb::database& state, const std::vector<order>& values, failing_sink& sink) {
    on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::job_control control;
        coflux_test::paced_source source(values, 500, control);
        const auto thirds = [](total& t, const order& o, const auto& emit) {
            emit(sums{o.customer, ++t.sum});
            return t.sum == 3 ? stream::key_state::forget : stream::key_state::keep;
        };
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::by_key(&order::customer) |
                                       stream::fold<total, sums>(thirds, state.table("thirds")) |
                                       stream::fold<total, sums>([](total& t, const sums& s, const auto& emit) {
                                           emit(sums{s.first, ++t.sum * 10 + s.second});
                                       }) |
                                       stream::to(sink),
                                   stream::job<stream::exactly_once_t, stream::fail_job, rocksdb::database>{
                                       .workers = 2,
                                       .slots = 8,
                                       .max_batch = 50,
                                       .commit_every = std::chrono::milliseconds(1),
                                       .delivery = stream::exactly_once,
                                       .state = state,
                                       .control = &control});
    });
}
/// The outputs of each customer, in their order.
std::map<std::uint64_t, std::vector<std::int64_t>> by_customer(const std::vector<sums>& outputs) {
    std::map<std::uint64_t, std::vector<std::int64_t>> all;
    for (const auto& [customer, n] : outputs) all[customer].push_back(n);
    return all;
}
template <typename Use>
void with_files(const std::string& path, Use use) {
    ::rocksdb::DB* files = nullptr;
    ASSERT_TRUE(::rocksdb::DB::Open({}, path, &files).ok());
    use(*files);
    delete files;
}
/// How many keys the tables have.
std::size_t keys_in(const std::string& path) {
    std::size_t n = 0;
    with_files(path, [&](::rocksdb::DB& files) {
        const std::unique_ptr<::rocksdb::Iterator> all(files.NewIterator({}));
        for (all->Seek("t"); all->Valid(); all->Next()) ++n;
    });
    return n;
}

TEST(rocksdb_database, is_a_store_whose_last_checkpoint_is_there_again) {
    const temporary_folder at;
    {
        rocksdb::database first(at.path(), "orders");
        EXPECT_EQ(shown(load(first)), "none");
        store(first, made(1, "a"));
        store(first, made(2, "a"));
        store(first, made(3, std::string(3'000'000, 'x')));
    }
    EXPECT_EQ(shown(load({at.path(), "orders"})), "p3 " + std::string(3'000'000, 'x'));
    const stream::positions before{{"p", 2}};
    EXPECT_EQ(shown(load({at.path(), "orders"}, &before)), "p2 a");
    const stream::positions other{{"p", 1}};
    EXPECT_EQ(shown(load({at.path(), "orders"}, &other)), "none");
}

TEST(rocksdb_database, gives_a_job_the_states_of_its_last_run) {
    const std::vector<order> all = orders(20'000, 1'000);
    for (const std::size_t cached : {1U, 100U, 100'000U}) {
        const temporary_folder at;
        {
            const rocksdb::database state(at.path(), "orders", {.cached_keys = cached});
            (void)run(state, {all.begin(), all.begin() + 7'000});
            (void)run(state, {all.begin(), all.begin() + 13'000}, 1);  // goes on behind the first 7 000
        }
        EXPECT_EQ(run({at.path(), "orders", {.cached_keys = cached}}, all), expected(all)) << cached;
    }
}

TEST(rocksdb_database, has_more_states_than_its_caches) {
    const temporary_folder at;
    const std::vector<order> all = orders(40'000, 20'011);
    const rocksdb::database state(at.path(), "orders",
                                  {.cached_keys = 500, .block_cache = 50'000, .write_buffer = 100'000});
    EXPECT_EQ(run(state, all), expected(all));
}

TEST(rocksdb_database, has_each_record_once_wherever_the_commit_of_the_sink_fails) {
    const std::vector<order> all = orders(6'000, 100);
    std::map<std::uint64_t, std::vector<std::int64_t>> expected;
    for (const order& o : all) {
        auto& of = expected[o.customer];
        const auto n = static_cast<std::int64_t>(of.size());
        of.push_back((n + 1) * 10 + n % 3 + 1);
    }
    for (const bool is_done_first : {false, true}) {
        const temporary_folder at;
        const rocksdb::database state(at.path(), "orders", {.cached_keys = 10});
        failing_sink sink;
        sink.is_done_first = is_done_first;
        for (int fail = 0; fail != 6; ++fail) {
            sink.commits_left = fail / 2;  // the first commit, too
            EXPECT_THROW(run_exactly(state, all, sink), std::runtime_error) << fail;
        }
        sink.commits_left = -1;
        run_exactly(state, all, sink);
        EXPECT_EQ(by_customer(sink.values()), expected);
    }
}

TEST(rocksdb_database, refuses_to_begin_anew_over_the_states_of_records_that_come_again) {
    const temporary_folder at;
    const rocksdb::database state(at.path(), "orders");
    failing_sink sink;
    run_exactly(state, orders(6'000, 100), sink);
    run_exactly(state, orders(6'001, 100), sink);
    failing_sink other;
    const std::string text = error_of<stream::corrupt_state>([&] { run_exactly(state, orders(10, 10), other); });
    EXPECT_TRUE(has(text, at.path() + " has states, and the sink of the job has committed nothing")) << text;
}

TEST(rocksdb_database, has_no_key_that_a_fold_forgets) {
    const temporary_folder at;
    rocksdb::database state(at.path(), "orders", {.cached_keys = 10});
    const auto add_up = [&](std::size_t n) {
        std::vector<sums> outputs;
        on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
            stream::memory_source source(orders(n, 100));
            stream::memory_sink<sums> sink;
            const auto fourths = [](total& t, const order& o, const auto& emit) {
                emit(sums{o.customer, ++t.sum});
                return t.sum == 4 ? stream::key_state::forget : stream::key_state::keep;
            };
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key(&order::customer) |
                                           stream::fold<total, sums>(fourths, state.table("fourths")) |
                                           stream::to(sink),
                                       stream::job{.workers = 2, .slots = 8, .max_batch = 50, .state = state});
            outputs = sink.values();
            co_await state.close(here);
        });
        return by_customer(outputs);
    };
    EXPECT_EQ(add_up(370)[7], (std::vector<std::int64_t>{1, 2, 3, 4}));
    EXPECT_EQ(keys_in(at.path()), 30U);  // those with three orders
    EXPECT_EQ(add_up(510)[7], (std::vector<std::int64_t>{1}));
    EXPECT_EQ(keys_in(at.path()), 100U);
    (void)add_up(800);
    EXPECT_EQ(keys_in(at.path()), 0U);
}

TEST(rocksdb_database, reads_states_of_an_older_version) {
    const temporary_folder at;
    const rocksdb::database state(at.path(), "orders", {.cached_keys = 1});
    const auto counts = [&](std::vector<order> values, auto fold, std::uint32_t version) {
        std::vector<sums> last;
        on_pool(1, [&](coflux::environment& here) -> coflux::call<void> {
            stream::memory_source source(std::move(values));
            stream::memory_sink<sums> sink;
            (void)co_await stream::run(
                here, stream::from(source) | stream::by_key(&order::customer) | std::move(fold) | stream::to(sink),
                stream::job<stream::at_least_once_t, stream::fail_job, rocksdb::database>{
                    .workers = 1, .state_version = version, .state = state});
            last = sink.values();
        });
        return last;
    };
    const auto first = stream::fold<total, sums>(add, state.table("t"));
    const auto both = stream::fold<second, sums>(
        [](second& t, const order& o, const auto& emit) {
            t.sum += o.amount;
            emit(sums{++t.count, t.sum});
        },
        state.table("t"));
    (void)counts({{1, 10}, {2, 20}}, first, 0);
    EXPECT_EQ(counts({{1, 10}, {2, 20}, {2, 1}}, both, 1), (std::vector<sums>{{1, 21}}));
    EXPECT_EQ(counts({{1, 10}, {2, 20}, {2, 1}, {1, 1}, {2, 1}}, both, 1), (std::vector<sums>{{1, 11}, {2, 22}}));
    const std::string text = error_of<stream::corrupt_state>([&] { (void)counts({}, first, 0); });
    EXPECT_TRUE(has(text, "is of version 1; job::state_version is 0")) << text;
}

TEST(rocksdb_database, goes_on_behind_a_job_that_was_stopped_while_it_wrote) {
    const temporary_folder at;
    const std::vector<order> all = orders(30'000, 1'000);
    const rocksdb::database state(at.path(), "orders", {.cached_keys = 100});
    for (int ms = 1; ms != 15; ++ms) {
        on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
            stream::memory_source source(all);
            stream::memory_sink<sums> sink;
            (void)co_await coflux::timeout(run_into(here, state, source, sink, 2), std::chrono::milliseconds(5 * ms));
        });
    }
    EXPECT_EQ(run(state, all), expected(all));
}

TEST(rocksdb_database, says_which_folder_is_not_that_of_the_job) {
    const temporary_folder at;
    const std::string none = at.path("none");
    EXPECT_TRUE(has(error_of<std::system_error>([&] { (void)load({none, "orders"}); }), none));
    EXPECT_FALSE(fs::exists(none));
    const std::string file = at.file("file", "text");
    EXPECT_TRUE(has(error_of<std::system_error>([&] { (void)load({file, "orders"}); }), file));
    at.file("others/0000000001.checkpoint", "text");
    const std::string text = error_of<stream::corrupt_state>([&] { (void)load({at.path("others"), "orders"}); });
    EXPECT_TRUE(has(text, at.path("others") + " has files, and they are no database")) << text;
    fs::create_directory(at.path("orders"));
    (void)run({at.path("orders"), "orders"}, orders(10, 10));
    const std::string job = error_of<stream::corrupt_state>([&] { (void)load({at.path("orders"), "sales"}); });
    EXPECT_TRUE(has(job, at.path("orders") + " is of the job \"orders\"; this job is \"sales\"")) << job;
}

TEST(rocksdb_database, is_open_in_one_process) {
    const temporary_folder at;
    store_two(at);
    const auto error = [&] { return error_of<std::system_error>([&] { (void)load({at.path(), "orders"}); }); };
    {
        rocksdb::database other(at.path(), "orders");
        (void)load(other);
        EXPECT_TRUE(has(error(), at.path() + ": ") && has(error(), "it is open elsewhere")) << error();
    }
    // Another process: it locks as RocksDB does, and waits for the end of the pipe.
    int wait[2];
    int told[2];
    ASSERT_EQ(::pipe(wait) + ::pipe(told), 0);
    const std::string lock = at.path("LOCK");
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(wait[1]);
        struct flock all = {};
        all.l_type = F_WRLCK;
        char byte = ::fcntl(::open(lock.c_str(), O_RDWR), F_SETLK, &all) == 0 ? 'y' : 'n';
        (void)!::write(told[1], &byte, 1);
        (void)!::read(wait[0], &byte, 1);
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(told[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    EXPECT_TRUE(has(error(), "it is open elsewhere")) << error();
    for (const int each : {wait[0], wait[1], told[0], told[1]}) ::close(each);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(shown(load({at.path(), "orders"})), "p2 b");
}

TEST(rocksdb_database, says_what_is_torn_and_takes_a_write_that_nobody_was_told_of_as_none) {
    const temporary_folder at;
    store_two(at);
    const auto log = [&] {
        for (const auto& each : fs::directory_iterator(at.path())) {
            if (each.path().extension() == ".log" && each.file_size() != 0) return each.path().string();
        }
        return std::string();
    };
    const auto error = [&] { return error_of<stream::corrupt_state>([&] { (void)load({at.path(), "orders"}); }); };
    const std::string path = log();
    ASSERT_FALSE(path.empty());
    const std::string good = coflux_test::text_of(path);
    const temporary_folder copy;
    fs::copy(at.path(), copy.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::string changed = good;
    changed[changed.size() / 4] = static_cast<char>(changed[changed.size() / 4] ^ 1);
    at.file(fs::path(path).filename().string(), changed);
    EXPECT_TRUE(has(error(), at.path())) << error();
    copy.file(fs::path(path).filename().string(), good.substr(0, good.size() - 1));
    EXPECT_EQ(shown(load({copy.path(), "orders"})), "p1 a");
}

TEST(rocksdb_database, refuses_a_newer_format_and_a_database_of_others) {
    const temporary_folder at;
    store_two(at);
    const auto error = [&] { return error_of<stream::corrupt_state>([&] { (void)load({at.path(), "orders"}); }); };
    with_files(at.path(), [](::rocksdb::DB& files) {
        std::string head;
        EXPECT_TRUE(files.Get({}, "h", &head).ok());
        head[8] = 2;
        EXPECT_TRUE(files.Put({}, "h", head).ok());
    });
    EXPECT_TRUE(has(error(), at.path()) && has(error(), "version 2")) << error();
    with_files(at.path(),
               [](::rocksdb::DB& files) { EXPECT_TRUE(files.Delete({}, "h").ok() && files.Delete({}, "p").ok()); });
    EXPECT_TRUE(has(error(), at.path() + " is not that of a job")) << error();
}

TEST(rocksdb_database, refuses_a_table_that_two_folds_have_or_that_is_not_of_the_jobs_state) {
    const temporary_folder at;
    const temporary_folder elsewhere;
    const rocksdb::database state(at.path(), "orders");
    const rocksdb::database other(elsewhere.path(), "orders");
    const auto error = [&](const rocksdb::table& a, const rocksdb::table& b) {
        return error_of<std::invalid_argument>([&] {
            on_pool(1, [&](coflux::environment& here) -> coflux::call<void> {
                stream::memory_source source(orders(10, 10));
                stream::memory_sink<sums> sink;
                (void)co_await stream::run(
                    here,
                    stream::from(source) | stream::by_key(&order::customer) |
                        stream::fold<total, order>([](total&, const order& o, const auto& emit) { emit(o); }, a) |
                        stream::fold<total, sums>(add, b) | stream::to(sink),
                    stream::job{.workers = 1, .state = state});
            });
        });
    };
    EXPECT_TRUE(has(error(state.table("a"), state.table("a")), "two folds have the table \"a\""));
    EXPECT_TRUE(
        has(error(state.table("a"), other.table("b")), elsewhere.path() + ", which is not the .state of the job"));
    (void)load(other);
    EXPECT_EQ(error(state.table("c"), state.table("d")), "nothing was thrown");
    EXPECT_THROW((void)state.table(""), std::invalid_argument);
}

TEST(rocksdb_database, is_closed_and_opened_again) {
    const temporary_folder at;
    rocksdb::database state(at.path(), "orders");
    store_two(at);
    (void)load(state);
    on_pool(1, [&](coflux::environment& here) -> coflux::call<void> { co_await state.close(here); });
    EXPECT_EQ(shown(load({at.path(), "orders"})), "p2 b");
    EXPECT_EQ(shown(load(state)), "p2 b");
    EXPECT_THROW(store({at.path(), "orders"}, made(3, "c")), std::logic_error);
}

}  // namespace
