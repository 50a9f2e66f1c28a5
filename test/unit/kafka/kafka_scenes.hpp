// The common part of the tests of Kafka: a cluster of librdkafka's own, in this process, and coroutines that use it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/producer.hpp>

namespace coflux_test {

using namespace std::chrono_literals;
namespace kafka = coflux::kafka;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

/// A request of a client, by its number in the protocol.
enum class request : std::int16_t {
    produce = 0,
    fetch = 1,
    offset_commit = 8,
    heartbeat = 12,
    init_producer_id = 22,
    end_transaction = 26
};

/// Three brokers that this process plays.
class mock_cluster {
public:
    explicit mock_cluster(int brokers = 3) {
        rd_kafka_conf_t* const conf = rd_kafka_conf_new();
        rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
        char reason[256];
        handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
        if (handle_ == nullptr) throw std::runtime_error(reason);
        cluster_ = rd_kafka_mock_cluster_new(handle_, brokers);
    }
    mock_cluster(const mock_cluster&) = delete;
    mock_cluster& operator=(const mock_cluster&) = delete;
    ~mock_cluster() {
        rd_kafka_mock_cluster_destroy(cluster_);
        rd_kafka_destroy(handle_);
    }

    [[nodiscard]] std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
    [[nodiscard]] rd_kafka_mock_cluster_t* get() const noexcept { return cluster_; }
    void make_topic(const char* name, int partitions) { rd_kafka_mock_topic_create(cluster_, name, partitions, 1); }

    void answers_after(std::chrono::milliseconds time) const {
        for (int broker = 1; broker <= 3; ++broker)
            rd_kafka_mock_broker_set_rtt(cluster_, broker, static_cast<int>(time.count()));
    }
    /// The next requests of this kind are answered so.
    template <std::same_as<rd_kafka_resp_err_t>... Errors>
    void answers(request of, Errors... errors) const {
        rd_kafka_mock_push_request_errors(cluster_, static_cast<std::int16_t>(of), sizeof...(errors), errors...);
    }
    /// The member is put out of its group.
    void forgets_a_member() const { answers(request::heartbeat, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID); }
    /// The second fetch from here on. librdkafka takes an error for the end where it is the first answer there and says
    /// where the partition ends, as these brokers do.
    void refuses_a_fetch() const {
        answers(request::fetch, RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    }

    [[nodiscard]] kafka::client_options client() const { return {.brokers = brokers()}; }
    [[nodiscard]] kafka::consumer_options member_of(std::string group) const {
        kafka::client_options c = client();
        // Brokers that are played answer only after the wait.
        c.settings = {{"fetch.wait.max.ms", "10"}, {"heartbeat.interval.ms", "100"}};
        return {.client = std::move(c), .group = std::move(group), .session_timeout = 6s};
    }
    [[nodiscard]] kafka::producer_options producer() const { return {.client = client(), .linger = 0ms}; }

private:
    rd_kafka_t* handle_ = nullptr;
    rd_kafka_mock_cluster_t* cluster_ = nullptr;
};

/// Runs `f(here)` on a worker, and once more on a pool of two threads.
template <typename E, typename F>
coflux::task<void, E> runs(coflux::environment&, F* f) {
    auto&& here = co_await coflux::context();
    co_await (*f)(here);
}
template <typename F>
void on_worker(F f) {
    worker w;
    auto env = coflux::make_environment(w);
    runs<worker>(env, &f).get();
}
template <typename F>
void on_pool(F f) {
    pool p{2};
    auto env = coflux::make_environment(p);
    runs<pool>(env, &f).get();
}

/// A line of a client's log that is waited for; it outlives the client.
class awaited_line {
public:
    awaited_line(kafka::client_options& of, std::string part) : part_(std::move(part)) {
        of.on_log = [this](const kafka::log_line& line) {
            if (line.text.find(part_) != std::string_view::npos) seen_.set();
        };
    }
    [[nodiscard]] auto logged() { return seen_.wait(); }

private:
    const std::string part_;
    coflux::auto_reset_event seen_;
};

inline void expect_in(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// Sends `count` messages, 0 to count - 1 as text, and waits until they are delivered.
inline coflux::call<void> sends_numbers(coflux::environment&, kafka::producer& to, std::string_view topic, int count,
                                        std::int32_t partition = 0, int from = 0) {
    auto&& here = co_await coflux::context();
    for (int i = from; i < from + count; ++i) {
        const std::string text = std::to_string(i);
        co_await to.send(here, {.topic = topic, .partition = partition, .key = text, .value = text});
    }
    co_await to.flush(here);
}

/// Brokers with a topic, "numbers", of one partition, which has 0 to 9 as text.
class cluster_of_numbers : public mock_cluster {
public:
    cluster_of_numbers() {
        make_topic("numbers", 1);
        on_worker([&](coflux::environment&) -> coflux::call<void> {
            auto&& here = co_await coflux::context();
            kafka::producer out(producer());
            co_await sends_numbers(here, out, "numbers", 10);
            co_await out.close(here);
        });
    }
};

/// Tests on a real broker.
class on_broker : public testing::Test {
protected:
    void SetUp() override {
        const char* const given = std::getenv("COFLUX_KAFKA_BROKER");
        if (given == nullptr)
            GTEST_SKIP() << "skipped, because COFLUX_KAFKA_BROKER names no broker: kafka.broker runs these";
        client.brokers = given;
    }

    kafka::client_options client;
};

/// Polls until there are `count` messages; changes are acknowledged.
inline coflux::call<void> polls_until(coflux::environment&, kafka::consumer& from, std::vector<kafka::message>& into,
                                      std::size_t count, std::vector<kafka::polled>* changes = nullptr) {
    auto&& here = co_await coflux::context();
    while (into.size() < count) {
        kafka::polled got = co_await from.poll(here, into, count - into.size());
        if (changes != nullptr && got.is_change()) changes->push_back(std::move(got));
    }
}

/// Polls until a change comes.
inline coflux::call<kafka::polled> next_change(coflux::environment&, kafka::consumer& of,
                                               std::vector<kafka::message>& into) {
    auto&& here = co_await coflux::context();
    for (;;) {
        kafka::polled got = co_await of.poll(here, into);
        if (!got.is_change()) continue;
        EXPECT_EQ(got.count, 0U);  // messages in front of it come alone
        co_return got;
    }
}

}  // namespace coflux_test
