// kafka::sink: the outputs of a stream job as messages of a topic.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>

namespace coflux {
namespace kafka {

/// Makes messages of values of `T`.
///
/// Laws: `e(value, m)` sets what shall differ in `m`, whose topic is the sink's: value, key, headers, partition, time.
/// `m` refers to parts of the value, or of the encoder, until the encoder is called again. It throws for a value
/// that cannot be sent.
template <typename E, typename T>
concept encoder_of = requires(E& e, const T& value, outgoing& m) { e(value, m); };

/// The value is the message: for strings.
struct as_value {
    template <std::convertible_to<std::string_view> T>
    void operator()(const T& value, outgoing& m) const {
        m.value = value;
    }
};

/// `keyed(&total::customer, to_json)`: a message with a key, by which it gets its partition.
///
/// Shapes: functions of a value that give a string, or a view into the value.
/// Costs: both are copied to buffers that are used again.
template <typename Key, typename Value>
class keyed {
public:
    keyed(Key key, Value value) : key_(std::move(key)), value_(std::move(value)) {}

    template <typename T>
        requires std::convertible_to<std::invoke_result_t<Key&, const T&>, std::string_view> &&
                 std::convertible_to<std::invoke_result_t<Value&, const T&>, std::string_view>
    void operator()(const T& value, outgoing& m) {
        key_bytes_ = std::string_view(std::invoke(key_, value));
        value_bytes_ = std::string_view(std::invoke(value_, value));
        m.key = key_bytes_;
        m.value = value_bytes_;
    }

private:
    [[no_unique_address]] Key key_;
    [[no_unique_address]] Value value_;
    std::string key_bytes_;
    std::string value_bytes_;
};

}  // namespace kafka

namespace detail {

/// Sends what an encoder makes.
template <typename Encode>
class kafka_output {
public:
    kafka_output(std::string topic, Encode encode) : topic_(std::move(topic)), encode_(std::move(encode)) {}

    template <typename T>
    [[nodiscard]] call<void> send(environment&, kafka::producer& to, const stream::record<T>* first,
                                  const stream::record<T>* last, const stream::record<T>*& at) {
        auto&& here = co_await context();
        for (at = first; at != last; ++at) {
            kafka::outgoing m{.topic = topic_};
            encode_(at->value, m);
            if (!to.try_send(m)) co_await to.send(here, m);
        }
    }

private:
    std::string topic_;
    [[no_unique_address]] Encode encode_;
};

}  // namespace detail

namespace kafka {

/// Sends each value to a topic, at least once: `| to(kafka::sink({.client = {.brokers = b}}, "totals", keyed(f, g)))`.
///
/// A full producer holds the job up. The producer is idempotent: what it sends again itself is there once, in order.
///
/// Shapes: `Encode` models encoder_of each value that it is given. Movable before the first write.
/// Errors: kafka::error: at the first write where no broker answers within request_timeout; of flush() where a message
/// was not delivered. An exception of the encoder is an error of that record.
/// Stops: a write that is stopped may have sent some.
/// Threads: as a sink.
/// Costs: some 0.5 µs a message; no allocation but for librdkafka's copy.
template <typename Encode = as_value>
class sink {
public:
    explicit sink(const producer_options& options, std::string topic, Encode encode = {})
        : out_(options),
          output_(std::move(topic), std::move(encode)) {}

    template <typename T>
        requires encoder_of<Encode, T>
    [[nodiscard]] call<void> write(environment&, std::span<stream::record<T>> records) {
        auto&& here = co_await context();
        if (!is_connected_) {
            co_await out_.connect(here);
            is_connected_ = true;
        }
        const stream::record<T>* at = nullptr;
        const stream::record<T>* const first = records.data();
        co_await output_.send(here, out_, first, first + records.size(), at);
    }
    [[nodiscard]] call<void> flush(environment&) {
        auto&& here = co_await context();
        co_await out_.flush(here);
    }
    /// Ends the client, when the job has ended.
    /// Stops: it ends, and then the coroutine stops.
    call<void> close(environment&) {
        auto&& here = co_await context();
        co_await out_.close(here);
    }

private:
    producer out_;
    detail::kafka_output<Encode> output_;
    bool is_connected_ = false;
};
static_assert(stream::sink_of<sink<>, std::string>);

}  // namespace kafka
}  // namespace coflux
