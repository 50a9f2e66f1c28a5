// The state of a stream job in a topic of a real broker: its address is in COFLUX_KAFKA_BROKER. with_broker.py
// starts one for kafka.broker.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/io/process.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/create_topic.hpp>
#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/partition_source.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/kafka/share_partitions.hpp>
#include <coflux/kafka/topic_store.hpp>
#include <coflux/kafka/transactional_sink.hpp>
#include <coflux/stream/stream.hpp>

#include "job_scenes.hpp"

namespace {

using namespace coflux_test;

using coflux::call;
using coflux::environment;

struct count {
    std::int64_t n = 0;
    template <typename A>
    void fields(A& all) {
        all(n);
    }
};
using counted = std::pair<int, std::int64_t>;

constexpr auto add = [](count& c, int n, const auto& emit) { emit(counted(n, ++c.n)); };
std::string number_text(const counted& c) {
    return std::to_string(c.first);
}
std::string count_text(const counted& c) {
    return std::to_string(c.second);
}

class kafka_broker_state : public on_broker {
protected:
    call<void> makes_state(environment&, const std::string& name) {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client,
                                     {.name = name, .partitions = 2, .settings = {{"cleanup.policy", "compact"}}});
    }
};

/// Reads counts, which come once each and in order: nothing is there twice, and nothing was forgotten.
class read_counts {
public:
    read_counts(const kafka::client_options& client, std::string topic)
        : in_({.client = client, .group = topic + "-checkers"}),
          topic_(std::move(topic)) {}

    /// Until there are so many in all.
    call<void> read_until(environment&, std::size_t most) {
        auto&& here = co_await coflux::context();
        if (!std::exchange(has_begun_, true)) {
            std::vector<kafka::position> from{{topic_, 0, kafka::place::beginning}};
            co_await in_.assign(here, std::move(from));
        }
        std::vector<kafka::message> some;
        while (read_ < most) {
            some.clear();
            (void)co_await in_.poll(here, some);
            for (const kafka::message& m : some) {
                if (++last_[number_of(m.key())] != number_of(m.value())) ++wrong_;
                ++read_;
            }
        }
    }
    [[nodiscard]] std::size_t wrong() const noexcept { return wrong_; }
    [[nodiscard]] std::int64_t last_of(int number) { return last_[number]; }

private:
    kafka::consumer in_;
    std::string topic_;
    std::map<int, std::int64_t> last_;
    std::size_t read_ = 0;
    std::size_t wrong_ = 0;
    bool has_begun_ = false;
};

// A process of its own, which a test below kills.
TEST_F(kafka_broker_state, counts_until_it_is_killed) {
    const char* const name = std::getenv("COFLUX_KAFKA_COUNTER");
    if (name == nullptr)
        GTEST_SKIP() << "skipped, because it is a process of another test: COFLUX_KAFKA_COUNTER is not set";
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const std::string topic = name;
        kafka::partition_source in({.client = client, .group = topic}, {{topic, 0}});
        kafka::transactional_sink out(in, {.client = client, .transactional_id = topic, .linger = 1ms}, topic + "-out",
                                      kafka::keyed(number_text, count_text));
        kafka::topic_store state(out, {topic + "-state", 1}, "counts", {.piece = 50});
        (void)co_await stream::run(
            here,
            stream::from(in) | kafka::decode(number_of) | stream::by_key(std::identity()) |
                stream::fold<count, counted>(add) | stream::to(out),
            stream::job{
                .workers = 2, .slots = 4, .commit_every = 20ms, .delivery = stream::exactly_once, .state = state});
    });
}

TEST_F(kafka_broker_state, is_one_with_outputs_and_positions_where_processes_are_killed) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        constexpr int each = 4'000;
        constexpr int kills = 3;
        constexpr int numbers = 50;
        const std::string topic = "counted";
        co_await kafka::create_topic(here, client, {.name = topic});
        co_await kafka::create_topic(here, client, {.name = topic + "-out"});
        co_await makes_state(here, topic + "-state");
        std::vector<std::string> variables;
        for (char** v = ::environ; *v != nullptr; ++v) variables.emplace_back(*v);
        variables.push_back("COFLUX_KAFKA_COUNTER=" + topic);
        const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
        const std::vector<std::string> words{self, "--gtest_filter=kafka_broker_state.counts_until_it_is_killed"};

        kafka::producer out({.client = client, .linger = 1ms});
        read_counts reader(client, topic + "-out");
        coflux::process running = co_await coflux::process::spawn(
            words, {.output = coflux::standard_stream::null(), .environment = variables});
        for (int k = 0; k != kills; ++k) {
            for (int i = 0; i != each; ++i) {
                const std::string text = std::to_string(i % numbers);
                const kafka::outgoing m{.topic = topic, .partition = 0, .value = text};
                if (!out.try_send(m)) co_await out.send(here, m);
            }
            co_await out.flush(here);
            co_await reader.read_until(
                here, static_cast<std::size_t>(k * each + each / 10));  // in the middle of the counting
            EXPECT_TRUE(running.kill(SIGKILL));
            EXPECT_EQ((co_await running.wait()).signal(), SIGKILL);
            running = co_await coflux::process::spawn(
                words, {.output = coflux::standard_stream::null(), .environment = variables});
        }
        co_await reader.read_until(here, static_cast<std::size_t>(each) * kills);
        EXPECT_TRUE(running.kill(SIGKILL));
        (void)co_await running.wait();
        EXPECT_EQ(reader.wrong(), 0U);
        for (int n = 0; n != numbers; ++n) EXPECT_EQ(reader.last_of(n), each * kills / numbers) << n;
        co_await out.close(here);
    });
}

TEST_F(kafka_broker_state, goes_to_the_process_that_gets_its_partition) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        constexpr std::int32_t partitions = 2;
        constexpr int numbers = 20;
        const std::string topic = "moved-state";
        co_await kafka::create_topic(here, client, {.name = topic, .partitions = partitions});
        co_await kafka::create_topic(here, client, {.name = topic + "-out"});
        co_await makes_state(here, topic + "-state");
        std::atomic<std::size_t> by_second = 0;
        // Two members in one process, which are two as the broker sees it.
        const auto shares = [&](environment&, stream::job_control& all, std::atomic<std::size_t>* begun) -> call<void> {
            auto&& self = co_await coflux::context();
            const auto job = [&](environment&, const kafka::position& p, stream::job_control& control) -> call<void> {
                auto&& inside = co_await coflux::context();
                if (begun != nullptr) ++*begun;
                const std::vector<kafka::position> one{p};
                kafka::partition_source in({.client = client, .group = topic + "-positions"}, one);
                kafka::transactional_sink out(
                    in, {.client = client, .transactional_id = topic + std::to_string(p.partition), .linger = 1ms},
                    topic + "-out", kafka::keyed(number_text, count_text));
                kafka::topic_store state(out, {topic + "-state", p.partition}, "counts");
                (void)co_await stream::run(inside,
                                           stream::from(in) | kafka::decode(number_of) |
                                               stream::by_key(std::identity()) | stream::fold<count, counted>(add) |
                                               stream::to(out),
                                           stream::job{.workers = 1,
                                                       .slots = 4,
                                                       .commit_every = 20ms,
                                                       .delivery = stream::exactly_once,
                                                       .state = state,
                                                       .control = &control});
                co_await out.close(inside);
                co_await in.close(inside);
            };
            co_await kafka::share_partitions(self, {.client = client, .group = topic}, {topic}, job, all);
        };
        stream::job_control first;
        stream::job_control second;
        coflux::manual_reset_event joins;
        const auto shares_second = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            co_await joins.wait();
            co_await shares(self, second, &by_second);
        };
        read_counts reader(client, topic + "-out");
        const auto drives = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            kafka::producer out({.client = client, .linger = 1ms});
            int sent = 0;
            const auto sends = [&](environment&, int rounds) -> call<void> {
                auto&& inside = co_await coflux::context();
                for (int i = 0; i != rounds * numbers; ++i, ++sent) {
                    const std::string text = std::to_string(sent % numbers);
                    const kafka::outgoing m{.topic = topic, .partition = sent % partitions, .value = text};
                    if (!out.try_send(m)) co_await out.send(inside, m);
                }
                co_await out.flush(inside);
            };
            co_await sends(self, 100);
            co_await reader.read_until(self, static_cast<std::size_t>(sent));
            joins.set();
            while (by_second == 0) {  // a group takes seconds to let it in
                co_await sends(self, 1);
                co_await 20ms;
            }
            co_await sends(self, 100);
            co_await reader.read_until(self, static_cast<std::size_t>(sent) - 50U * numbers);
            first.drain();  // its partition goes to the other one, too
            co_await reader.read_until(self, static_cast<std::size_t>(sent));
            while (by_second != partitions) co_await 5ms;
            co_await sends(self, 100);
            co_await reader.read_until(self, static_cast<std::size_t>(sent));
            second.drain();
            EXPECT_EQ(reader.wrong(), 0U);
            for (int n = 0; n != numbers; ++n) EXPECT_EQ(reader.last_of(n), sent / numbers) << n;
            co_await out.close(self);
        };
        co_await coflux::when_all(shares(here, first, nullptr), shares_second(here), drives(here));
    });
}

TEST_F(kafka_broker_state, fences_the_process_that_has_stored_before) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        co_await makes_state(here, "fenced-state");
        const kafka::producer_options id{.client = client, .transactional_id = "fenced", .linger = 0ms};
        kafka::topic_store old(id, {"fenced-state", 0}, "counts");
        kafka::topic_store next(id, {"fenced-state", 0}, "counts");
        const stream::checkpoint first{1, {{"p", 1}}, {{1, 0, std::vector<std::byte>(10)}}};
        const stream::checkpoint second{1, {{"p", 2}}, {{1, 0, std::vector<std::byte>(20)}}};
        co_await old.store(here, first);
        const auto found = co_await next.load(here, nullptr);
        EXPECT_TRUE(found.has_value());
        bool is_fenced = false;
        try {
            co_await old.store(here, first);
        } catch (const kafka::error& e) {
            is_fenced = e.is_fatal();
        }
        EXPECT_TRUE(is_fenced);
        co_await next.store(here, second);
        co_await old.close(here);
        co_await next.close(here);
        kafka::topic_store last(id, {"fenced-state", 0}, "counts");
        const auto at_last = co_await last.load(here, nullptr);
        EXPECT_TRUE(at_last.has_value());
        if (at_last.has_value()) {
            EXPECT_EQ(at_last->at, second.at);
            EXPECT_EQ(at_last->states.at(0).bytes, second.states[0].bytes);
        }
        co_await last.close(here);
    });
}

}  // namespace
