#include "input.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/time/sleep.hpp>

#include "client.hpp"

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
stream::event_time time_of(const kafka::message& m) noexcept {
    const auto time = m.time();
    if (!time.has_value()) return stream::no_time;
    using std::chrono::milliseconds;
    constexpr auto least = std::chrono::ceil<milliseconds>(stream::no_time);
    constexpr auto most = std::chrono::floor<milliseconds>(stream::end_of_time);
    return stream::event_time(std::clamp<std::chrono::sys_time<milliseconds>>(*time, least, most));
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

void kafka_input::put(stream::batch<kafka::message>& into) {
    for (kafka::message& m : messages) {
        const std::uint32_t number = number_of(m.topic(), m.partition());
        const stream::event_time time = time_of(m);
        // [kafka.record.next]
        const std::int64_t next = m.offset() + 1;
        std::shared_ptr<const stream::original> read;
        if (into.keeps_originals()) read = copy_of(m);
        stream::record<kafka::message> r{std::move(m), time, next, number, 0, nullptr};
        if (read != nullptr) {
            into.push_back(std::move(r), std::move(read));
        } else {
            into.push_back(std::move(r));
        }
    }
    messages.clear();
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
