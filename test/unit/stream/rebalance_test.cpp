// A job over a source whose partitions come and go: what it does where one is lost, and what a failure leaves.
#include <coflux/stream/source.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "jobs.hpp"

namespace stream_test {

/// Gives ten numbers of a partition, loses it, and ends.
class losing_source {
public:
    using value_type = int;

    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        if (step_ == 1) change_ = {stream::partition_event::lost, 0};
        if (step_ == 0) {
            for (int i = 0; i != 10; ++i) into.push_back({i, stream::no_time, i + 1});
        }
        co_return step_++ < 2;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "orders/7"; }
    coflux::call<void> seek(coflux::environment&, const stream::positions&) { co_return; }
    coflux::call<void> commit(coflux::environment&, const stream::positions& done) {
        committed = done;
        co_return;
    }
    std::optional<stream::partition_change> take_change() {
        const auto change = change_;
        change_.reset();
        return change;
    }
    coflux::call<void> release(coflux::environment&, std::uint32_t) { co_return; }

    stream::positions committed;

private:
    int step_ = 0;
    std::optional<stream::partition_change> change_;
};
static_assert(stream::rebalanced_source<losing_source> && stream::seekable_source<losing_source>);

/// Notes what becomes of its transaction.
struct noting_sink {
    std::string notes;
    bool commits = true;
    coflux::call<void> write(coflux::environment&, std::span<stream::record<int>>) {
        notes += 'w';
        co_return;
    }
    coflux::call<void> flush(coflux::environment&) { co_return; }
    coflux::call<void> begin(coflux::environment&) {
        notes += 'b';
        co_return;
    }
    coflux::call<void> commit(coflux::environment&, const stream::positions&) {
        notes += 'c';
        if (!commits) throw std::runtime_error("the commit has failed");
        co_return;
    }
    coflux::call<void> abort(coflux::environment&) {
        notes += 'a';
        throw std::runtime_error("the abort has failed");
        co_return;
    }
    coflux::call<std::optional<stream::positions>> committed(coflux::environment&) { co_return std::nullopt; }
};

/// Fails when its numbers are written.
struct source_failing_behind {
    using value_type = int;
    noting_sink& of;
    bool has_given = false;
    coflux::call<bool> read(coflux::environment&, stream::batch<int>& into, std::size_t) {
        while (has_given) {
            if (of.notes.ends_with('w')) throw std::runtime_error("the source has failed");
            co_await coflux::yield();
        }
        has_given = true;
        into.push_back({1, stream::no_time, 1});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
    coflux::call<void> seek(coflux::environment&, const stream::positions&) { co_return; }
};

}  // namespace stream_test

namespace {

namespace stream = coflux::stream;
using namespace stream_test;

TEST(rebalance, of_a_lost_partition_leaves_a_job_that_is_at_least_once_running) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        losing_source source;
        stream::memory_sink<int> sink;
        const auto report = co_await stream::run(here, stream::from(source) | stream::to(sink),
                                                 stream::job{.workers = 1, .commit_every = std::chrono::hours(1)});
        EXPECT_EQ(report.outputs, 10U);
        EXPECT_TRUE(source.committed.empty());  // it is another's to say how far it has come
    });
}

TEST(rebalance, of_a_lost_partition_fails_a_job_that_is_exactly_once) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        losing_source source;
        stream::memory_sink<int> sink;
        std::string told;
        try {
            (void)co_await stream::run(
                here, stream::from(source) | stream::to(sink),
                stream::job{.workers = 1, .commit_every = std::chrono::hours(1), .delivery = stream::exactly_once});
        } catch (const stream::partition_lost& e) {
            told = e.what();
        }
        EXPECT_NE(told.find("orders/7"), std::string::npos) << told;
        EXPECT_TRUE(sink.values().empty());
        EXPECT_TRUE(source.committed.empty());
    });
}

auto exact_job() {
    return stream::job{.workers = 1, .commit_every = std::chrono::hours(1), .delivery = stream::exactly_once};
}

template <typename Source>
coflux::call<std::string> error_of(coflux::environment&, Source& source, noting_sink& sink) {
    auto& here = co_await coflux::context();
    std::string told;
    try {
        (void)co_await stream::run(here, stream::from(source) | stream::to(sink), exact_job());
    } catch (const std::runtime_error& e) {
        told = e.what();
    }
    co_return told;
}

TEST(rebalance, of_no_partition_aborts_the_transaction_of_a_job_that_fails) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        noting_sink sink;
        source_failing_behind source{sink};
        const std::string told = co_await error_of(here, source, sink);
        EXPECT_EQ(told, "the source has failed");
        EXPECT_EQ(sink.notes, "bwa");
    });
}

TEST(rebalance, of_no_partition_leaves_a_commit_that_has_failed_to_the_next_run) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        noting_sink sink;
        sink.commits = false;
        stream::memory_source source(std::vector{1});
        const std::string told = co_await error_of(here, source, sink);
        EXPECT_EQ(told, "the commit has failed");
        EXPECT_EQ(sink.notes, "bwc");
    });
}

}  // namespace
