#include <coflux/kafka/create_topic.hpp>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include <coflux/executor/blocking_pool.hpp>

#include "client.hpp"

namespace coflux::kafka {
namespace {

struct deleter {
    void operator()(rd_kafka_NewTopic_t* p) const noexcept { rd_kafka_NewTopic_destroy(p); }
    void operator()(rd_kafka_AdminOptions_t* p) const noexcept { rd_kafka_AdminOptions_destroy(p); }
};
template <typename T>
using owned = std::unique_ptr<T, deleter>;

/// Blocks.
void create(const client_options& options, const topic_options& topic) {
    const std::string what = "make the topic " + topic.name;
    detail::kafka_settings settings;
    settings.take(options, {});
    const detail::kafka_share client(new detail::kafka_client(RD_KAFKA_PRODUCER, std::move(settings), options));
    client->reach();

    std::array<char, 512> reason{};
    const owned<rd_kafka_NewTopic_t> made(
        rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions, topic.replicas, reason.data(), reason.size()));
    if (made == nullptr) throw std::invalid_argument("coflux: Kafka: " + what + ": " + reason.data());
    for (const auto& [name, value] : topic.settings)
        detail::throw_if(rd_kafka_NewTopic_set_config(made.get(), name.c_str(), value.c_str()), what);
    const owned<rd_kafka_AdminOptions_t> limits(
        rd_kafka_AdminOptions_new(client->handle(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
    // Until its partitions can be used.
    (void)rd_kafka_AdminOptions_set_operation_timeout(limits.get(), client->request_timeout(), nullptr, 0);
    (void)rd_kafka_AdminOptions_set_request_timeout(limits.get(), client->request_timeout(), nullptr, 0);

    const detail::kafka_owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(client->handle()));
    rd_kafka_NewTopic_t* all = made.get();
    rd_kafka_CreateTopics(client->handle(), &all, 1, limits.get(), queue.get());
    // The request has a limit, so that an answer comes.
    const detail::kafka_owned<rd_kafka_event_t> answer(rd_kafka_queue_poll(queue.get(), -1));
    detail::throw_if(rd_kafka_event_error(answer.get()), what);
    std::size_t count = 0;
    const rd_kafka_topic_result_t** const each =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer.get()), &count);
    for (std::size_t i = 0; i < count; ++i) {
        if (const rd_kafka_resp_err_t why = rd_kafka_topic_result_error(each[i]); why != RD_KAFKA_RESP_ERR_NO_ERROR) {
            const char* const text = rd_kafka_topic_result_error_string(each[i]);
            throw detail::make_kafka_error(why, what, text == nullptr ? "" : text);
        }
    }
}

}  // namespace

call<void> create_topic(environment&, client_options client, topic_options topic) {
    co_await blocking([&] { create(client, topic); });
}

}  // namespace coflux::kafka
