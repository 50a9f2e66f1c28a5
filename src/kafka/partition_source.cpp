#include <coflux/kafka/partition_source.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/core/context.hpp>

#include "input.hpp"

namespace coflux::kafka {

partition_source::partition_source(const consumer_options& reader, std::vector<position> partitions,
                                   source_options options)
    : state_(std::make_unique<detail::kafka_input>(reader, options)) {
    if (partitions.empty()) throw std::invalid_argument("coflux: Kafka: a partition_source needs a partition");
    for (const position& p : partitions) state_->set_owned(state_->number_of(p.topic, p.partition), true);
    state_->partitions = std::move(partitions);
}
partition_source::partition_source(partition_source&&) noexcept = default;
partition_source& partition_source::operator=(partition_source&&) noexcept = default;
partition_source::~partition_source() = default;

call<bool> partition_source::read(environment&, stream::batch<message>& into, std::size_t most) {
    auto&& here = co_await context();
    detail::kafka_input& s = *state_;
    if (!s.has_begun) {
        co_await s.begin_at(here, s.partitions);
        co_await s.in.assign(here, s.partitions);
        s.has_begun = true;
    }
    while ((co_await s.poll(here, into, most)).count == 0) continue;
    co_return true;
}

std::string partition_source::partition_name(std::uint32_t p) const {
    return state_->name_of(p);
}

std::vector<std::uint32_t> partition_source::partitions() const {
    detail::require_new(*state_);  // each run asks before it reads
    std::vector<std::uint32_t> all;
    for (const position& p : state_->partitions) all.push_back(state_->number_of(p.topic, p.partition));
    return all;
}

call<void> partition_source::seek(environment&, const stream::positions& to) {
    detail::require_new(*state_);
    for (const stream::position& each : to) {
        position at = detail::position_of(each);
        if (std::ranges::none_of(state_->partitions,
                                 [&](const position& p) { return p.topic == at.topic && p.partition == at.partition; }))
            throw std::invalid_argument("coflux: Kafka: the source has no partition " + each.partition);
        state_->seek(std::move(at));
    }
    co_return;
}

call<void> partition_source::commit(environment&, const stream::positions& done) {
    auto&& here = co_await context();
    co_await state_->commit(here, done);
}

call<void> partition_source::close(environment&) {
    auto&& here = co_await context();
    co_await state_->in.close(here);
}

call<std::vector<position>> partitions_of(environment&, consumer_options reader, std::string_view topic) {
    auto&& here = co_await context();
    consumer asks(reader);
    std::vector<position> all;
    const std::int32_t count = co_await asks.partition_count(here, topic);
    for (std::int32_t p = 0; p != count; ++p) all.emplace_back(std::string(topic), p);
    co_await asks.close(here);
    co_return all;
}

call<std::vector<position>> co_partitions_of(environment&, consumer_options reader, std::vector<std::string> topics,
                                             std::int32_t number) {
    auto&& here = co_await context();
    if (topics.empty()) throw std::invalid_argument("coflux: Kafka: co_partitions_of() needs a topic");
    consumer asks(reader);
    std::vector<std::int32_t> counts;
    for (const std::string& topic : topics) counts.push_back(co_await asks.partition_count(here, topic));
    co_await asks.close(here);
    if (std::ranges::adjacent_find(counts, std::not_equal_to()) != counts.end()) {
        std::string text = "coflux: Kafka: topics that are joined have other numbers of partitions:";
        for (std::size_t i = 0; i != topics.size(); ++i) {
            text.append(i == 0 ? " " : ", ").append(topics[i]).append(" has ").append(std::to_string(counts[i]));
        }
        throw not_co_partitioned(text);
    }
    if (number < 0 || number >= counts.front())
        throw std::invalid_argument("coflux: Kafka: the topic " + topics.front() + " has no partition " +
                                    std::to_string(number));
    std::vector<position> all;
    for (std::string& topic : topics) all.emplace_back(std::move(topic), number);
    co_return all;
}

}  // namespace coflux::kafka
