#include <coflux/kafka/source.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <coflux/core/context.hpp>

#include "input.hpp"

namespace coflux::kafka {
namespace {

using kind = polled::kind;
using stream::partition_event;

void tell(detail::kafka_input& s, const polled& change, partition_event what) {
    for (const position& p : change.partitions) {
        const std::uint32_t number = s.number_of(p.topic, p.partition);
        s.set_owned(number, what != partition_event::lost);
        s.changes.push_back({what, number});
    }
}

}  // namespace

source::source(const consumer_options& member, std::vector<std::string> topics, source_options options)
    : state_(std::make_unique<detail::kafka_input>(member, options)) {
    if (topics.empty()) throw std::invalid_argument("coflux: Kafka: a source needs a topic");
    state_->topics = std::move(topics);
}
source::source(source&&) noexcept = default;
source& source::operator=(source&&) noexcept = default;
source::~source() = default;

call<bool> source::read(environment&, stream::batch<message>& into, std::size_t most) {
    auto&& here = co_await context();
    detail::kafka_input& s = *state_;
    if (!s.has_begun) {
        co_await s.in.subscribe(here, s.topics);
        s.has_begun = true;
    }
    for (;;) {
        if (s.unanswered.has_value() && s.unanswered->what == kind::assigned) {
            co_await s.begin_at(here, s.unanswered->partitions);
            tell(s, *s.unanswered, partition_event::assigned);
            co_await s.in.acknowledge(here, *std::exchange(s.unanswered, std::nullopt));
        }
        if (!s.changes.empty()) co_return true;
        s.unanswered.reset();  // poll() acknowledges it
        polled got = co_await s.poll(here, into, most);
        switch (got.what) {
        case kind::messages: co_return true;
        case kind::assigned: s.unanswered = std::move(got); break;
        case kind::revoked:
            tell(s, got, partition_event::revoked);
            s.unreleased = got.partitions.size();
            // [kafka.source.revoked]
            s.unanswered = std::move(got);
            break;
        case kind::lost:
            // [kafka.source.lost]
            tell(s, got, partition_event::lost);
            break;
        case kind::end: break;
        }
    }
}

std::optional<stream::partition_change> source::take_change() {
    if (state_->changes.empty()) return std::nullopt;
    const stream::partition_change first = state_->changes.front();
    state_->changes.pop_front();
    return first;
}

call<void> source::release(environment&, std::uint32_t p) {
    auto&& here = co_await context();
    detail::kafka_input& s = *state_;
    s.set_owned(p, false);
    if (--s.unreleased == 0) co_await s.in.acknowledge(here, *std::exchange(s.unanswered, std::nullopt));
}

std::string source::partition_name(std::uint32_t p) const {
    return state_->name_of(p);
}

call<void> source::rewind(environment&, const stream::positions&) {
    detail::require_new(*state_);
    co_return;
}

call<void> source::seek(environment&, const stream::positions& to) {
    detail::require_new(*state_);
    for (const stream::position& each : to) {
        position at = detail::position_of(each);
        const bool is_known = std::ranges::any_of(
            state_->topics, [&](const std::string& t) { return t == at.topic || t.starts_with('^'); });
        if (!is_known)
            throw std::invalid_argument("coflux: Kafka: a source of other topics has no partition " + each.partition);
        state_->seek(std::move(at));
    }
    co_return;
}

call<void> source::commit(environment&, const stream::positions& done) {
    auto&& here = co_await context();
    co_await state_->commit(here, done);
}

call<void> source::close(environment&) {
    auto&& here = co_await context();
    co_await state_->in.close(here);
}

}  // namespace coflux::kafka
