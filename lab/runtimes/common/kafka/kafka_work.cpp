#include "kafka_work.hpp"

#include "nexmark/rows.hpp"

#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int patience_ms = 10'000;

std::uint64_t read_number(const char* from) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return std::endian::native == std::endian::little ? __builtin_bswap64(bits) : bits;
}

void write_number(char* to, std::uint64_t number) noexcept {
    const std::uint64_t bits = std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
    std::memcpy(to, &bits, sizeof bits);
}

void hold(bool holds, std::string_view what, const char* why) {
    if (!holds) {
        throw std::runtime_error{"Kafka: " + std::string{what} + ": " + why};
    }
}

// One request of the protocol's administration, and its answer.
template <typename Ask>
rdkafka_owned<rd_kafka_event_t> ask(rd_kafka_t* client, const Ask& send) {
    const rdkafka_owned<rd_kafka_queue_t> queue{rd_kafka_queue_new(client)};
    send(queue.get());
    rdkafka_owned<rd_kafka_event_t> answer{rd_kafka_queue_poll(queue.get(), patience_ms)};
    hold(answer != nullptr, "ask about a topic", "no answer");
    require(rd_kafka_event_error(answer.get()), "ask about a topic");
    return answer;
}

rdkafka_owned<rd_kafka_t> make_asker(const std::string& broker) {
    return make_rdkafka(RD_KAFKA_PRODUCER, broker, {});
}

}  // namespace

void require(rd_kafka_resp_err_t code, std::string_view what) {
    hold(code == RD_KAFKA_RESP_ERR_NO_ERROR, what, rd_kafka_err2str(code));
}

void require(rd_kafka_error_t* taken_over, std::string_view what) {
    const rdkafka_owned<rd_kafka_error_t> error{taken_over};
    hold(error == nullptr, what, rd_kafka_error_string(error.get()));
}

rdkafka_owned<rd_kafka_t> make_rdkafka(rd_kafka_type_t type, const std::string& broker, rdkafka_settings settings) {
    std::array<char, 512> why{};
    rdkafka_owned<rd_kafka_conf_t> conf{rd_kafka_conf_new()};
    const auto set = [&](const char* name, const std::string& value) {
        hold(rd_kafka_conf_set(conf.get(), name, value.c_str(), why.data(), why.size()) == RD_KAFKA_CONF_OK, name,
             why.data());
    };
    set("bootstrap.servers", broker);
    for (const auto& [name, value] : settings) {
        set(name, value);
    }
    rdkafka_owned<rd_kafka_t> client{rd_kafka_new(type, conf.get(), why.data(), why.size())};
    hold(client != nullptr, "make a client", why.data());
    (void)conf.release();  // the client has it
    return client;
}

kafka_record kafka_record::read(std::string_view key, std::string_view value) {
    if (key.size() != key_bytes || value.size() != value_bytes) {
        throw std::runtime_error{"a message is no record of kafka_job"};
    }
    return {.key = read_number(key.data()),
            .number = read_number(value.data()),
            .amount = read_number(value.data() + sizeof(std::uint64_t))};
}

kafka_bytes kafka_bytes::with_twice_the_amount(std::string_view key, std::string_view value) {
    const kafka_record of = kafka_record::read(key, value);
    kafka_bytes made;
    std::memcpy(made.key.data(), key.data(), made.key.size());
    std::memcpy(made.value.data(), value.data(), made.value.size());
    write_number(made.value.data() + sizeof(std::uint64_t), 2 * of.amount);
    return made;
}

filled_topic::filled_topic(std::int32_t number_of_partitions, std::uint64_t number_of_records)
    : partitions{number_of_partitions},
      records{number_of_records} {
    const char* const address = std::getenv("LAB_KAFKA_BROKER");
    const char* const filled = std::getenv("LAB_KAFKA_TOPIC");
    if (address == nullptr || filled == nullptr) {
        throw harness::unsupported_params{
            "LAB_KAFKA_BROKER and LAB_KAFKA_TOPIC name no broker: scripts/lab starts one"};
    }
    broker = address;
    topic = filled;
}

std::string name_of_pass() {
    static std::uint64_t passes = 0;
    return "lab-" + std::to_string(getpid()) + "-" + std::to_string(++passes);
}

kafka_work::kafka_work(const harness::request& r)
    : filled_topic{four, r.integer("records")},
      commit_every{static_cast<milliseconds::rep>(r.integer("commit_ms"))} {
    const std::string name = r.choice("job", {"count", "copy", "copy_once"});
    what = name == "count" ? job::count : name == "copy" ? job::copy : job::copy_once;
}

void kafka_work::make_topic(const std::string& name) const {
    const auto client = make_asker(broker);
    std::array<char, 512> why{};
    rd_kafka_NewTopic_t* topics = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, why.data(), why.size());
    hold(topics != nullptr, "name a topic", why.data());
    const auto answer = ask(client.get(), [&](rd_kafka_queue_t* queue) {
        rd_kafka_CreateTopics(client.get(), &topics, 1, nullptr, queue);
    });
    rd_kafka_NewTopic_destroy(topics);
    std::size_t count = 0;
    const rd_kafka_topic_result_t** const results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer.get()), &count);
    require(count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR_UNKNOWN, "make a topic");
}

void kafka_work::drop_topic(const std::string& name) const {
    const auto client = make_asker(broker);
    rd_kafka_DeleteTopic_t* topics = rd_kafka_DeleteTopic_new(name.c_str());
    (void)ask(client.get(),
              [&](rd_kafka_queue_t* queue) { rd_kafka_DeleteTopics(client.get(), &topics, 1, nullptr, queue); });
    rd_kafka_DeleteTopic_destroy(topics);
}

std::uint64_t kafka_work::answer_of(const std::string& name) const {
    const std::pair<const char*, std::string> settings[]{{"group.id", name + "-answer"},
                                                         {"isolation.level", "read_committed"},
                                                         {"enable.auto.commit", "false"},
                                                         {"enable.partition.eof", "true"}};
    const auto client = make_rdkafka(RD_KAFKA_CONSUMER, broker, settings);
    rd_kafka_poll_set_consumer(client.get());
    const rdkafka_owned<rd_kafka_topic_partition_list_t> all{rd_kafka_topic_partition_list_new(partitions)};
    for (std::int32_t p = 0; p != partitions; ++p) {
        rd_kafka_topic_partition_list_add(all.get(), name.c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
    require(rd_kafka_assign(client.get(), all.get()), "read the outputs");
    nexmark::row_sum sum;
    std::array<bool, four> has_ended{};
    const auto is_whole = [&] {
        return sum.rows() >= records && has_ended == std::array<bool, four>{true, true, true, true};
    };
    // A transaction's end comes to the partitions some time after its commit has returned.
    const auto end = steady_clock::now() + milliseconds{patience_ms};
    while (!is_whole() && steady_clock::now() < end) {
        const rdkafka_owned<rd_kafka_message_t> m{rd_kafka_consumer_poll(client.get(), 100)};
        if (m == nullptr) {
            continue;
        }
        const bool is_message = m->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        has_ended.at(static_cast<std::size_t>(m->partition)) = !is_message;
        if (is_message) {
            const kafka_record of = kafka_record::read({static_cast<const char*>(m->key), m->key_len},
                                                       {static_cast<const char*>(m->payload), m->len});
            sum.add(of.key, of.number, of.amount);
        } else if (m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            require(m->err, "read the outputs");
        }
    }
    require(rd_kafka_consumer_close(client.get()), "read the outputs");
    return sum.value();
}

namespace {

rdkafka_owned<rd_kafka_t> make_filler(const std::string& broker) {
    const std::pair<const char*, std::string> settings[]{
        {"enable.idempotence", "true"}, {"linger.ms", "20"}, {"queue.buffering.max.messages", "200000"}};
    return make_rdkafka(RD_KAFKA_PRODUCER, broker, settings);
}

// Waits while librdkafka has no room for it.
void fill(rd_kafka_t* client, const std::string& topic, std::int32_t partition, std::string_view key,
          std::string_view value) {
    for (;;) {
        const rd_kafka_resp_err_t code = rd_kafka_producev(
            client, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_KEY(key.data(), key.size()), RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            return require(code, "fill a topic");
        }
        rd_kafka_poll(client, 10);
    }
}

}  // namespace

void fill_topic(const std::string& broker, const std::string& topic, std::uint64_t records, std::uint64_t keys) {
    const auto client = make_filler(broker);
    kafka_bytes bytes{};
    for (std::uint64_t i = 0; i != records; ++i) {
        const std::uint64_t key = i * 7'919 % keys;
        write_number(bytes.key.data(), key);
        write_number(bytes.value.data(), i);
        write_number(bytes.value.data() + sizeof i, i % 1'000 + 1);
        fill(client.get(), topic, static_cast<std::int32_t>(key % kafka_work::four), bytes.key_view(),
             bytes.value_view());
    }
    require(rd_kafka_flush(client.get(), 60'000), "fill a topic");
}

void fill_topic_of_lines(const std::string& broker, const std::string& topic, const std::string& path) {
    const auto client = make_filler(broker);
    std::ifstream lines{path};
    hold(lines.is_open(), "fill a topic", "its file cannot be read");
    for (std::string line; std::getline(lines, line);) {
        fill(client.get(), topic, 0, {}, line);
    }
    require(rd_kafka_flush(client.get(), 60'000), "fill a topic");
}

}  // namespace lab
