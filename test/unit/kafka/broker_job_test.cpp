// Stream jobs on a real broker: its address is in COFLUX_KAFKA_BROKER. with_broker.py starts one for kafka.broker.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/io/process.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/create_topic.hpp>
#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/partition_source.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/kafka/transactional_sink.hpp>
#include <coflux/stream/stream.hpp>

#include "broker_scenes.hpp"

namespace {

using namespace coflux_test;

using coflux::call;
using coflux::environment;

class kafka_broker_job : public copies_on_broker {
protected:
    void survives_kills(const std::string& name, bool is_exact);
    void survives_moves(const std::string& name, bool is_exact);
};

/// The words of a copier, for a process of its own.
std::string words_of(const copier& c) {
    return c.from + " " + c.to + " " + c.id + " " + c.instance + (c.is_exact ? " exact" : " least");
}

// A process of its own, which a test below kills.
TEST_F(kafka_broker_job, copies_until_it_is_killed) {
    const char* const words = std::getenv("COFLUX_KAFKA_COPIER");
    if (words == nullptr)
        GTEST_SKIP() << "skipped, because it is a process of other tests: COFLUX_KAFKA_COPIER is not set";
    copier c{.client = client, .from = {}, .to = {}, .id = {}, .instance = {}};
    std::string delivery;
    std::istringstream(words) >> c.from >> c.to >> c.id >> c.instance >> delivery;
    c.is_exact = delivery == "exact";
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        stream::job_control never;
        std::atomic<std::size_t> copied = 0;
        co_await runs_copier(here, c, never, copied);
    });
}

call<coflux::process> starts(environment&, const copier& c) {
    std::vector<std::string> variables;
    for (char** each = ::environ; *each != nullptr; ++each) variables.emplace_back(*each);
    variables.push_back("COFLUX_KAFKA_COPIER=" + words_of(c));
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    co_return co_await coflux::process::spawn(
        {self, "--gtest_filter=kafka_broker_job.copies_until_it_is_killed"},
        {.output = coflux::standard_stream::null(), .environment = std::move(variables)});
}

void kafka_broker_job::survives_kills(const std::string& name, bool is_exact) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        // In its whole size it takes minutes.
        const bool is_whole = std::getenv("COFLUX_KAFKA_WHOLE") != nullptr;
        const int each = is_whole ? 50'000 : 20'000;
        const int kills = is_whole ? 20 : 5;
        co_await makes_topics(here, name);
        kafka::producer out({.client = client, .linger = 1ms});
        std::vector<copier> of;
        std::vector<coflux::process> running;
        for (const char* number : {"-1", "-2"}) {
            of.push_back({client, name, name + "-out", name + number, name + number, is_exact});
            running.push_back(co_await starts(here, of.back()));
        }
        counted_numbers counted(client, name + "-out", partitions, each * kills);
        for (int k = 0; k != kills; ++k) {
            co_await sends(here, out, name, k * each, (k + 1) * each);
            // In the middle of the copying.
            co_await counted.read_until(here, static_cast<std::size_t>(k * each + each / 10));
            const auto victim = static_cast<std::size_t>(k % 2);
            EXPECT_TRUE(running[victim].kill(SIGKILL));
            EXPECT_EQ((co_await running[victim].wait()).signal(), SIGKILL);
            running[victim] = co_await starts(here, of[victim]);
        }
        co_await counted.read_until(here, static_cast<std::size_t>(each) * kills);
        for (coflux::process& p : running) {
            EXPECT_TRUE(p.kill(SIGKILL));
            (void)co_await p.wait();
        }
        counted_numbers at_last(client, name + "-out", partitions, each * kills);
        co_await at_last.read_all(here);
        EXPECT_GE(at_last.least_times(), 1);
        if (is_exact) {
            EXPECT_EQ(at_last.most_times(), 1);
        }
        co_await out.close(here);
    });
}

TEST_F(kafka_broker_job, loses_nothing_where_its_processes_are_killed) {
    survives_kills("killed", false);
}
TEST_F(kafka_broker_job, copies_each_record_once_where_its_processes_are_killed) {
    survives_kills("killed-exact", true);
}

void kafka_broker_job::survives_moves(const std::string& name, bool is_exact) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        constexpr int count = 100'000;
        co_await makes_topics(here, name);
        copier c{client, name, name + "-out", name + "-1", {}, is_exact};
        copier d{client, name, name + "-out", name + "-2", {}, is_exact};
        stream::job_control first;
        stream::job_control second;
        std::atomic<std::size_t> by_first = 0;
        std::atomic<std::size_t> by_second = 0;
        counted_numbers counted(client, name + "-out", partitions, count);
        coflux::manual_reset_event joins;
        const auto runs_second = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            co_await joins.wait();
            co_await runs_copier(self, d, second, by_second);
        };
        const auto drives = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            kafka::producer out({.client = client, .linger = 1ms});
            int sent = 20'000;
            co_await sends(self, out, name, 0, sent);
            co_await counted.read_until(self, 10'000);
            joins.set();
            // Until the second one has a part, and works: a few at a time, because a group takes seconds to let it in.
            while (by_second == 0 && sent < count - count / 10) {
                co_await sends(self, out, name, sent, sent + 20);
                sent += 20;
                co_await counted.read_until(self, static_cast<std::size_t>(sent - 500));
                co_await 20ms;
            }
            while (by_second == 0) co_await 5ms;
            co_await sends(self, out, name, sent, count);
            co_await counted.read_until(self, static_cast<std::size_t>(sent + (count - sent) / 4));
            first.drain();  // its partitions go to the other one
            co_await counted.read_until(self, count);
            second.drain();
            co_await out.close(self);
        };
        co_await coflux::when_all(runs_copier(here, c, first, by_first), runs_second(here), drives(here));
        EXPECT_GT(by_first, 0U);
        counted_numbers at_last(client, name + "-out", partitions, count);
        co_await at_last.read_all(here);
        EXPECT_GE(at_last.least_times(), 1);
        if (is_exact) {
            EXPECT_EQ(at_last.most_times(), 1);
        }
    });
}

TEST_F(kafka_broker_job, loses_nothing_while_partitions_move) {
    survives_moves("moved", false);
}
TEST_F(kafka_broker_job, copies_each_record_once_while_partitions_move) {
    survives_moves("moved-exact", true);
}

TEST_F(kafka_broker_job, of_an_earlier_life_is_fenced) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await makes_topics(here, "zombie");
        kafka::producer sender({.client = client});
        co_await sends(here, sender, "zombie", 0, 1'000);
        const kafka::consumer_options reader{.client = client, .group = "zombies"};
        const std::vector<kafka::position> all = co_await kafka::partitions_of(here, reader, "zombie");
        const kafka::producer_options id{.client = client, .transactional_id = "zombie", .linger = 1ms};
        stream::job_control old;
        stream::job_control next;
        std::atomic<int> by_old = 0;
        std::atomic<int> by_next = 0;
        bool is_fenced = false;
        const auto lives = [&](environment&, stream::job_control& control, std::atomic<int>& count) -> call<void> {
            auto&& self = co_await coflux::context();
            kafka::partition_source in(reader, all);
            kafka::transactional_sink out(in, id, "zombie-out", kafka::keyed(text_of_number, text_of_number));
            (void)co_await stream::run(
                self,
                stream::from(in) | kafka::decode(number_of) | stream::tap([&count](int) { ++count; }) | stream::to(out),
                stream::job{.workers = 1, .commit_every = 1h, .delivery = stream::exactly_once, .control = &control});
            co_await out.close(self);
            co_await in.close(self);
        };
        const auto is_old = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            try {
                co_await lives(self, old, by_old);
            } catch (const kafka::error& e) {
                is_fenced = e.is_fatal();
            }
        };
        const auto drives = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            while (by_old != 1'000) co_await 5ms;  // none of it is committed
            const auto drains = [&](environment&) -> call<void> {
                while (by_next != 1'000) co_await 5ms;
                next.drain();
            };
            co_await coflux::when_all(lives(self, next, by_next), drains(self));
            old.drain();  // it commits now, too late
        };
        co_await coflux::when_all(is_old(here), drives(here));
        EXPECT_TRUE(is_fenced);
        counted_numbers counted(client, "zombie-out", partitions, 1'000);
        co_await counted.read_all(here);
        EXPECT_EQ(counted.least_times(), 1);
        EXPECT_EQ(counted.most_times(), 1);
        co_await sender.close(here);
    });
}

TEST_F(kafka_broker_job, begins_at_a_time_where_nothing_was_committed) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = "timed"});
        kafka::producer sender({.client = client});
        const std::chrono::sys_time<std::chrono::milliseconds> first(1'700'000'000'000ms);
        for (int i = 0; i < 10; ++i) {
            const std::string text = std::to_string(i);
            co_await sender.send(here, {.topic = "timed", .partition = 0, .value = text, .time = first + i * 1s});
        }
        co_await sender.flush(here);
        for (const int begin : {6, 8}) {
            kafka::source in({.client = client, .group = "timed"}, {"timed"}, {.from = first + 5500ms});
            stream::batch<kafka::message> got;
            co_await reads_until(here, in, got, static_cast<std::size_t>(10 - begin));
            EXPECT_EQ(number_of(got[0].value.value()), begin);
            const stream::positions done{{"timed/0", 8}};
            co_await in.commit(here, done);  // from there on the time does not count
            co_await in.close(here);
        }
        co_await sender.close(here);
    });
}

}  // namespace
