#include <coflux/kafka/consumer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/executor/blocking_pool.hpp>
#include <coflux/time/timeout.hpp>

#include "client.hpp"
#include "consumer.hpp"

namespace coflux {
namespace detail {
namespace {

constexpr std::array refused_of_consumer{
    refused_setting{"group.id", "consumer_options::group"},
    refused_setting{"group.instance.id", "consumer_options::instance"},
    refused_setting{"partition.assignment.strategy", "consumer_options::protocol"},
    refused_setting{"auto.offset.reset", "consumer_options::start"},
    refused_setting{"session.timeout.ms", "consumer_options::session_timeout"},
    refused_setting{"max.poll.interval.ms", "consumer_options::poll_timeout"},
    refused_setting{"isolation.level", "consumer_options::reads_committed"},
    refused_setting{"enable.partition.eof", "consumer_options::reports_end"},
    refused_setting{"enable.auto.commit", "consumer::commit()"},
    refused_setting{"enable.auto.offset.store", "consumer::commit()"},
    refused_setting{"auto.commit.interval.ms", "consumer::commit()"},
};

const char* name_of(kafka::start_at s) noexcept {
    switch (s) {
    case kafka::start_at::beginning: return "earliest";
    case kafka::start_at::end: return "latest";
    case kafka::start_at::nowhere: break;
    }
    return "error";
}

kafka_settings settings_of(const kafka::consumer_options& o) {
    if (o.group.empty())
        throw std::invalid_argument("coflux: Kafka: a consumer needs a group: consumer_options::group is empty");
    kafka_settings s;
    // Three heartbeats a session at least; the user's settings may say otherwise.
    s.set("heartbeat.interval.ms", std::clamp<std::int64_t>(o.session_timeout.count() / 3, 1, 3'000));
    s.take(o.client, refused_of_consumer);
    s.set("group.id", o.group);
    if (!o.instance.empty()) s.set("group.instance.id", o.instance);
    s.set("partition.assignment.strategy",
          o.protocol == kafka::rebalancing::cooperative ? "cooperative-sticky" : "range,roundrobin");
    s.set("auto.offset.reset", name_of(o.start));
    s.set("session.timeout.ms", o.session_timeout.count());
    s.set("max.poll.interval.ms", std::max(o.poll_timeout, o.session_timeout).count());
    s.set("isolation.level", o.reads_committed ? "read_committed" : "read_uncommitted");
    s.set("enable.partition.eof", o.reports_end ? "true" : "false");
    // The program says what is committed.
    s.set("enable.auto.commit", "false");
    s.set("enable.auto.offset.store", "false");
    s.enable(RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_FETCH);
    return s;
}

}  // namespace

// --- the state -------------------------------------------------------------------------------------------------------

kafka_consumer::kafka_consumer(const kafka::consumer_options& options)
    : client(new kafka_client(RD_KAFKA_CONSUMER, settings_of(options), options.client)),
      // Often enough that librdkafka sees the member poll.
      looks_each(std::max(options.poll_timeout, options.session_timeout) / 3),
      reports_end_(options.reports_end) {}

kafka::polled kafka_consumer::take(std::vector<kafka::message>& into, std::size_t most) {
    kafka::polled got;
    // Nothing is taken unless there is room for it. Twice the room, because a caller may collect.
    if (into.capacity() - into.size() < most) into.reserve(std::max(into.size() + most, 2 * into.capacity()));
    while (got.count < most) {
        kafka_owned<rd_kafka_event_t> e = set_aside_ != nullptr ? std::move(set_aside_) : client->take();
        if (e == nullptr) break;
        if (rd_kafka_event_type(e.get()) == RD_KAFKA_EVENT_FETCH) {
            // Without a message: a mark of a transaction.
            if (const rd_kafka_message_t* const m = rd_kafka_event_message_next(e.get()); m != nullptr) {
                into.push_back(kafka::message(e.release(), m, *client));
                ++got.count;
            }
            continue;
        }
        if (got.count != 0) {  // the messages in front of it first
            set_aside_ = std::move(e);
            break;
        }
        try {
            if (told_by(*e, got)) return got;
        } catch (const std::bad_alloc&) {  // nothing was taken
            set_aside_ = std::move(e);
            throw;
        }
    }
    client->share(got.count);
    return got;
}

std::span<rd_kafka_message_t* const> kafka_consumer::take_batch(std::size_t most) {
    if (batch_.size() < most) batch_.resize(most);
    for (;;) {
        if (const auto failed = client->take_noted(); failed.has_value()) throw kafka::error(*failed);
        const ssize_t count = rd_kafka_consume_batch_queue(client->queue(), 0, batch_.data(), most);
        std::size_t good = 0;
        for (ssize_t i = 0; i < count; ++i) {
            rd_kafka_message_t* const m = batch_[static_cast<std::size_t>(i)];
            if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) [[likely]] {
                batch_[good++] = m;
            } else {  // told behind the messages
                client->note(m->err, rd_kafka_message_errstr(m));
                rd_kafka_message_destroy(m);
            }
        }
        // Without a message, something of librdkafka's own may have been in front.
        if (good == 0 && (client->has_noted() || rd_kafka_queue_length(client->queue()) != 0)) continue;
        client->share(good);
        return {batch_.data(), good};
    }
}

bool kafka_consumer::told_by(rd_kafka_event_t& e, kafka::polled& got) {
    const rd_kafka_resp_err_t code = rd_kafka_event_error(&e);
    if (rd_kafka_event_type(&e) == RD_KAFKA_EVENT_REBALANCE) {
        got.partitions = positions_of(rd_kafka_event_topic_partition_list(&e));
        if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
            got.what = kafka::polled::kind::assigned;
            was_given_ = true;
            for (kafka::position& p : got.partitions) p.offset = static_cast<std::int64_t>(kafka::place::committed);
        } else {
            got.what = rd_kafka_assignment_lost(client->handle()) != 0 ? kafka::polled::kind::lost
                                                                       : kafka::polled::kind::revoked;
        }
        unanswered_ = got;
        return true;
    }
    if (rd_kafka_event_type(&e) != RD_KAFKA_EVENT_ERROR) return false;
    if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        const std::unique_ptr<rd_kafka_topic_partition_t, decltype(&rd_kafka_topic_partition_destroy)> at(
            rd_kafka_event_topic_partition(&e), &rd_kafka_topic_partition_destroy);
        got.what = kafka::polled::kind::end;
        if (at != nullptr) got.partitions.emplace_back(at->topic, at->partition, at->offset);
        return true;
    }
    const char* const text = rd_kafka_event_error_string(&e);
    client->throw_if_ended("poll");
    if (!passes(code)) throw make_kafka_error(code, "poll", text);
    client->complain(text);
    return false;
}

bool kafka_consumer::divides_cooperatively() const noexcept {
    const char* const protocol = rd_kafka_rebalance_protocol(client->handle());
    return protocol != nullptr && std::strcmp(protocol, "COOPERATIVE") == 0;
}

void kafka_consumer::answer(const kafka::polled& change) {
    unanswered_.reset();  // whatever comes of it: librdkafka gives the change once
    rd_kafka_t* const handle = client->handle();
    const bool is_cooperative = divides_cooperatively();
    const bool takes = change.what == kafka::polled::kind::assigned;
    const std::string what = takes ? "take partitions" : "give partitions back";
    const kafka_list list = list_of(change.partitions);
    if (is_cooperative) {
        throw_if(takes ? rd_kafka_incremental_assign(handle, list.get())
                       : rd_kafka_incremental_unassign(handle, list.get()),
                 what);
        // librdkafka before 2.4 drops what a client takes that has failed, and never ends it (librdkafka#4527).
        if (takes && rd_kafka_version() < 0x02040000 &&
            rd_kafka_fatal_error(handle, nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR)
            client->abandon();
    } else {
        throw_if(rd_kafka_assign(handle, takes ? list.get() : nullptr), what);
    }
    const lock_guard<mutex> guard(lock_);
    if (!is_cooperative) assigned_.clear();
    for (const kafka::position& p : change.partitions) {
        std::erase_if(assigned_, [&](const kafka::position& a) { return names_same(a, p); });
        if (takes) assigned_.push_back(p);
    }
}

void kafka_consumer::assign(const std::vector<kafka::position>& partitions) {
    throw_if(rd_kafka_assign(client->handle(), list_of(partitions).get()), "assign partitions");
    const lock_guard<mutex> guard(lock_);
    assigned_ = partitions;
}

std::vector<kafka::position> kafka_consumer::assigned() const {
    const lock_guard<mutex> guard(lock_);
    return assigned_;
}

/// Each change that was not answered, waits in the queue, or comes meanwhile, is answered at once.
void kafka_consumer::leave() noexcept {
    constexpr int slice = 100;  // ms; the queue wakes it earlier
    const auto settle = [this](const kafka_owned<rd_kafka_event_t>& e) {
        bool answers = false;
        try {
            kafka::polled told;
            if (e != nullptr) (void)told_by(*e, told);
            answers = unanswered_.has_value();
            if (answers) answer(kafka::polled(*unanswered_));
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it gives all back anyway
        }
        return answers;
    };
    (void)settle(nullptr);
    (void)settle(std::exchange(set_aside_, nullptr));
    for (std::size_t most = rd_kafka_queue_length(client->queue()); most != 0; --most) (void)settle(client->take());
    // librdkafka before 2.3 aborts the program where it ends a client that has joined and was given nothing yet
    // (librdkafka#4312).
    if (rd_kafka_version() < 0x02030000 && !was_given_ && divides_cooperatively()) client->abandon();
    rd_kafka_t* const handle = client->handle();
    const kafka_owned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle));
    const kafka_owned<rd_kafka_error_t> refused(rd_kafka_consumer_close_queue(handle, queue.get()));
    if (refused != nullptr) return;  // of a client that has failed: it has left
    // One answer gives all back. A second one may never return: librdkafka may end meanwhile, and drop it.
    for (bool has_answered = false; rd_kafka_consumer_closed(handle) == 0;) {
        const kafka_owned<rd_kafka_event_t> e(rd_kafka_queue_poll(queue.get(), slice));
        if (!has_answered) has_answered = settle(e);
    }
}

}  // namespace detail

// --- the consumer ----------------------------------------------------------------------------------------------------

namespace kafka {

using detail::kafka_list;
using detail::kafka_share;

consumer::consumer() noexcept = default;
consumer::consumer(const consumer_options& options) : state_(std::make_unique<detail::kafka_consumer>(options)) {}
consumer::consumer(consumer&& other) noexcept = default;
consumer& consumer::operator=(consumer&& other) noexcept = default;
consumer::~consumer() = default;

detail::kafka_consumer& consumer::get() const noexcept {
    COFLUX_VERIFY(state_ != nullptr, "an operation of a Kafka consumer that is closed");
    return *state_;
}

std::string consumer::last_complaint() const {
    return get().client->last_complaint();
}

call<void> consumer::subscribe(environment&, std::vector<std::string> topics) {
    auto&& here = co_await context();
    detail::kafka_consumer& s = get();
    co_await detail::reach_brokers(here, s.client);
    s.joins.store(true, detail::memory_order_relaxed);  // what is read of it later comes by the program's own order
    co_await blocking([&] {
        std::vector<position> names;
        for (std::string& t : topics) names.emplace_back(std::move(t), RD_KAFKA_PARTITION_UA);
        detail::throw_if(rd_kafka_subscribe(s.client->handle(), detail::list_of(names).get()), "subscribe");
    });
}
call<void> consumer::assign(environment&, std::vector<position> partitions) {
    auto&& here = co_await context();
    detail::kafka_consumer& s = get();
    co_await detail::reach_brokers(here, s.client);
    co_await blocking([&] { s.assign(partitions); });
}

call<polled> consumer::poll(environment&, std::vector<message>& into, std::size_t most) {
    detail::kafka_consumer& s = get();
    const detail::polling_turn alone(s.is_polled);
    co_await detail::turn();
    if (s.unanswered().has_value()) co_await blocking([&] { s.answer(polled(*s.unanswered())); });
    for (;;) {
        polled got = s.take(into, std::clamp<std::size_t>(most, 1, s.most_of_a_poll));
        if (got.what != polled::kind::messages || got.count != 0) co_return got;
        s.client->throw_if_ended("poll");  // nothing comes any more
        (void)co_await timeout(s.client->woken().wait(), s.looks_each);
    }
}
call<void> consumer::acknowledge(environment&, const polled& change) {
    detail::kafka_consumer& s = get();
    const detail::polling_turn alone(s.is_polled);
    if (change.is_change() && s.unanswered().has_value()) co_await blocking([&] { s.answer(change); });
}

call<void> consumer::commit(environment&, std::span<const position> positions) {
    detail::kafka_consumer& s = get();
    if (positions.empty()) co_return;
    detail::kafka_reply reply(s.client->handle());
    const kafka_list list = detail::list_of(positions);
    detail::throw_if(rd_kafka_commit_queue(s.client->handle(), list.get(), reply.queue(), nullptr, nullptr), "commit");
    detail::kafka_owned<rd_kafka_event_t> answer;
    while ((answer = reply.take()) == nullptr) co_await reply.woken().wait();
    if (rd_kafka_event_error(answer.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) s.client->throw_if_ended("commit");
    if (const auto* const each = rd_kafka_event_topic_partition_list(answer.get()); each != nullptr)
        detail::throw_if_any(*each, "commit");
    detail::throw_if(rd_kafka_event_error(answer.get()), "commit");
}

call<std::vector<position>> consumer::committed(environment&, std::span<const position> partitions) {
    const auto ask = [](const kafka_share& c, const kafka_list& list) {
        detail::throw_if(rd_kafka_committed(c->handle(), list.get(), c->request_timeout()), "ask what is committed");
        detail::throw_if_any(*list, "ask what is committed");
        return detail::positions_of(list.get());
    };
    co_return co_await blocking(abandon_on_stop, ask, get().client, detail::list_of(partitions));
}

std::vector<position> consumer::positions() const {
    const detail::kafka_consumer& s = get();
    const kafka_list list = detail::list_of(s.assigned());
    detail::throw_if(rd_kafka_position(s.client->handle(), list.get()), "ask for positions");
    return detail::positions_of(list.get());
}

call<void> consumer::pause(environment&, std::span<const position> partitions) {
    detail::kafka_consumer& s = get();
    co_await blocking([&] {
        const kafka_list list = detail::list_of(partitions);
        detail::throw_if(rd_kafka_pause_partitions(s.client->handle(), list.get()), "pause");
        detail::throw_if_any(*list, "pause");
    });
}
call<void> consumer::resume(environment&, std::span<const position> partitions) {
    detail::kafka_consumer& s = get();
    co_await blocking([&] {
        const kafka_list list = detail::list_of(partitions);
        detail::throw_if(rd_kafka_resume_partitions(s.client->handle(), list.get()), "resume");
        detail::throw_if_any(*list, "resume");
    });
}
call<void> consumer::seek(environment&, std::span<const position> positions) {
    detail::kafka_consumer& s = get();
    co_await blocking([&] {
        const kafka_list list = detail::list_of(positions);
        detail::throw_if(rd_kafka_seek_partitions(s.client->handle(), list.get(), s.client->request_timeout()), "seek");
        detail::throw_if_any(*list, "seek");
    });
}

call<std::vector<position>> consumer::offsets_at(environment&, std::span<const position> partitions,
                                                 std::chrono::system_clock::time_point time) {
    const auto ask = [](const kafka_share& c, const kafka_list& list) {
        detail::throw_if(rd_kafka_offsets_for_times(c->handle(), list.get(), c->request_timeout()), "look for a time");
        detail::throw_if_any(*list, "look for a time");
        return detail::positions_of(list.get());
    };
    kafka_list list = detail::list_of(partitions);
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    for (int i = 0; i < list->cnt; ++i) list->elems[i].offset = at;  // librdkafka's way to pass it
    co_return co_await blocking(abandon_on_stop, ask, get().client, std::move(list));
}

call<watermarks> consumer::bounds(environment&, const position& partition) {
    const auto ask = [](const kafka_share& c, const position& p) {
        watermarks found;
        detail::throw_if(rd_kafka_query_watermark_offsets(c->handle(), p.topic.c_str(), p.partition, &found.low,
                                                          &found.high, c->request_timeout()),
                         "ask for the bounds of " + detail::name_of(p.topic, p.partition));
        return found;
    };
    co_return co_await blocking(abandon_on_stop, ask, get().client, partition);
}

call<std::int32_t> consumer::partition_count(environment&, std::string_view topic) {
    const auto ask = [](const kafka_share& c, const std::string& name) -> std::int32_t {
        const std::string what = "ask for the partitions of " + name;
        const detail::kafka_owned<rd_kafka_topic_t> t(rd_kafka_topic_new(c->handle(), name.c_str(), nullptr));
        const rd_kafka_metadata_t* found = nullptr;
        detail::throw_if(rd_kafka_metadata(c->handle(), 0, t.get(), &found, c->request_timeout()), what);
        const detail::kafka_owned<const rd_kafka_metadata_t> owned(found);
        detail::throw_if(found->topic_cnt == 1 ? found->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, what);
        return found->topics[0].partition_cnt;
    };
    co_return co_await blocking(abandon_on_stop, ask, get().client, std::string(topic));
}

call<void> consumer::close(environment&) {
    (void)get();
    co_await blocking([&] { state_.reset(); });
}

}  // namespace kafka
}  // namespace coflux
