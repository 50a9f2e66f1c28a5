#include "client.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>

#include <coflux/core/context.hpp>
#include <coflux/executor/blocking_pool.hpp>

namespace coflux::detail {

// --- errors ----------------------------------------------------------------------------------------------------------

kafka::error make_kafka_error(rd_kafka_resp_err_t code, const std::string& what, std::string_view reason,
                              kafka::error_traits traits) {
    std::string text = "coflux: Kafka: " + what + ": " + rd_kafka_err2name(code);
    // The category adds librdkafka's own text.
    if (!reason.empty() && reason != rd_kafka_err2str(code)) text.append(": ").append(reason);
    return {std::error_code(static_cast<int>(code), kafka::category()), text, traits};
}
kafka::error make_kafka_error(const rd_kafka_error_t& e, const std::string& what) {
    return make_kafka_error(rd_kafka_error_code(&e), what, rd_kafka_error_string(&e),
                            {rd_kafka_error_is_retriable(&e) != 0, rd_kafka_error_is_fatal(&e) != 0,
                             rd_kafka_error_txn_requires_abort(&e) != 0});
}
void throw_if(rd_kafka_resp_err_t code, const std::string& what) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw make_kafka_error(code, what, {});
}
void throw_if(rd_kafka_error_t* e, const std::string& what) {
    const kafka_owned<rd_kafka_error_t> owned(e);
    if (e != nullptr) throw make_kafka_error(*e, what);
}
void throw_if_any(const rd_kafka_topic_partition_list_t& list, const std::string& what) {
    for (const rd_kafka_topic_partition_t& p : std::span(list.elems, static_cast<std::size_t>(list.cnt)))
        throw_if(p.err, what + " of " + name_of(p.topic, p.partition));
}

bool passes(rd_kafka_resp_err_t code) noexcept {
    switch (code) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR: return true;
    default: return false;
    }
}

// --- positions -------------------------------------------------------------------------------------------------------

static_assert(static_cast<int>(kafka::place::beginning) == RD_KAFKA_OFFSET_BEGINNING);
static_assert(static_cast<int>(kafka::place::end) == RD_KAFKA_OFFSET_END);
static_assert(static_cast<int>(kafka::place::committed) == RD_KAFKA_OFFSET_STORED);
static_assert(static_cast<int>(kafka::place::none) == RD_KAFKA_OFFSET_INVALID);

kafka_list list_of(std::span<const kafka::position> positions) {
    kafka_list list(rd_kafka_topic_partition_list_new(static_cast<int>(positions.size())));
    for (const kafka::position& p : positions)
        rd_kafka_topic_partition_list_add(list.get(), p.topic.c_str(), p.partition)->offset = p.offset;
    return list;
}
std::vector<kafka::position> positions_of(const rd_kafka_topic_partition_list_t* list) {
    std::vector<kafka::position> positions;
    if (list == nullptr) return positions;
    const std::span elements(list->elems, static_cast<std::size_t>(list->cnt));
    positions.reserve(elements.size());
    for (const rd_kafka_topic_partition_t& p : elements) positions.emplace_back(p.topic, p.partition, p.offset);
    return positions;
}
std::string name_of(std::string_view topic, std::int32_t partition) {
    return std::string(topic) + " [" + std::to_string(partition) + "]";
}

// --- settings --------------------------------------------------------------------------------------------------------

namespace {

constexpr std::array of_all_clients{
    refused_setting{"bootstrap.servers", "client_options::brokers"},
    refused_setting{"metadata.broker.list", "client_options::brokers"},
    refused_setting{"client.id", "client_options::client_id"},
    refused_setting{"log.queue", "client_options::on_log"},
};

}  // namespace

kafka_settings::kafka_settings() : conf_(rd_kafka_conf_new()) {}

void kafka_settings::set(const std::string& name, const std::string& value) {
    std::array<char, 512> reason{};
    if (rd_kafka_conf_set(conf_.get(), name.c_str(), value.c_str(), reason.data(), reason.size()) != RD_KAFKA_CONF_OK)
        throw std::invalid_argument("coflux: Kafka: the setting " + name + " = '" + value + "': " + reason.data());
}

void kafka_settings::take(const kafka::client_options& options, std::span<const refused_setting> refused) {
    if (options.brokers.empty())
        throw std::invalid_argument("coflux: Kafka: a client needs brokers: client_options::brokers is empty");
    set("bootstrap.servers", options.brokers);
    set("client.id", options.client_id);
    for (const auto& [name, value] : options.settings) {
        for (const std::span<const refused_setting> some :
             {std::span<const refused_setting>(of_all_clients), refused}) {
            for (const refused_setting& r : some) {
                if (r.name == name)
                    throw std::invalid_argument("coflux: Kafka: the setting " + name + " is refused: use " +
                                                std::string(r.in_place));
            }
        }
        set(name, value);
    }
}

// --- queues ----------------------------------------------------------------------------------------------------------

void wake_waiter(rd_kafka_t*, void* event) noexcept {
    static_cast<auto_reset_event*>(event)->set();
}

kafka_reply::kafka_reply(rd_kafka_t* of) : queue_(rd_kafka_queue_new(of)) {
    rd_kafka_queue_cb_event_enable(queue_.get(), wake_waiter, &woken_);
}

kafka_owned<rd_kafka_event_t> kafka_client::take() const noexcept {
    for (;;) {
        kafka_owned<rd_kafka_event_t> e(rd_kafka_queue_poll(queue_.get(), 0));
        // An event of librdkafka's own may have been in front.
        if (e != nullptr || rd_kafka_queue_length(queue_.get()) == 0) return e;
    }
}

// --- the client ------------------------------------------------------------------------------------------------------

kafka_client::kafka_client(rd_kafka_type_t type, kafka_settings settings, const kafka::client_options& options)
    : brokers_(options.brokers),
      on_log_(options.on_log),
      request_timeout_(static_cast<int>(options.request_timeout.count())) {
    rd_kafka_conf_set_opaque(settings.conf_.get(), this);
    rd_kafka_conf_set_log_cb(settings.conf_.get(), &kafka_client::log);
    rd_kafka_conf_set_error_cb(settings.conf_.get(), &kafka_client::fail);  // of what comes without an event
    std::array<char, 512> reason{};
    handle_ = rd_kafka_new(type, settings.conf_.get(), reason.data(), reason.size());
    if (handle_ == nullptr) {
        const rd_kafka_resp_err_t why = rd_kafka_last_error();
        if (why == RD_KAFKA_RESP_ERR__INVALID_ARG)
            throw std::invalid_argument(std::string("coflux: Kafka: the settings of a client: ") + reason.data());
        throw make_kafka_error(why, "make a client", reason.data());
    }
    (void)settings.conf_.release();  // the handle has it
    if (type == RD_KAFKA_CONSUMER) {
        (void)rd_kafka_poll_set_consumer(handle_);  // one queue for all
        queue_.reset(rd_kafka_queue_get_consumer(handle_));
    } else {
        queue_.reset(rd_kafka_queue_get_main(handle_));
    }
    rd_kafka_queue_cb_event_enable(queue_.get(), wake_waiter, &woken_);
}

kafka_client::~kafka_client() {
    rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr);
    queue_.reset();
    // A consumer has left its group by now.
    rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

void kafka_client::log(const rd_kafka_t* of, int level, const char* facility, const char* text) {
    constexpr int errors = 3;  // of syslog
    auto& self = *static_cast<kafka_client*>(rd_kafka_opaque(of));
    if (level <= errors) self.complain(text);
    const lock_guard<mutex> guard(self.log_lock_);
    if (self.on_log_) self.on_log_({level, facility, text});
}

void kafka_client::abandon() noexcept {
    share();
    const lock_guard<mutex> guard(log_lock_);
    on_log_ = nullptr;  // what it refers to may die
}

void kafka_client::fail(rd_kafka_t*, int code, const char* text, void* self) noexcept {
    static_cast<kafka_client*>(self)->note(static_cast<rd_kafka_resp_err_t>(code), text);
}

void kafka_client::note(rd_kafka_resp_err_t code, const char* text) noexcept {
    complain(text);
    if (passes(code) || noted_.has_value()) return;
    try {
        throw_if_ended("poll");
        noted_ = make_kafka_error(code, "poll", text);
    } catch (const kafka::error& e) {
        noted_ = e;
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the complaint may have been kept
    }
}

void kafka_client::complain(std::string_view text) noexcept {
    try {
        const lock_guard<mutex> guard(lock_);
        complaint_ = text;
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then the one before stays
    }
}
std::string kafka_client::last_complaint() const {
    const lock_guard<mutex> guard(lock_);
    return complaint_;
}

void kafka_client::throw_if_ended(const std::string& what) const {
    std::array<char, 512> reason{};
    rd_kafka_resp_err_t code = rd_kafka_fatal_error(handle_, reason.data(), reason.size());
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    // librdkafka has a number of its own for a producer that is fenced, and gives the broker's for a member.
    if (code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) code = RD_KAFKA_RESP_ERR__FENCED;
    throw make_kafka_error(code, what, reason.data(), {.is_fatal = true});
}

void kafka_client::reach() const {
    const rd_kafka_metadata_t* found = nullptr;
    const rd_kafka_resp_err_t why = rd_kafka_metadata(handle_, 0, nullptr, &found, request_timeout_);
    const kafka_owned<const rd_kafka_metadata_t> owned(found);
    if (why != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw make_kafka_error(
            why, "no broker of '" + brokers_ + "' answered within " + std::to_string(request_timeout_) + " ms",
            last_complaint(), {.is_retriable = true});
}

call<void> reach_brokers(environment&, const kafka_share& client) {
    co_await blocking(abandon_on_stop, [](const kafka_share& c) { c->reach(); }, client);
}

}  // namespace coflux::detail
