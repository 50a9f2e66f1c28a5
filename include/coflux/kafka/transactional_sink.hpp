// kafka::transactional_sink: the outputs of a stream job as messages that are there with the positions of their inputs,
// or not at all.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/partition_source.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/kafka/sink.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>

namespace coflux {
namespace detail {

/// The transactions of a job: what transactional_sink does beside sending.
class kafka_transaction {
public:
    /// Errors: std::invalid_argument for options without a transactional_id.
    kafka_transaction(kafka::source& inputs, kafka::producer_options options);
    kafka_transaction(kafka::partition_source& inputs, kafka::producer_options options);

    [[nodiscard]] kafka::producer& out() noexcept { return out_; }
    [[nodiscard]] const kafka::client_options& client() const noexcept { return options_.client; }
    [[nodiscard]] call<std::optional<stream::positions>> committed(environment& here);
    [[nodiscard]] call<void> begin(environment& here);
    [[nodiscard]] call<void> commit(environment& here, const stream::positions& done);
    [[nodiscard]] call<void> abort(environment& here);

private:
    kafka_transaction(kafka_input& inputs, kafka::producer_options options);

    kafka_input& inputs_;
    kafka::producer_options options_;
    kafka::producer out_;
    bool is_open_ = false;
};

}  // namespace detail

namespace kafka {

class topic_store;

/// Sends each value to a topic, exactly once: `kafka::transactional_sink out(in, {.transactional_id = "totals-1", …},
/// "totals", keyed(f, g))` for a job with `.delivery = stream::exactly_once` over the source `in`.
///
/// A transaction has the outputs of some time, job::commit_every, and the positions of the source's group. Over a
/// source each process has a transactional id of its own, over a partition_source each partition has one, the same in
/// each life: the next one ends what the one before has left open.
///
/// Shapes: as sink. The source is used by reference, and outlives it; it commits nothing itself any more.
/// Errors: as sink; kafka::error with requires_abort() where the transaction was refused, as by a rebalance, and
/// is_fatal() where another process has the id. Run the job again after the former.
/// Stops: within 500 ms where a broker is asked. Nobody sees what is not committed.
/// Threads: as a sink.
/// Costs: as sink; some round trips to the brokers for each commit.
template <typename Encode = as_value>
class transactional_sink {
public:
    template <typename Source>
    explicit transactional_sink(Source& inputs, producer_options options, std::string topic, Encode encode = {})
        : transaction_(inputs, std::move(options)),
          output_(std::move(topic), std::move(encode)) {}

    template <typename T>
        requires encoder_of<Encode, T>
    [[nodiscard]] call<void> write(environment&, std::span<stream::record<T>> records) {
        auto&& here = co_await context();
        // Records that a failed write had sent are in the transaction, and are not sent again. The engine writes again
        // with the same records, or parts of them in order.
        const stream::record<T>* first = records.data();
        const stream::record<T>* const last = first + records.size();
        const auto* const unsent = static_cast<const stream::record<T>*>(unsent_);
        if (unsent != nullptr && !std::less<>()(unsent, last)) co_return;
        if (unsent != nullptr) first = unsent;
        const stream::record<T>* at = first;
        try {
            co_await output_.send(here, transaction_.out(), first, last, at);
        } catch (...) {
            unsent_ = at == records.data() ? nullptr : at;
            throw;
        }
        unsent_ = nullptr;
    }
    [[nodiscard]] call<void> flush(environment&) {
        auto&& here = co_await context();
        co_await transaction_.out().flush(here);
    }

    [[nodiscard]] call<void> begin(environment&) {
        auto&& here = co_await context();
        unsent_ = nullptr;
        co_await transaction_.begin(here);
    }
    [[nodiscard]] call<void> commit(environment&, const stream::positions& done) {
        auto&& here = co_await context();
        co_await transaction_.commit(here, done);
    }
    [[nodiscard]] call<void> abort(environment&) {
        auto&& here = co_await context();
        co_await transaction_.abort(here);
    }
    [[nodiscard]] call<std::optional<stream::positions>> committed(environment&) {
        auto&& here = co_await context();
        co_return co_await transaction_.committed(here);
    }
    /// Ends the client, where a job has begun, when it has ended.
    /// Stops: it ends, and then the coroutine stops.
    call<void> close(environment&) {
        auto&& here = co_await context();
        if (transaction_.out().is_open()) co_await transaction_.out().close(here);
    }

private:
    friend class topic_store;
    detail::kafka_transaction transaction_;
    detail::kafka_output<Encode> output_;
    const void* unsent_ = nullptr;  // the first record of a write that has failed which was not sent
};
template <typename Source>
transactional_sink(Source&, producer_options, std::string) -> transactional_sink<as_value>;
template <typename Source, typename Encode>
transactional_sink(Source&, producer_options, std::string, Encode) -> transactional_sink<Encode>;
static_assert(stream::sink_of<transactional_sink<>, std::string> && stream::transactional_sink<transactional_sink<>>);

}  // namespace kafka
}  // namespace coflux
