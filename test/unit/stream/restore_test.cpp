// A job that begins with stored state: all of its workers take theirs, before it reads.
#include <coflux/stream/run.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "jobs.hpp"
#include "support/temporary_folder.hpp"

namespace {

namespace stream = coflux::stream;
using stream_test::on_pool;
using stream_test::order;
using stream_test::total;
using sums = std::pair<std::uint64_t, std::int64_t>;

constexpr auto add = [](total& t, const order& o, const auto& emit) {
    t.sum += o.amount;
    emit(sums{o.customer, t.sum});
};
constexpr auto add_sums = [](total& t, const sums& s, const auto& emit) {
    t.sum += s.second;
    emit(sums{s.first % 10, t.sum});
};

/// Sums by customer, and sums of those by the last digit of it. Returns: the last output of each digit.
std::map<std::uint64_t, std::int64_t> run(stream::memory_store& store, std::vector<order> values, std::size_t workers) {
    std::map<std::uint64_t, std::int64_t> last;
    on_pool(3, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::move(values));
        stream::memory_sink<sums> sink;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::by_key(&order::customer) |
                                       stream::fold<total, sums>(add) |
                                       stream::by_key([](const sums& s) { return s.first % 10; }) |
                                       stream::fold<total, sums>(add_sums) | stream::to(sink),
                                   stream::job{.workers = workers, .slots = 16, .state = std::ref(store)});
        for (const auto& [digit, sum] : sink.values()) last[digit] = std::max(last[digit], sum);
    });
    return last;
}

TEST(restore, gives_each_worker_its_slots_however_many_there_are) {
    std::vector<order> values;
    for (std::uint64_t i = 0; i != 4'000; ++i) values.push_back({i % 1'000, 1});
    stream::memory_store whole;
    const auto expected = run(whole, values, 1);
    for (const std::size_t workers : {1U, 2U, 3U, 16U}) {
        stream::memory_store store;
        const std::vector<order> first(values.begin(), values.begin() + 2'000);
        (void)run(store, first, 3);
        EXPECT_EQ(run(store, values, workers), expected) << workers;  // it is read from where the first run has ended
    }
}

TEST(restore, finds_no_key_that_a_fold_has_forgotten) {
    stream::memory_store store;
    const auto add_up = [&](std::size_t n) {
        std::vector<sums> outputs;
        on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
            stream::memory_source source(stream_test::orders(n));
            stream::memory_sink<sums> sink;
            const auto thirds = [](total& t, const order& o, const auto& emit) {
                emit(sums{o.customer, ++t.sum});
                return t.sum == 3 ? stream::key_state::forget : stream::key_state::keep;
            };
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key(&order::customer) |
                                           stream::fold<total, sums>(thirds) | stream::to(sink),
                                       stream::job{.workers = 2, .slots = 4, .state = std::ref(store)});
            outputs = sink.values();
        });
        std::size_t keys = 0;
        for (const stream::slot_state& s : store.kept().back().states) {
            stream::state_reader in(s.bytes);
            (void)in.number<std::uint32_t>();
            keys += in.size();
        }
        return std::pair(outputs, keys);
    };
    EXPECT_EQ(add_up(300).second, 0U);
    const auto [outputs, keys] = add_up(330);
    EXPECT_EQ(keys, 30U);
    for (const auto& [customer, n] : outputs) EXPECT_EQ(n, 1) << customer;
}

/// Returns: the error of a job of that name that keeps its state in `folder`, and whose sink has committed nothing.
std::string runs_exactly_once(const std::string& folder, const char* name) {
    std::string error;
    on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector<order>(300, order{1, 1}));
        stream::memory_sink<sums> sink;
        try {
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key(&order::customer) |
                                           stream::fold<total, sums>(add) | stream::to(sink),
                                       stream::job{.name = name,
                                                   .workers = 1,
                                                   .delivery = stream::exactly_once,
                                                   .state = stream::folder_store(folder, name)});
        } catch (const stream::corrupt_state& e) {
            error = e.what();
        }
        EXPECT_EQ(sink.values().size(), error.empty() ? 300U : 0U);
    });
    return error;
}

TEST(restore, takes_no_store_of_another_job_where_the_sink_has_committed_nothing) {
    const coflux_test::temporary_folder folder;
    EXPECT_EQ(runs_exactly_once(folder.path(), "one"), "");
    EXPECT_NE(runs_exactly_once(folder.path(), "two").find("it is one of the job \"one\""), std::string::npos);
    EXPECT_EQ(runs_exactly_once(folder.path(), "one"), "") << "a new sink of the same job begins anew";
}

TEST(restore, reads_nothing_where_one_state_cannot_be_read) {
    stream::memory_store store;
    std::vector<order> values;
    for (std::uint64_t i = 0; i != 100; ++i) values.push_back({i, 1});
    (void)run(store, values, 2);
    for (const std::uint32_t region : {1U, 2U}) {
        stream::checkpoint changed = store.kept().back();
        const auto at = std::ranges::find_if(changed.states, [&](const auto& s) { return s.region == region; });
        ASSERT_NE(at, changed.states.end());
        at->bytes.pop_back();
        stream::memory_store other;
        std::size_t written = 0;
        std::string error;
        on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
            co_await other.store(here, changed);
            stream::memory_source source(std::vector<order>(300, order{1, 1}));
            stream::memory_sink<sums> sink;
            try {
                (void)co_await stream::run(here,
                                           stream::from(source) | stream::by_key(&order::customer) |
                                               stream::fold<total, sums>(add) |
                                               stream::by_key([](const sums& s) { return s.first % 10; }) |
                                               stream::fold<total, sums>(add_sums) | stream::to(sink),
                                           stream::job{.workers = 2, .slots = 16, .state = std::ref(other)});
            } catch (const stream::corrupt_state& e) {
                error = e.what();
            }
            written = sink.values().size();
        });
        EXPECT_NE(error, "");
        EXPECT_EQ(written, 0U);
    }
}

}  // namespace
