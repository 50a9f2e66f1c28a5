#include "input.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/time/sleep.hpp>
#include <coflux/time/timeout.hpp>

#include "consumer.hpp"

namespace coflux::detail {
namespace {

std::shared_ptr<const stream::original> copy_of(const kafka::message& m) {
    auto read = std::make_shared<stream::original>();
    read->key = m.key();
    read->value = m.value();
    for (std::size_t i = 0; i != m.header_count(); ++i) {
        const kafka::header h = m.header(i);
        read->headers.emplace_back(h.name, h.value.value_or(std::string_view()));
    }
    return read;
}

/// Saturates: a producer may send any number.
stream::event_time time_of(const rd_kafka_message_t& m) noexcept {
    rd_kafka_timestamp_type_t type{};
    const std::chrono::milliseconds at(rd_kafka_message_timestamp(&m, &type));
    if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE) return stream::no_time;
    using std::chrono::milliseconds;
    constexpr auto least = std::chrono::ceil<milliseconds>(stream::no_time);
    constexpr auto most = std::chrono::floor<milliseconds>(stream::end_of_time);
    return stream::event_time(std::clamp(std::chrono::sys_time<milliseconds>(at), least, most));
}

/// The group has gone on without the member, which librdkafka takes for the loss of its partitions.
bool is_loss(const kafka::error& e) noexcept {
    return e.code() == kafka::errc::unknown_member || e.code() == kafka::errc::illegal_generation;
}

/// The group is being divided anew, or its coordinator is not there for a moment: the same commit may succeed later.
bool may_pass(const kafka::error& e) noexcept {
    return e.is_retriable() || e.code() == kafka::errc::rebalance_in_progress ||
           passes(static_cast<rd_kafka_resp_err_t>(e.code().value()));
}

}  // namespace

std::string stream_name_of(std::string_view topic, std::int32_t partition) {
    std::string name(topic);  // no name of a topic has a '/'
    return name.append("/").append(std::to_string(partition));
}

kafka::position position_of(const stream::position& at) {
    const std::string& name = at.partition;
    const std::size_t slash = name.rfind('/');
    std::int32_t number = -1;
    if (slash != std::string::npos && slash != 0) {
        const char* const end = name.data() + name.size();
        const auto [behind, error] = std::from_chars(name.data() + slash + 1, end, number);
        if (error != std::errc() || behind != end) number = -1;
    }
    if (number < 0) throw std::invalid_argument("coflux: Kafka: '" + name + "' names no partition of a topic");
    return {name.substr(0, slash), number, at.next};
}

void require_new(const kafka_input& of) {
    if (of.has_begun)
        throw std::invalid_argument("coflux: Kafka: a source serves one run: make another one for the next run");
}

std::uint32_t kafka_input::number_of(std::string_view topic, std::int32_t number) {
    const auto is_it = [&](const partition& p) { return p.number == number && p.topic == topic; };
    if (last_ < known_.size() && is_it(known_[last_])) return last_;
    last_ = static_cast<std::uint32_t>(std::ranges::find_if(known_, is_it) - known_.begin());
    if (last_ == known_.size()) {
        const lock_guard<mutex> guard(lock_);
        known_.push_back({std::string(topic), number});
    }
    return last_;
}

std::string kafka_input::name_of(std::uint32_t number) const {
    const lock_guard<mutex> guard(lock_);
    return stream_name_of(known_.at(number).topic, known_.at(number).number);
}

void kafka_input::set_owned(std::uint32_t number, bool owned) {
    const lock_guard<mutex> guard(lock_);
    known_[number].is_owned = owned;
}

std::vector<kafka::position> kafka_input::owned_of(const stream::positions& done) const {
    std::vector<kafka::position> all;
    const lock_guard<mutex> guard(lock_);
    for (const stream::position& each : done) {
        kafka::position p = position_of(each);
        // [kafka.commit.owned]
        if (std::ranges::any_of(known_, [&](const partition& k) {
                return k.is_owned && k.number == p.partition && k.topic == p.topic;
            }))
            all.push_back(std::move(p));
    }
    return all;
}

call<void> kafka_input::begin_at(environment&, std::vector<kafka::position>& all) {
    auto&& here = co_await context();
    std::vector<kafka::position> open;
    for (kafka::position& p : all) {
        const auto at = std::ranges::find_if(sought_, [&](const kafka::position& s) { return names_same(s, p); });
        // [kafka.begin.sought]
        p.offset = at != sought_.end() ? at->offset : static_cast<std::int64_t>(kafka::place::committed);
        if (at == sought_.end() && where_.from.has_value()) open.push_back(p);
    }
    if (!open.empty()) {
        std::vector<kafka::position> at = co_await in.committed(here, open);
        std::erase_if(at, [](const kafka::position& p) { return p.has_offset(); });
        if (!at.empty()) at = co_await in.offsets_at(here, at, *where_.from);
        for (kafka::position& p : all) {
            const auto found = std::ranges::find_if(at, [&](const kafka::position& s) { return names_same(s, p); });
            if (found != at.end()) p.offset = found->offset;
        }
    }
    // Once alone: a partition that comes back begins where the group has committed.
    // [kafka.begin.once]
    std::erase_if(sought_, [&](const kafka::position& s) {
        return std::ranges::any_of(all, [&](const kafka::position& p) { return names_same(s, p); });
    });
}

call<kafka::polled> kafka_input::poll(environment&, stream::batch<kafka::message>& into, std::size_t most) {
    auto&& here = co_await context();
    kafka_consumer& s = in.get();
    kafka::polled got;
    if (s.gives_batches() && !into.keeps_originals()) {
        const polling_turn alone(s.is_polled);
        co_await turn();
        most = std::clamp<std::size_t>(most, 1, kafka_consumer::most_of_a_poll);
        into.reserve(into.size() + most);
        for (;;) {
            const std::span<rd_kafka_message_t* const> all = s.take_batch(most);
            put(into, all, *s.client);
            got.count = all.size();
            if (got.count != 0) co_return got;
            s.client->throw_if_ended("poll");
            (void)co_await timeout(s.client->woken().wait(), s.looks_each);
        }
    }
    if (messages_.empty()) {  // else there was no memory for them
        got = co_await in.poll(here, messages_, most);
        if (got.what != kafka::polled::kind::messages) co_return got;
    }
    got.count = messages_.size();
    put(into);
    co_return got;
}

void kafka_input::put(stream::batch<kafka::message>& into, std::span<rd_kafka_message_t* const> all,
                      kafka_client& of) noexcept {
    const rd_kafka_message_t* before = nullptr;
    std::uint32_t number = 0;
    for (const rd_kafka_message_t* const m : all) {
        if (before == nullptr || m->rkt != before->rkt || m->partition != before->partition)
            number = number_of(rd_kafka_topic_name(m->rkt), m->partition);
        into.emplace_back([&] { return kafka::message(nullptr, m, of); }, time_of(*m), m->offset + 1, number);
        before = m;
    }
}

void kafka_input::put(stream::batch<kafka::message>& into) {
    // First comes all that may fail: then all of them come at the next read.
    std::vector<std::uint32_t> numbers;
    std::vector<std::shared_ptr<const stream::original>> read;
    for (const kafka::message& m : messages_) {
        numbers.push_back(number_of(m.topic(), m.partition()));
        if (into.keeps_originals()) read.push_back(copy_of(m));
    }
    into.reserve(into.size() + messages_.size());
    for (std::size_t i = 0; i != messages_.size(); ++i) {
        kafka::message& m = messages_[i];
        const stream::event_time time = time_of(*static_cast<const rd_kafka_message_t*>(m.raw_));
        // [kafka.record.next]
        const std::int64_t next = m.offset() + 1;
        stream::record<kafka::message> r{std::move(m), time, next, numbers[i], 0, nullptr};
        if (read.empty()) {
            into.push_back(std::move(r));
        } else {
            into.push_back(std::move(r), std::move(read[i]));
        }
    }
    messages_.clear();
}

call<void> kafka_input::commit(environment&, const stream::positions& done) {
    auto&& here = co_await context();
    // relaxed: it is set before the run begins.
    // [kafka.commit.in_transactions]
    if (is_in_transactions.load(memory_order_relaxed)) co_return;
    const auto end = std::chrono::steady_clock::now() + request_timeout_;
    std::chrono::milliseconds pause(5);
    for (;;) {
        const std::vector<kafka::position> mine = owned_of(done);
        std::optional<kafka::error> refused;
        try {
            co_await in.commit(here, mine);
        } catch (const kafka::error& e) {
            refused = e;
        }
        if (!refused.has_value()) co_return;
        if (!topics.empty() && is_loss(*refused)) co_return;  // poll() is about to say so
        // [kafka.commit.refused]
        if (!may_pass(*refused) || std::chrono::steady_clock::now() >= end) throw *refused;
        co_await sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(500));
    }
}

}  // namespace coflux::detail
