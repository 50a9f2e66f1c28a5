// librdkafka's consumer by hand, by batches of its queue.
#pragma once

#include "kafka_work.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

inline std::string_view key_of(const rd_kafka_message_t& m) {
    return {static_cast<const char*>(m.key), m.key_len};
}
inline std::string_view value_of(const rd_kafka_message_t& m) {
    return {static_cast<const char*>(m.payload), m.len};
}

// Reads all partitions of the topic, from their beginning, in batches; the watch starts with the first message.
class kafka_reader {
public:
    kafka_reader(const filled_topic& of, const std::string& group)
        : records_{of.records},
          next_{rd_kafka_topic_partition_list_new(of.partitions)} {
        const std::pair<const char*, std::string> settings[]{
            {"group.id", group}, {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"}};
        client_ = make_rdkafka(RD_KAFKA_CONSUMER, of.broker, settings);
        rd_kafka_poll_set_consumer(client_.get());
        for (std::int32_t p = 0; p != of.partitions; ++p) {
            rd_kafka_topic_partition_list_add(next_.get(), of.topic.c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
        }
        require(rd_kafka_assign(client_.get(), next_.get()), "assign");
        queue_.reset(rd_kafka_queue_get_consumer(client_.get()));
    }
    ~kafka_reader() { rd_kafka_consumer_close(client_.get()); }
    kafka_reader(const kafka_reader&) = delete;
    kafka_reader& operator=(const kafka_reader&) = delete;

    // `each(message)` for all of them; `between()` after each batch.
    template <typename Each, typename Between>
    void read(harness::stopwatch& watch, Each each, Between between) {
        std::vector<rd_kafka_message_t*> batch(1'000);
        for (std::uint64_t got = 0; got < records_;) {
            const ssize_t count = rd_kafka_consume_batch_queue(queue_.get(), 100, batch.data(), batch.size());
            if (got == 0 && count > 0) {
                watch.start();
            }
            for (ssize_t i = 0; i < count; ++i) {
                const rdkafka_owned<rd_kafka_message_t> m{batch[static_cast<std::size_t>(i)]};
                require(m->err, "consume");
                each(*m);
                next_->elems[m->partition].offset = m->offset + 1;
                ++got;
            }
            between();
        }
    }

    void commit() {
        const rd_kafka_resp_err_t code = rd_kafka_commit(client_.get(), next_.get(), 0);
        if (code != RD_KAFKA_RESP_ERR__NO_OFFSET) {  // nothing has come yet
            require(code, "commit");
        }
    }
    [[nodiscard]] rd_kafka_t* client() const noexcept { return client_.get(); }
    [[nodiscard]] const rd_kafka_topic_partition_list_t* next() const noexcept { return next_.get(); }

private:
    std::uint64_t records_;
    rdkafka_owned<rd_kafka_t> client_;
    rdkafka_owned<rd_kafka_queue_t> queue_;
    rdkafka_owned<rd_kafka_topic_partition_list_t> next_;
};

}  // namespace lab
