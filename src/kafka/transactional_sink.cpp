#include <coflux/kafka/transactional_sink.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "input.hpp"

namespace coflux::detail {

kafka_transaction::kafka_transaction(kafka_input& inputs, kafka::producer_options options)
    : inputs_(inputs),
      options_(std::move(options)) {
    if (options_.transactional_id.empty())
        throw std::invalid_argument(
            "coflux: Kafka: transactions need an id: producer_options::transactional_id is empty");
    // relaxed: the run begins later.
    inputs_.is_in_transactions.store(true, memory_order_relaxed);
}
kafka_transaction::kafka_transaction(kafka::source& inputs, kafka::producer_options options)
    : kafka_transaction(*inputs.state_, std::move(options)) {}
kafka_transaction::kafka_transaction(kafka::partition_source& inputs, kafka::producer_options options)
    : kafka_transaction(*inputs.state_, std::move(options)) {}

call<std::optional<stream::positions>> kafka_transaction::committed(environment&) {
    auto&& here = co_await context();
    require_new(inputs_);
    is_open_ = false;
    if (out_.is_open()) co_await out_.close(here);
    out_ = kafka::producer(options_);
    co_await out_.connect(here);
    co_await out_.init_transactions(here);
    if (inputs_.partitions.empty()) co_return std::nullopt;  // a group knows them
    stream::positions at;
    const std::vector<kafka::position> kept = co_await inputs_.in.committed(here, inputs_.partitions);
    for (const kafka::position& p : kept) {
        if (p.has_offset()) at.push_back({stream_name_of(p.topic, p.partition), p.offset});
    }
    if (at.empty()) co_return std::nullopt;
    std::ranges::sort(at, {}, &stream::position::partition);
    co_return at;
}

call<void> kafka_transaction::begin(environment&) {
    auto&& here = co_await context();
    co_await out_.begin_transaction(here);
    is_open_ = true;
}

call<void> kafka_transaction::commit(environment&, const stream::positions& done) {
    auto&& here = co_await context();
    std::vector<kafka::position> behind;
    for (const stream::position& each : done) behind.push_back(position_of(each));
    std::optional<kafka::error> refused;
    try {
        // [kafka.transaction.positions]
        if (!behind.empty()) co_await out_.send_positions(here, inputs_.in, behind);
        co_await out_.commit_transaction(here);
    } catch (const kafka::error& e) {
        if (!e.requires_abort()) throw;
        refused = e;
    }
    if (refused.has_value()) {  // so that readers need not wait until it times out
        // [kafka.transaction.aborts]
        co_await abort(here);
        throw *refused;
    }
    is_open_ = false;
}

call<void> kafka_transaction::abort(environment&) {
    auto&& here = co_await context();
    if (!is_open_) co_return;
    co_await out_.abort_transaction(here);
    is_open_ = false;
}

}  // namespace coflux::detail
