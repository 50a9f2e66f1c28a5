#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs.hpp"

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using stream_test::on_pool;
using stream_test::order;
using stream_test::orders;
using stream_test::total;
using sums = std::pair<std::uint64_t, std::int64_t>;

constexpr auto running_sum = [](total& t, const order& o, const auto& emit) {
    t.sum += o.amount;
    emit(sums{o.customer, t.sum});
};

std::map<std::uint64_t, std::int64_t> sums_of(const std::vector<order>& all) {
    std::map<std::uint64_t, std::int64_t> of;
    for (const order& o : all) of[o.customer] += o.amount;
    return of;
}
// The last output of each customer, which is the whole sum where its records were in order and each came once.
std::map<std::uint64_t, std::int64_t> last_of(const std::vector<sums>& all) {
    std::map<std::uint64_t, std::int64_t> of;
    for (const auto& [customer, sum] : all) of[customer] = sum;
    return of;
}

TEST(run, keeps_the_order_of_a_source) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(10'000));
        stream::memory_sink<std::int64_t> sink;
        const auto report = co_await stream::run(
            here, stream::from(source) | stream::filter([](const order& o) { return o.amount > 100; }) |
                      stream::map([](const order& o) { return o.amount * 2; }) | stream::to(sink));
        EXPECT_EQ(report.records, 10'000U);
        EXPECT_EQ(report.outputs, sink.values().size());
        std::vector<std::int64_t> expected;
        for (const order& o : orders(10'000)) {
            if (o.amount > 100) expected.push_back(o.amount * 2);
        }
        EXPECT_EQ(sink.values(), expected);
    });
}

TEST(run, keeps_the_state_of_each_key_with_one_worker) {
    for (const std::size_t workers : {1, 2, 5}) {
        for (const std::size_t batch : {1, 64, 1000}) {
            on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
                stream::memory_source source(orders(5'000));
                stream::memory_sink<sums> sink;
                (void)co_await stream::run(here,
                                           stream::from(source) | stream::by_key(&order::customer) |
                                               stream::fold<total, sums>(running_sum) | stream::to(sink),
                                           stream::job{.workers = workers, .max_batch = batch});
                EXPECT_EQ(sink.values().size(), 5'000U);
                EXPECT_EQ(last_of(sink.values()), sums_of(orders(5'000)));
            });
        }
    }
}

TEST(run, runs_region_behind_region) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(10'000));
        stream::memory_sink<std::int64_t> sink;
        (void)co_await stream::run(
            here,
            stream::from(source) | stream::by_key(&order::customer) |
                stream::fold<total, sums>([](total& t, const order& o, const auto& emit) {
                    t.sum += o.amount;
                    if (t.sum % 7 == 0) emit(sums{o.customer, t.sum});
                }) |
                stream::to_one() |
                stream::fold<total, std::int64_t>([](total& t, const sums&, const auto& emit) { emit(++t.sum); }) |
                stream::to(sink),
            stream::job{.workers = 3, .max_batch = 50});
        std::map<std::uint64_t, std::int64_t> of;
        std::int64_t count = 0;
        for (const order& o : orders(10'000)) count += (of[o.customer] += o.amount) % 7 == 0 ? 1 : 0;
        EXPECT_EQ(static_cast<std::int64_t>(sink.values().size()), count);
        EXPECT_EQ(sink.values().back(), count);
        EXPECT_TRUE(std::ranges::is_sorted(sink.values()));
    });
}

TEST(run, runs_an_empty_source) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::vector<order>{});
        stream::memory_sink<order> sink;
        const auto report = co_await stream::run(here, stream::from(source) | stream::to(sink));
        EXPECT_EQ(report.records, 0U);
        EXPECT_EQ(report.commits, 1U);
        EXPECT_FALSE(report.drained);
    });
}

TEST(run, reads_all_partitions_of_a_source) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        std::vector<std::vector<order>> parts{orders(1'000), {}, orders(300), orders(7)};
        stream::memory_source<order> source(parts);
        stream::memory_sink<sums> sink;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::by_key(&order::customer) |
                                       stream::fold<total, sums>(running_sum) | stream::to(sink),
                                   stream::job{.workers = 2, .max_batch = 10});
        auto expected = sums_of(parts[0]);
        for (const std::size_t p : {2, 3}) {
            for (const auto& [customer, sum] : sums_of(parts[p])) expected[customer] += sum;
        }
        EXPECT_EQ(last_of(sink.values()), expected);
    });
}

TEST(run, fails_with_the_error_of_a_stage) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(1'000));
        stream::memory_sink<std::int64_t> sink;
        std::string what;
        try {
            (void)co_await stream::run(
                here, stream::from(source) | stream::by_key(&order::customer) | stream::map([](const order& o) {
                          if (o.amount == 250) throw std::runtime_error("amount of 250");
                          return o.amount;
                      }) | stream::to(sink));
        } catch (const std::runtime_error& e) {
            what = e.what();
        }
        EXPECT_EQ(what, "amount of 250");
    });
}

TEST(run, skips_and_counts_records_that_fail) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(900));
        stream::memory_sink<std::int64_t> sink;
        const auto report = co_await stream::run(here, stream::from(source) | stream::map([](const order& o) {
                                                           if (o.amount == 250) throw std::runtime_error("no");
                                                           return o.amount;
                                                       }) | stream::to(sink),
                                                 stream::job{.max_batch = 64, .on_error = stream::skip_record()});
        EXPECT_EQ(report.skipped, 3U);
        EXPECT_EQ(sink.values().size(), 897U);
        EXPECT_EQ(std::ranges::count(sink.values(), 250), 0);
    });
}

TEST(run, tries_a_record_again_before_it_gives_it_up) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(300));
        stream::memory_sink<std::int64_t> sink;
        int attempts = 0;
        const auto report = co_await stream::run(here, stream::from(source) | stream::map([&](const order& o) {
                                                           if (o.amount == 250 && ++attempts < 3)
                                                               throw std::runtime_error("not yet");
                                                           return o.amount;
                                                       }) | stream::to(sink),
                                                 stream::job{.retries = {.attempts = 5, .first = 1us}});
        EXPECT_EQ(report.retried, 2U);
        EXPECT_EQ(report.skipped, 0U);
        EXPECT_EQ(sink.values().size(), 300U);
        EXPECT_TRUE(std::ranges::is_sorted(sink.values()));
    });
}

TEST(run, tries_each_record_as_often_as_the_job_says) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        // In a head, and in a region.
        for (const bool is_keyed : {false, true}) {
            stream::memory_source source(orders(300));
            stream::memory_sink<std::int64_t> sink;
            std::map<std::int64_t, int> attempts;
            const auto value = [&](const order& o) {
                if (o.amount % 10 == 3 && ++attempts[o.amount] < 3) throw std::runtime_error("not yet");
                return o.amount;
            };
            const stream::job options{.workers = 1, .retries = {.attempts = 2, .first = 1us}};
            std::uint64_t retried = 0;
            if (is_keyed) {
                const auto report = co_await stream::run(here,
                                                         stream::from(source) | stream::by_key(&order::customer) |
                                                             stream::map(value) | stream::to(sink),
                                                         options);
                retried = report.retried;
            } else {
                const auto report =
                    co_await stream::run(here, stream::from(source) | stream::map(value) | stream::to(sink), options);
                retried = report.retried;
            }
            EXPECT_EQ(retried, 60U);
            EXPECT_EQ(sink.values().size(), 300U);
        }
    });
}

TEST(run, gives_up_a_record_whose_key_throws) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        for (const std::size_t workers : {1, 2}) {
            stream::memory_source source(orders(300));
            stream::memory_sink<std::int64_t> sink;
            const auto key = [](const order& o) {
                if (o.amount == 250) throw std::runtime_error("no key");
                return o.customer;
            };
            const auto amount = [](const order& o) { return o.amount; };
            const auto report = co_await stream::run(
                here, stream::from(source) | stream::by_key(key) | stream::map(amount) | stream::to(sink),
                stream::job{.workers = workers, .max_batch = 64, .on_error = stream::skip_record()});
            EXPECT_EQ(report.skipped, 1U);
            EXPECT_EQ(sink.values().size(), 299U);
            EXPECT_EQ(std::ranges::count(sink.values(), 250), 0);
        }
    });
}

TEST(run, leaves_nothing_of_an_output_whose_key_throws) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        for (const std::size_t workers : {1, 2}) {
            stream::memory_source source(orders(300));
            stream::memory_sink<std::string> sink;
            const auto emits = [](const order& o, const auto& emit) {
                try {
                    emit(std::to_string(o.amount) + " of a text that is on the heap");
                } catch (const std::runtime_error&) {
                    emit("none");
                }
            };
            const auto key = [](const std::string& text) {
                if (text.starts_with("25")) throw std::runtime_error("no key");
                return text;
            };
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key(&order::customer) |
                                           stream::flat_map<std::string>(emits) | stream::by_key(key) |
                                           stream::map([](const std::string& text) { return text; }) | stream::to(sink),
                                       stream::job{.workers = workers});
            EXPECT_EQ(sink.values().size(), 300U);
            EXPECT_EQ(std::ranges::count(sink.values(), ""), 0);
            EXPECT_EQ(std::ranges::count(sink.values(), "none"), 11);  // 25, and 250 to 259
        }
    });
}

TEST(run, takes_back_what_a_failed_record_has_emitted) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        for (const std::size_t workers : {1, 3}) {
            stream::memory_source source(orders(300));
            stream::memory_sink<std::int64_t> sink;
            const auto report =
                co_await stream::run(here,
                                     stream::from(source) | stream::by_key(&order::customer) |
                                         stream::flat_map<std::int64_t>([&](const order& o, const auto& emit) {
                                             emit(o.amount);
                                             if (o.amount == 250) throw std::runtime_error("after the first");
                                             emit(-o.amount);
                                         }) |
                                         stream::by_key([](std::int64_t v) { return v; }) |
                                         stream::map([](std::int64_t v) { return v; }) | stream::to(sink),
                                     stream::job{.workers = workers, .on_error = stream::skip_record()});
            EXPECT_EQ(report.skipped, 1U);
            EXPECT_EQ(std::ranges::count(sink.values(), 250), 0);
            EXPECT_EQ(sink.values().size(), 598U);
        }
    });
}

TEST(run, fails_where_a_state_has_counted_a_record_that_fails) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(300));
        stream::memory_sink<std::int64_t> sink;
        bool failed = false;
        try {
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key(&order::customer) |
                                           stream::fold<total, sums>(running_sum) |
                                           stream::map([](const sums& s) -> std::int64_t {
                                               if (s.second == 250) throw std::runtime_error("behind the state");
                                               return s.second;
                                           }) |
                                           stream::to(sink),
                                       stream::job{.on_error = stream::skip_record()});
        } catch (const std::runtime_error&) {
            failed = true;
        }
        EXPECT_TRUE(failed);
    });
}

TEST(run, fails_where_a_record_fails_of_which_a_state_has_a_part) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(300));
        stream::memory_sink<std::int64_t> sink;
        const auto twice = [](const order& o, const auto& emit) {
            emit(o);
            if (o.amount == 250) throw std::runtime_error("after the first");
            emit(o);
        };
        const auto counts = [](total& t, const order&, const auto&) { ++t.sum; };
        EXPECT_THROW((void)co_await stream::run(here,
                                                stream::from(source) | stream::by_key(&order::customer) |
                                                    stream::flat_map<order>(twice) |
                                                    stream::fold<total, std::int64_t>(counts) | stream::to(sink),
                                                stream::job{.on_error = stream::skip_record()}),
                     std::runtime_error);
    });
}

TEST(run, has_a_state_for_each_partition_however_few_slots_there_are) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source<int> source(std::vector<std::vector<int>>{{1, 1}, {10, 10}, {100, 100}});
        stream::memory_sink<int> sink;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::by_partition() |
                                       stream::fold<total, int>([](total& t, int value, const auto& emit) {
                                           t.sum += value;
                                           emit(static_cast<int>(t.sum));
                                       }) |
                                       stream::to(sink),
                                   stream::job{.workers = 2, .slots = 2});
        auto got = sink.values();
        std::ranges::sort(got);
        EXPECT_EQ(got, (std::vector{1, 2, 10, 20, 100, 200}));
    });
}

TEST(run, gives_dead_letters_with_their_place_and_error) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(300));
        stream::memory_sink<std::int64_t> sink;
        stream::memory_sink<stream::dead_letter> dead;
        const auto report = co_await stream::run(
            here, stream::from(source) | stream::by_key(&order::customer) | stream::map([](const order& o) {
                      if (o.amount == 250) throw std::runtime_error("amount of 250");
                      return o.amount;
                  }) | stream::to(sink),
            stream::job{.name = "sales", .on_error = stream::dead_letters(dead)});
        EXPECT_EQ(report.dead, 1U);
        EXPECT_EQ(dead.values().size(), 1U);
        if (dead.values().size() == 1) {
            const auto& letter = dead.values()[0];
            EXPECT_EQ(letter.job, "sales");
            EXPECT_EQ(letter.stage, "region 1");
            EXPECT_EQ(letter.error, "amount of 250");
            EXPECT_EQ(letter.attempts, 1U);
            EXPECT_EQ(letter.partition, "0");
            EXPECT_EQ(letter.next, 251);
        }
        EXPECT_EQ(sink.values().size(), 299U);
    });
}

TEST(run, gives_a_sink_the_same_records_again) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(300));
        stream_test::refusing_sink<order> sink([n = 0](const order&) mutable { return ++n == 150; });
        const auto report =
            co_await stream::run(here, stream::from(source) | stream::to(sink),
                                 stream::job{.max_batch = 64, .retries = {.attempts = 2, .first = 1us}});
        EXPECT_EQ(report.retried, 1U);
        EXPECT_EQ(sink.values.size(), 300U);
    });
}

TEST(run, finds_the_records_that_a_sink_refuses) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        for (const std::int64_t poison : {0, 63, 64, 150, 299}) {
            stream::memory_source source(orders(300));
            stream_test::refusing_sink<order> sink([=](const order& o) { return o.amount == poison; });
            stream::memory_sink<stream::dead_letter> dead;
            const auto report = co_await stream::run(
                here, stream::from(source) | stream::to(sink),
                stream::job{.max_batch = 64, .on_error = stream::dead_letters(dead), .retries = {.attempts = 0}});
            EXPECT_EQ(report.dead, 1U);
            EXPECT_EQ(report.outputs, 299U);
            EXPECT_EQ(sink.values.size(), 299U);
            EXPECT_EQ(dead.values().size(), 1U);
            if (!dead.values().empty()) {
                EXPECT_EQ(dead.values()[0].stage, "sink");
                EXPECT_EQ(dead.values()[0].next, poison + 1);
            }
        }
    });
}

TEST(run, fails_with_the_error_of_a_source_and_of_a_sink) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream_test::failing_source source;
        stream::memory_sink<order> sink;
        EXPECT_THROW((void)co_await stream::run(here, stream::from(source) | stream::to(sink)), std::runtime_error);
        stream::memory_source other(orders(10));
        stream_test::refusing_sink<order> refusing([](const order&) { return true; });
        EXPECT_THROW((void)co_await stream::run(here, stream::from(other) | stream::to(refusing)), std::runtime_error);
    });
}

TEST(run, ends_with_all_that_it_has_read_when_it_is_drained) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream_test::endless_source source;
        stream::memory_sink<sums> sink;
        stream::job_control control;
        std::atomic<int> seen{0};
        const auto report = co_await stream::run(here,
                                                 stream::from(source) | stream::by_key(&order::customer) |
                                                     stream::tap([&](const order&) {
                                                         if (++seen == 5'000) control.drain();
                                                     }) |
                                                     stream::fold<total, sums>(running_sum) | stream::to(sink),
                                                 stream::job{.workers = 2, .max_batch = 10, .control = &control});
        EXPECT_TRUE(report.drained);
        EXPECT_EQ(report.records, sink.values().size());
        EXPECT_EQ(report.records, static_cast<std::uint64_t>(source.given));
        EXPECT_GE(report.records, 5'000U);
    });
}

TEST(run, is_drained_while_its_source_waits) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream_test::waiting_source source;
        stream::memory_sink<order> sink;
        stream::job_control control;
        control.drain();
        const auto report =
            co_await stream::run(here, stream::from(source) | stream::to(sink), stream::job{.control = &control});
        EXPECT_TRUE(report.drained);
    });
}

TEST(run, stops_with_its_awaiter) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream_test::endless_source source;
        stream_test::refusing_sink<order> sink([](const order&) { return false; });
        const auto report = co_await coflux::timeout(
            stream::run(here, stream::from(source) | stream::to(sink), stream::job{.workers = 2, .max_batch = 3}),
            20ms);
        EXPECT_TRUE(report.timed_out());
    });
}

TEST(run, holds_a_source_up_whose_sink_is_slow) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream_test::endless_source source;
        stream_test::gated_sink<order> sink;
        stream::job_control control;
        auto watch = [](coflux::environment&, coflux::borrowed<stream_test::endless_source> from,
                        coflux::borrowed<stream_test::gated_sink<order>> into,
                        coflux::borrowed<stream::job_control> job) -> coflux::fork<std::int64_t> {
            // The sink holds its first batch. Let the others come as far as they can.
            co_await into->has_begun.wait();
            std::int64_t before = -1;
            for (int unchanged = 0; unchanged != 1'000;) {
                co_await coflux::yield();
                unchanged = std::exchange(before, from->given.load()) == before ? unchanged + 1 : 0;
            }
            job->drain();
            into->gate.set();
            co_return before;
        };
        auto watching = watch(here, coflux::borrowed(source), coflux::borrowed(sink), coflux::borrowed(control));
        (void)co_await stream::run(here, stream::from(source) | stream::to(sink),
                                   stream::job{.workers = 1, .max_batch = 10, .queue_batches = 4, .control = &control});
        // Two links with four batches each, and one that the reader holds.
        EXPECT_LE(co_await std::move(watching), 90);
        EXPECT_EQ(static_cast<std::int64_t>(sink.written), source.given);
    });
}

TEST(run, has_fewer_buffers_of_a_link_where_they_are_large) {
    EXPECT_EQ(stream::detail::batches_of_link(1), 8U);
    EXPECT_EQ(stream::detail::batches_of_link(250), 8U);
    EXPECT_EQ(stream::detail::batches_of_link(500), 4U);
    EXPECT_EQ(stream::detail::batches_of_link(1'000), 2U);
    EXPECT_EQ(stream::detail::batches_of_link(1'000'000), 2U);
}

TEST(run, moves_slots_from_a_hot_worker) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        // All the load is in slots of the first worker, until they move.
        std::vector<order> all;
        const auto slot = [](std::uint64_t customer) {
            return stream::detail::slot_of(stream::key_hash()(customer), 64);
        };
        for (std::uint64_t customer = 0; all.size() != 60'000; ++customer) {
            if (slot(customer % 1'000) % 2 == 0) all.push_back({customer % 1'000, 1});
        }
        const auto expected = sums_of(all);
        stream::job_control control;
        stream_test::paced_source source{std::move(all), 10'000, control};
        stream::memory_sink<sums> sink;
        const auto report =
            co_await stream::run(here,
                                 stream::from(source) | stream::by_key(&order::customer) |
                                     stream::fold<total, sums>(running_sum) | stream::to(sink),
                                 stream::job{.workers = 2, .max_batch = 100, .commit_every = 1ms, .control = &control});
        EXPECT_GE(report.moves, 1U);
        EXPECT_EQ(last_of(sink.values()), expected);
        EXPECT_EQ(sink.values().size(), 60'000U);
    });
}

TEST(run, refuses_options_that_cannot_be) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        const auto refused = [](coflux::environment& here, auto job) -> coflux::call<bool> {
            stream::memory_source source(orders(1));
            stream::memory_sink<order> sink;
            try {
                (void)co_await stream::run(here, stream::from(source) | stream::to(sink), job);
            } catch (const std::invalid_argument&) {
                co_return true;
            }
            co_return false;
        };
        EXPECT_TRUE(co_await refused(here, stream::job{.slots = 0}));
        EXPECT_TRUE(co_await refused(here, stream::job{.workers = 65}));
        EXPECT_TRUE(co_await refused(here, stream::job{.max_batch = 0}));
        EXPECT_TRUE(co_await refused(here, stream::job{.queue_batches = 1}));
        EXPECT_TRUE(co_await refused(here, stream::job{.linger = -1ms}));
        EXPECT_TRUE(co_await refused(here, stream::job{.idle_after = -1ms}));
        EXPECT_TRUE(co_await refused(here, stream::job{.commit_every = 0s}));
        EXPECT_TRUE(co_await refused(here, stream::job{.lateness = -1ns}));
    });
}

}  // namespace
