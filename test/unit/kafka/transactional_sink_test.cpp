// kafka::transactional_sink, on the brokers of rdkafka_mock.h, which show readers also what is not committed.
#include <coflux/kafka/transactional_sink.hpp>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job_scenes.hpp"

namespace {

using namespace coflux_test;
using coflux::call;
using coflux::environment;

kafka::producer_options transactional(const mock_cluster& cluster) {
    auto options = cluster.producer();
    options.transactional_id = "job-1";
    return options;
}
void encode_number(const int& n, kafka::outgoing& m) {
    if (n % 10 == 5) throw std::invalid_argument("no message for it");
    m.partition = 0;
    m.value = "x";
    m.key = n % 2 == 0 ? "even" : "odd";
}

TEST(kafka_transactional_sink, commits_outputs_with_the_positions_of_its_source) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::producer first(cluster.producer());
        co_await sends_numbers(here, first, "numbers", 100);
        kafka::partition_source in(cluster.member_of("copiers"), {{"numbers", 0}});
        kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                      kafka::keyed(text_of_number, text_of_number));
        stream::job_control control;
        std::size_t count = 0;
        (void)co_await stream::run(here, stream::from(in) | kafka::decode(number_of) | stream::tap([&](int) {
                                             if (++count == 100) control.drain();
                                         }) | stream::to(out),
                                   stream::job{.workers = 1, .delivery = stream::exactly_once, .control = &control});
        co_await out.close(here);
        // The mock's brokers tell a next life only of positions that the consumer itself has committed.
        const stream::positions done{{"numbers/0", 100}};
        co_await in.commit(here, done);  // ignored: it is the sink's
        co_await in.close(here);
        kafka::consumer asks(cluster.member_of("copiers"));
        const std::vector<kafka::position> all{{"numbers", 0}};
        EXPECT_FALSE((co_await asks.committed(here, all)).at(0).has_offset());
        co_await asks.close(here);
        kafka::consumer reader(cluster.member_of("readers"));
        co_await reader.subscribe(here, {"outputs"});
        std::vector<kafka::message> got;
        co_await polls_until(here, reader, got, 100);
        co_await reader.close(here);
    });
}

TEST(kafka_transactional_sink, sends_no_message_twice_where_a_write_is_repeated) {
    mock_cluster cluster;
    cluster.make_topic("numbers", 1);
    cluster.make_topic("outputs", 1);
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("copiers"), {{"numbers", 0}});
        kafka::transactional_sink out(in, transactional(cluster), "outputs", encode_number);
        EXPECT_FALSE((co_await out.committed(here)).has_value());
        co_await out.begin(here);
        std::vector<stream::record<int>> records;
        for (int n = 0; n < 8; ++n) records.push_back({n});
        const auto write = [&](environment&, std::size_t from, std::size_t count) -> call<bool> {
            auto&& self = co_await coflux::context();
            try {
                co_await out.write(self, std::span(records).subspan(from, count));
            } catch (const std::invalid_argument&) {
                co_return false;
            }
            co_return true;
        };
        // As a job does that looks for what is refused: all, all again, the halves, their halves.
        EXPECT_FALSE(co_await write(here, 0, 8));
        EXPECT_FALSE(co_await write(here, 0, 8));
        EXPECT_TRUE(co_await write(here, 0, 4));
        EXPECT_FALSE(co_await write(here, 4, 4));
        EXPECT_FALSE(co_await write(here, 4, 2));
        EXPECT_TRUE(co_await write(here, 4, 1));
        EXPECT_FALSE(co_await write(here, 5, 1));
        EXPECT_TRUE(co_await write(here, 6, 2));
        // Others, in the same memory.
        for (std::size_t i = 0; i < 8; ++i) records[i].value = static_cast<int>(10 + i % 5);
        EXPECT_TRUE(co_await write(here, 0, 8));
        co_await out.commit(here, {});
        co_await out.close(here);
        co_await in.close(here);
        kafka::consumer reader(cluster.member_of("readers"));
        co_await reader.assign(here, {{"outputs", 0, kafka::place::beginning}});
        std::vector<kafka::message> got;
        co_await polls_until(here, reader, got, 15);
        const kafka::watermarks bounds = co_await reader.bounds(here, {"outputs", 0});
        EXPECT_EQ(bounds.high, 15);
        co_await reader.close(here);
    });
}

TEST(kafka_transactional_sink, commits_nothing_for_a_member_that_has_lost_its_partitions) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("copiers"), {"numbers"});
        kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                      kafka::keyed(text_of_number, text_of_number));
        (void)co_await out.committed(here);
        co_await out.begin(here);
        stream::batch<kafka::message> got;
        co_await reads_until(here, in, got, 10);
        cluster.forgets_a_member();
        EXPECT_EQ((co_await reads_change(here, in, got)).what, stream::partition_event::lost);
        bool must_abort = false;
        try {
            const stream::positions done{{"numbers/0", 10}};
            co_await out.commit(here, done);
        } catch (const kafka::error& e) {
            must_abort = e.requires_abort() && e.code() == kafka::errc::unknown_member;
        }
        EXPECT_TRUE(must_abort);
        co_await out.begin(here);  // it was aborted, so that readers need not wait until it times out
        co_await out.abort(here);
        co_await out.close(here);
        co_await in.close(here);
    });
}

TEST(kafka_transactional_sink, fails_a_job_that_has_lost_a_partition) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::source in(cluster.member_of("copiers"), {"numbers"});
        kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                      kafka::keyed(text_of_number, text_of_number));
        bool is_lost = false;
        std::size_t count = 0;
        try {
            (void)co_await stream::run(here, stream::from(in) | kafka::decode(number_of) | stream::tap([&](int) {
                                                 if (++count == 10) cluster.forgets_a_member();
                                             }) | stream::to(out),
                                       stream::job{.workers = 1, .commit_every = 1h, .delivery = stream::exactly_once});
        } catch (const stream::partition_lost& e) {
            is_lost = true;
            expect_in(e.what(), "numbers/0");
        }
        EXPECT_TRUE(is_lost);
        co_await out.close(here);
        co_await in.close(here);
    });
}

TEST(kafka_transactional_sink, fails_a_job_as_fenced_whose_outputs_were_not_delivered_yet) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("copiers"), {{"numbers", 0}});
        kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                      kafka::keyed(text_of_number, text_of_number));
        stream::job_control control;
        std::size_t count = 0;
        bool is_fenced = false;
        try {
            (void)co_await stream::run(
                here, stream::from(in) | kafka::decode(number_of) | stream::tap([&](int) {
                          if (++count != 10) return;
                          cluster.answers(request::produce, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
                          control.drain();
                      }) | stream::to(out),
                stream::job{.workers = 1, .commit_every = 1h, .delivery = stream::exactly_once, .control = &control});
        } catch (const kafka::error& e) {
            is_fenced = e.is_fatal() && e.code() == kafka::errc::fenced;
            EXPECT_TRUE(is_fenced) << e.what();
        }
        EXPECT_TRUE(is_fenced);
        co_await out.close(here);
        co_await in.close(here);
    });
}

TEST(kafka_transactional_sink, refuses_a_source_that_another_run_has_read) {
    const cluster_of_numbers cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("copiers"), {{"numbers", 0}});
        kafka::transactional_sink out(in, transactional(cluster), "outputs",
                                      kafka::keyed(text_of_number, text_of_number));
        co_await refuses_a_second_run(here, in, out,
                                      stream::job{.workers = 1, .commit_every = 1h, .delivery = stream::exactly_once});
        co_await out.close(here);
        co_await in.close(here);
    });
}

TEST(kafka_transactional_sink, may_be_closed_where_no_job_has_begun) {
    const mock_cluster cluster;
    on_worker([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        kafka::partition_source in(cluster.member_of("copiers"), {{"numbers", 0}});
        kafka::transactional_sink out(in, transactional(cluster), "outputs");
        co_await out.close(here);
        co_await in.close(here);
    });
}

TEST(kafka_transactional_sink, refuses_a_producer_without_an_id) {
    const mock_cluster cluster;
    kafka::partition_source in(cluster.member_of("copiers"), {{"numbers", 0}});
    EXPECT_THROW(kafka::transactional_sink(in, cluster.producer(), "outputs"), std::invalid_argument);
}

}  // namespace
