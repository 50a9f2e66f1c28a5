// The records of kafka_job, where its topics are, and what an answer is added up from.
#pragma once

#include "harness.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lab {

struct rdkafka_deleter {
    void operator()(rd_kafka_t* p) const noexcept { rd_kafka_destroy(p); }
    void operator()(rd_kafka_conf_t* p) const noexcept { rd_kafka_conf_destroy(p); }
    void operator()(rd_kafka_queue_t* p) const noexcept { rd_kafka_queue_destroy(p); }
    void operator()(rd_kafka_event_t* p) const noexcept { rd_kafka_event_destroy(p); }
    void operator()(rd_kafka_error_t* p) const noexcept { rd_kafka_error_destroy(p); }
    void operator()(rd_kafka_message_t* p) const noexcept { rd_kafka_message_destroy(p); }
    void operator()(rd_kafka_topic_partition_list_t* p) const noexcept { rd_kafka_topic_partition_list_destroy(p); }
};
template <typename T>
using rdkafka_owned = std::unique_ptr<T, rdkafka_deleter>;

// Throws std::runtime_error, which says what failed.
void require(rd_kafka_resp_err_t code, std::string_view what);
void require(rd_kafka_error_t* taken_over, std::string_view what);

using rdkafka_settings = std::span<const std::pair<const char*, std::string>>;
[[nodiscard]] rdkafka_owned<rd_kafka_t> make_rdkafka(rd_kafka_type_t type, const std::string& broker,
                                                     rdkafka_settings settings);

// 100 bytes: the key is a number of 8, the value has the record's number, its amount and zeros; big-endian, as Kafka
// writes numbers.
struct kafka_record {
    static constexpr std::size_t key_bytes = 8;
    static constexpr std::size_t value_bytes = 92;

    std::uint64_t key;
    std::uint64_t number;
    std::uint64_t amount;

    // Throws std::runtime_error for what is none.
    static kafka_record read(std::string_view key, std::string_view value);
};

struct kafka_bytes {
    std::array<char, kafka_record::key_bytes> key;
    std::array<char, kafka_record::value_bytes> value;

    // The jobs `copy` and `copy_once` write this for a message: its amount is twice as much.
    static kafka_bytes with_twice_the_amount(std::string_view key, std::string_view value);

    [[nodiscard]] std::string_view key_view() const noexcept { return {key.data(), key.size()}; }
    [[nodiscard]] std::string_view value_view() const noexcept { return {value.data(), value.size()}; }
};

// A topic that the runner has filled, on the broker that it has started.
struct filled_topic {
    // Throws harness::unsupported_params where there is no broker.
    filled_topic(std::int32_t number_of_partitions, std::uint64_t number_of_records);

    std::string broker;
    std::string topic;
    std::int32_t partitions;
    std::uint64_t records;
};

// Names the group and the transactions of a pass, and its topic of outputs.
[[nodiscard]] std::string name_of_pass();

// A request for kafka_job.
class kafka_work : public filled_topic {
public:
    static constexpr std::int32_t four = 4;  // partitions has each of its topics
    enum class job { count, copy, copy_once };

    explicit kafka_work(const harness::request& r);

    void make_topic(const std::string& name) const;
    void drop_topic(const std::string& name) const;
    // Counts what is committed in a topic of outputs. It waits until there are as many as the inputs, for some seconds.
    [[nodiscard]] std::uint64_t answer_of(const std::string& topic) const;

    job what;
    std::chrono::milliseconds commit_every;
};

// Writes the records 0 to `records` - 1.
void fill_topic(const std::string& broker, const std::string& topic, std::uint64_t records, std::uint64_t keys);
// Writes the lines of a file, in their order, to partition 0.
void fill_topic_of_lines(const std::string& broker, const std::string& topic, const std::string& path);

}  // namespace lab
