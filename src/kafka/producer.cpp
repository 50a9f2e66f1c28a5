#include <coflux/kafka/producer.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/combine/when_any.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/executor/blocking_pool.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/sleep.hpp>

#include "client.hpp"
#include "consumer.hpp"
#include "producer.hpp"

namespace coflux {
namespace detail {
namespace {

constexpr std::array refused_of_producer{
    refused_setting{"transactional.id", "producer_options::transactional_id"},
    refused_setting{"queue.buffering.max.messages", "producer_options::most_messages"},
    refused_setting{"queue.buffering.max.kbytes", "producer_options::most_bytes"},
    refused_setting{"queue.buffering.max.ms", "producer_options::linger"},
    refused_setting{"linger.ms", "producer_options::linger"},
    refused_setting{"delivery.timeout.ms", "producer_options::delivery_timeout"},
    refused_setting{"message.timeout.ms", "producer_options::delivery_timeout"},
    refused_setting{"transaction.timeout.ms", "producer_options::transaction_timeout"},
    refused_setting{"delivery.report.only.error", "producer::counters()"},
};

kafka_settings settings_of(const kafka::producer_options& o) {
    kafka_settings s;
    s.set("enable.idempotence", "true");  // which the user's settings may change
    s.take(o.client, refused_of_producer);
    s.set("queue.buffering.max.messages", static_cast<std::int64_t>(o.most_messages));
    s.set("queue.buffering.max.kbytes", static_cast<std::int64_t>(std::max<std::size_t>(1, o.most_bytes / 1024)));
    s.set("linger.ms", o.linger.count());
    auto delivery = o.delivery_timeout;
    if (!o.transactional_id.empty()) {
        s.set("transactional.id", o.transactional_id);
        s.set("transaction.timeout.ms", o.transaction_timeout.count());
        delivery = std::min(delivery, o.transaction_timeout);  // as librdkafka asks for
    }
    s.set("message.timeout.ms", delivery.count());
    s.enable(RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    return s;
}

/// How long one call of librdkafka tries: a stop waits no longer than that.
constexpr int slice = 500;  // ms

/// `operation(handle, slice)` on a thread that may block, again and again while it may succeed later.
template <typename Operation>
call<void> until_done(environment&, kafka_producer& s, std::string what, Operation operation) {
    const auto end = std::chrono::steady_clock::now() + s.transaction_timeout;
    std::chrono::milliseconds pause(5);
    for (;;) {
        const kafka_owned<rd_kafka_error_t> e =
            co_await blocking([&] { return kafka_owned<rd_kafka_error_t>(operation(s.client->handle(), slice)); });
        if (e == nullptr) co_return;
        s.client->throw_if_ended(what);
        if (rd_kafka_error_is_retriable(e.get()) == 0 || std::chrono::steady_clock::now() >= end)
            throw make_kafka_error(*e, what);
        co_await sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(slice));
    }
}

/// Where the group has gone on without it, librdkafka forgets the member's id. A broker takes positions without an id
/// from any producer.
bool is_member(rd_kafka_t* consumer) {
    const kafka_owned<char> id(rd_kafka_memberid(consumer));
    return id != nullptr && *id != '\0';
}

/// Until all that was sent is reported.
/// Pre: the caller owns `taking`.
call<void> until_reported(environment&, kafka_producer& s) {
    for (;;) {
        const bool took_all = s.take_reports();
        if (s.is_flushed()) co_return;
        if (took_all) {
            co_await s.client->woken().wait();
        } else {
            co_await turn();
        }
    }
}

/// Lets nothing linger, until nothing is on its way.
call<void> sends_at_once(environment&, const kafka_share& client) {
    const auto flush = [](const kafka_share& c) { return rd_kafka_flush(c->handle(), slice); };
    while (co_await blocking(abandon_on_stop, flush, client) != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
}

/// As until_reported(), and nothing lingers.
call<void> until_flushed(environment&, kafka_producer& s) {
    auto&& here = co_await context();
    if (!s.lingers) {
        co_await until_reported(here, s);
        co_return;
    }
    (void)s.take_reports();
    while (!s.is_flushed()) (void)co_await when_any(until_reported(here, s), sends_at_once(here, s.client));
}

}  // namespace

// --- the state -------------------------------------------------------------------------------------------------------

kafka_producer::kafka_producer(const kafka::producer_options& options)
    : client(new kafka_client(RD_KAFKA_PRODUCER, settings_of(options), options.client)),
      transaction_timeout(options.transaction_timeout),
      lingers(options.linger.count() != 0),
      most_bytes_(std::max<std::size_t>(1, options.most_bytes / 1024) * 1024),
      is_transactional_(!options.transactional_id.empty()) {}

bool kafka_producer::produce(const kafka::outgoing& m) {
    constexpr std::size_t others = 7;
    std::array<rd_kafka_vu_t, others + 8> few;
    std::vector<rd_kafka_vu_t> many;
    rd_kafka_vu_t* all = few.data();
    if (m.headers.size() + others > few.size()) {
        many.resize(m.headers.size() + others);
        all = many.data();
    }
    std::size_t count = 0;
    const std::string topic(m.topic);  // librdkafka's strings end with a zero
    const auto add = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
        all[count].vtype = type;
        return all[count++];
    };
    add(RD_KAFKA_VTYPE_TOPIC).u.cstr = topic.c_str();
    add(RD_KAFKA_VTYPE_PARTITION).u.i32 = m.partition;
    add(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
    // librdkafka takes what it copies as not const. Null is none, so an empty one needs an address.
    const auto pass = [&](rd_kafka_vtype_t type, std::string_view bytes) {
        rd_kafka_vu_t& v = add(type);
        v.u.mem.ptr = const_cast<char*>(bytes.data() != nullptr ? bytes.data() : "");
        v.u.mem.size = bytes.size();
    };
    if (m.key.has_value()) pass(RD_KAFKA_VTYPE_KEY, *m.key);
    if (m.value.has_value()) pass(RD_KAFKA_VTYPE_VALUE, *m.value);
    if (m.time.has_value()) add(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = m.time->time_since_epoch().count();
    std::vector<std::string> names;  // of headers: they end with a zero, too
    names.reserve(m.headers.size());
    for (const kafka::header& h : m.headers) {
        rd_kafka_vu_t& v = add(RD_KAFKA_VTYPE_HEADER);
        v.u.header.name = names.emplace_back(h.name).c_str();
        v.u.header.val = h.value.has_value() ? (h.value->data() != nullptr ? h.value->data() : "") : nullptr;
        v.u.header.size = h.value.has_value() ? static_cast<ssize_t>(h.value->size()) : 0;
    }

    sent_.fetch_add(1, memory_order_relaxed);
    const kafka_owned<rd_kafka_error_t> refused(rd_kafka_produceva(client->handle(), all, count));
    if (refused == nullptr) return true;
    sent_.fetch_sub(1, memory_order_relaxed);
    const std::string what = "send to " + topic;
    switch (rd_kafka_error_code(refused.get())) {
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        if (m.value.has_value() && m.value->size() > most_bytes_)
            throw make_kafka_error(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, what,
                                   "there is never room for it: producer_options::most_bytes");
        return false;
    case RD_KAFKA_RESP_ERR__STATE:
        // In a transaction librdkafka takes nothing once that cannot be committed, and says why in its log alone.
        if (is_in_transaction.load(memory_order_relaxed))
            throw make_kafka_error(RD_KAFKA_RESP_ERR__STATE, what, client->last_complaint(), {.requires_abort = true});
        [[fallthrough]];
    default: throw make_kafka_error(*refused, what);
    }
}

void kafka_producer::count(const rd_kafka_message_t& m) noexcept {
    reported_.fetch_add(1, memory_order_relaxed);
    if (m.err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    failed_.fetch_add(1, memory_order_relaxed);
    if (failures_++ != 0) return;
    try {
        // Not rd_kafka_message_errstr(): it takes a message's value for a text.
        failure_.emplace(make_kafka_error(m.err, "deliver to " + name_of(rd_kafka_topic_name(m.rkt), m.partition), {},
                                          {.requires_abort = is_transactional_}));
    } catch (const std::bad_alloc&) {
        failures_ = 0;  // the next one has the reason
    }
}

bool kafka_producer::take_reports() noexcept {
    constexpr std::size_t most = 2'000;  // a step
    for (std::size_t counted = 0; counted < most;) {
        const kafka_owned<rd_kafka_event_t> e = client->take();
        if (e == nullptr) return true;
        if (rd_kafka_event_type(e.get()) == RD_KAFKA_EVENT_DR) {
            while (const rd_kafka_message_t* const m = rd_kafka_event_message_next(e.get())) {
                count(*m);
                ++counted;
            }
        } else if (rd_kafka_event_type(e.get()) == RD_KAFKA_EVENT_ERROR) {
            client->complain(rd_kafka_event_error_string(e.get()));  // what ends the client comes from each operation
        }
    }
    return false;
}

void kafka_producer::take_some_reports() noexcept {
    constexpr std::uint64_t each = 128;
    if (sent_.load(memory_order_relaxed) % each != 0) return;
    if (const auto guard = taking.try_lock(); guard.owns_lock()) (void)take_reports();
}

void kafka_producer::throw_failure() {
    if (!failure_.has_value()) return;
    const kafka::error first = *std::exchange(failure_, std::nullopt);
    const std::uint64_t all = std::exchange(failures_, 0);
    // The messages of a producer that is fenced fail with the broker's answer, or are purged. librdkafka notes what has
    // ended the client before it reports them.
    client->throw_if_ended("deliver what was sent");
    if (all == 1) throw first;
    throw kafka::error(first.code(),
                       "coflux: Kafka: " + std::to_string(all) +
                           " messages were not delivered; the first: " + first.what(),
                       {.requires_abort = first.requires_abort()});
}

kafka::deliveries kafka_producer::counters() const noexcept {
    const std::uint64_t failed = failed_.load(memory_order_relaxed);
    const std::uint64_t reported = reported_.load(memory_order_relaxed);
    return {sent_.load(memory_order_relaxed), reported - std::min(failed, reported), failed};
}

}  // namespace detail

// --- the producer ----------------------------------------------------------------------------------------------------

namespace kafka {

producer::producer() noexcept = default;
producer::producer(const producer_options& options) : state_(std::make_unique<detail::kafka_producer>(options)) {}
producer::producer(producer&& other) noexcept = default;
producer& producer::operator=(producer&& other) noexcept = default;
producer::~producer() = default;

detail::kafka_producer& producer::get() const noexcept {
    COFLUX_VERIFY(state_ != nullptr, "an operation of a Kafka producer that is closed");
    return *state_;
}

std::string producer::last_complaint() const {
    return get().client->last_complaint();
}
deliveries producer::counters() const noexcept {
    return get().counters();
}

call<void> producer::connect(environment&) {
    auto&& here = co_await context();
    co_await detail::reach_brokers(here, get().client);
}

bool producer::try_send(const outgoing& m) {
    detail::kafka_producer& s = get();
    s.take_some_reports();
    return s.produce(m);
}
call<void> producer::send(environment&, const outgoing& m) {
    detail::kafka_producer& s = get();
    co_await detail::turn();
    s.take_some_reports();
    if (s.produce(m)) co_return;
    const auto guard = co_await s.taking.lock();
    for (;;) {
        const bool took_all = s.take_reports();
        if (s.produce(m)) co_return;
        if (took_all) co_await s.client->woken().wait();
    }
}
call<void> producer::flush(environment&) {
    auto&& here = co_await context();
    detail::kafka_producer& s = get();
    const auto guard = co_await s.taking.lock();
    // [kafka.flush.waits]
    co_await detail::until_flushed(here, s);
    // [kafka.flush.fails]
    s.throw_failure();
}

call<void> producer::init_transactions(environment&) {
    auto&& here = co_await context();
    co_await detail::until_done(here, get(), "begin with transactions",
                                [](rd_kafka_t* h, int ms) { return rd_kafka_init_transactions(h, ms); });
}
call<void> producer::begin_transaction(environment&) {
    auto&& here = co_await context();
    detail::kafka_producer& s = get();
    co_await detail::until_done(here, s, "begin a transaction",
                                [](rd_kafka_t* h, int) { return rd_kafka_begin_transaction(h); });
    // relaxed: one coroutine at a time has the transaction, and tells those that send.
    s.is_in_transaction.store(true, detail::memory_order_relaxed);
}
call<void> producer::send_positions(environment&, const consumer& of, std::span<const position> positions) {
    auto&& here = co_await context();
    const detail::kafka_share from = of.get().client;
    const bool joins = of.get().joins.load(detail::memory_order_relaxed);
    const detail::kafka_list list = detail::list_of(positions);
    co_await detail::until_done(here, get(), "send positions", [&](rd_kafka_t* h, int ms) {
        const detail::kafka_owned<rd_kafka_consumer_group_metadata_t> group(
            rd_kafka_consumer_group_metadata(from->handle()));
        // Asked behind the metadata: what has an id now had one then, unless the loss was acknowledged meanwhile.
        // [kafka.transaction.member]
        if (joins && !detail::is_member(from->handle()))
            throw detail::make_kafka_error(RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, "send positions",
                                           "the group has gone on without this consumer", {.requires_abort = true});
        return rd_kafka_send_offsets_to_transaction(h, list.get(), group.get(), ms);
    });
}
call<void> producer::commit_transaction(environment&) {
    auto&& here = co_await context();
    detail::kafka_producer& s = get();
    const auto guard = co_await s.taking.lock();
    // [kafka.transaction.flush]
    co_await detail::until_flushed(here, s);  // what failed is an error of the commit
    co_await detail::until_done(here, s, "commit a transaction",
                                [](rd_kafka_t* h, int ms) { return rd_kafka_commit_transaction(h, ms); });
    s.is_in_transaction.store(false, detail::memory_order_relaxed);
}
call<void> producer::abort_transaction(environment&) {
    auto&& here = co_await context();
    detail::kafka_producer& s = get();
    const auto guard = co_await s.taking.lock();
    (void)rd_kafka_purge(s.client->handle(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    co_await detail::until_flushed(here, s);
    co_await detail::until_done(here, s, "abort a transaction",
                                [](rd_kafka_t* h, int ms) { return rd_kafka_abort_transaction(h, ms); });
    s.is_in_transaction.store(false, detail::memory_order_relaxed);
    s.forget_failures();  // of messages that are dropped with it
}

call<void> producer::close(environment&) {
    (void)get();
    co_await blocking([&] { state_.reset(); });
}

}  // namespace kafka
}  // namespace coflux
