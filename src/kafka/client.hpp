// kafka_client: a handle of librdkafka, its queue, and the event that the queue sets. The page is docs/design/kafka.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <librdkafka/rdkafka.h>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/kafka/error.hpp>
#include <coflux/kafka/options.hpp>
#include <coflux/kafka/position.hpp>
#include <coflux/sync/auto_reset_event.hpp>

namespace coflux::detail {

/// Frees what librdkafka made.
struct kafka_deleter {
    void operator()(char* p) const noexcept { rd_kafka_mem_free(nullptr, p); }
    void operator()(rd_kafka_conf_t* p) const noexcept { rd_kafka_conf_destroy(p); }
    void operator()(rd_kafka_error_t* p) const noexcept { rd_kafka_error_destroy(p); }
    void operator()(rd_kafka_queue_t* p) const noexcept { rd_kafka_queue_destroy(p); }
    void operator()(rd_kafka_topic_t* p) const noexcept { rd_kafka_topic_destroy(p); }
    void operator()(rd_kafka_topic_partition_list_t* p) const noexcept { rd_kafka_topic_partition_list_destroy(p); }
    void operator()(rd_kafka_event_t* p) const noexcept { rd_kafka_event_destroy(p); }
    void operator()(const rd_kafka_metadata_t* p) const noexcept { rd_kafka_metadata_destroy(p); }
    void operator()(rd_kafka_consumer_group_metadata_t* p) const noexcept {
        rd_kafka_consumer_group_metadata_destroy(p);
    }
};
template <typename T>
using kafka_owned = std::unique_ptr<T, kafka_deleter>;
using kafka_list = kafka_owned<rd_kafka_topic_partition_list_t>;

/// `what` is the operation; `reason` what librdkafka says beyond the name of the error.
[[nodiscard]] kafka::error make_kafka_error(rd_kafka_resp_err_t code, const std::string& what, std::string_view reason,
                                            kafka::error_traits traits = {});
[[nodiscard]] kafka::error make_kafka_error(const rd_kafka_error_t& e, const std::string& what);
void throw_if(rd_kafka_resp_err_t code, const std::string& what);
/// Takes `e` over.
void throw_if(rd_kafka_error_t* e, const std::string& what);
/// Throws the first error of the partitions.
void throw_if_any(const rd_kafka_topic_partition_list_t& list, const std::string& what);

/// A broker or a coordinator is not there for a moment: librdkafka, or a later call, goes on.
[[nodiscard]] bool passes(rd_kafka_resp_err_t code) noexcept;

[[nodiscard]] kafka_list list_of(std::span<const kafka::position> positions);
[[nodiscard]] std::vector<kafka::position> positions_of(const rd_kafka_topic_partition_list_t* list);
/// As `orders [2]`.
[[nodiscard]] std::string name_of(std::string_view topic, std::int32_t partition);

/// A setting that is not the user's, and why.
struct refused_setting {
    std::string_view name;
    std::string_view in_place;
};

/// Settings of a client to be.
class kafka_settings {
public:
    kafka_settings();
    /// Errors: std::invalid_argument, as set().
    void take(const kafka::client_options& options, std::span<const refused_setting> refused);
    /// Errors: std::invalid_argument with librdkafka's reason.
    void set(const std::string& name, const std::string& value);
    void set(const std::string& name, std::int64_t value) { set(name, std::to_string(value)); }
    void enable(int events) noexcept { rd_kafka_conf_set_events(conf_.get(), events); }

private:
    friend class kafka_client;
    kafka_owned<rd_kafka_conf_t> conf_;
};

/// The callback of a queue: sets the event that the queue was enabled with.
void wake_waiter(rd_kafka_t*, void* event) noexcept;

/// A queue for the answer to one request, and the event that it sets.
class kafka_reply {
public:
    explicit kafka_reply(rd_kafka_t* of);
    kafka_reply(const kafka_reply&) = delete;
    kafka_reply& operator=(const kafka_reply&) = delete;
    /// From here on the event is not set any more: the queue's lock orders that.
    ~kafka_reply() { rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr); }

    [[nodiscard]] rd_kafka_queue_t* queue() const noexcept { return queue_.get(); }
    [[nodiscard]] kafka_owned<rd_kafka_event_t> take() const noexcept {
        return kafka_owned<rd_kafka_event_t>(rd_kafka_queue_poll(queue_.get(), 0));
    }
    auto_reset_event& woken() noexcept { return woken_; }

private:
    auto_reset_event woken_;
    kafka_owned<rd_kafka_queue_t> queue_;
};

/// A handle of librdkafka, with shared owners: a consumer or producer, its messages, and calls that a stop has left.
class kafka_client {
public:
    /// Errors: std::invalid_argument where librdkafka refuses the settings, std::system_error where it has no threads.
    /// The first owner's share is the caller's.
    kafka_client(rd_kafka_type_t type, kafka_settings settings, const kafka::client_options& options);
    kafka_client(const kafka_client&) = delete;
    kafka_client& operator=(const kafka_client&) = delete;

    void share(std::size_t count = 1) noexcept {
        // relaxed: the caller has a share, so that nothing dies meanwhile.
        owners_.fetch_add(count, memory_order_relaxed);
    }
    /// Keeps the handle for ever, with its threads, and says nothing of it any more: for one that librdkafka cannot
    /// end.
    void abandon() noexcept;
    void drop() noexcept {
        // acq_rel: what the owners did with the client comes before its end, each release with the last one's acquire.
        if (owners_.fetch_sub(1, memory_order_acq_rel) == 1) delete this;
    }

    [[nodiscard]] rd_kafka_t* handle() const noexcept { return handle_; }
    [[nodiscard]] rd_kafka_queue_t* queue() const noexcept { return queue_.get(); }
    [[nodiscard]] auto_reset_event& woken() noexcept { return woken_; }
    [[nodiscard]] int request_timeout() const noexcept { return request_timeout_; }
    /// The next event, or none.
    [[nodiscard]] kafka_owned<rd_kafka_event_t> take() const noexcept;

    /// An error that did not come as an event, but in a call of the coroutine that polls. A passing one is a complaint.
    void note(rd_kafka_resp_err_t code, const char* text) noexcept;
    /// The first that was noted since the last call.
    /// Pre: as the caller of note().
    [[nodiscard]] std::optional<kafka::error> take_noted() noexcept { return std::exchange(noted_, std::nullopt); }
    [[nodiscard]] bool has_noted() const noexcept { return noted_.has_value(); }

    void complain(std::string_view text) noexcept;
    [[nodiscard]] std::string last_complaint() const;

    /// Throws what has ended the client, if something has: it is the reason why `what` failed, whatever that was told.
    void throw_if_ended(const std::string& what) const;

    /// Blocks until a broker has answered.
    void reach() const;

private:
    ~kafka_client();
    static void fail(rd_kafka_t* of, int code, const char* text, void* self) noexcept;
    static void log(const rd_kafka_t* of, int level, const char* facility, const char* text);

    std::string brokers_;
    mutex log_lock_;
    std::function<void(const kafka::log_line&)> on_log_;  // called under log_lock_
    int request_timeout_;
    mutable mutex lock_;
    std::string complaint_;  // under lock_
    std::optional<kafka::error> noted_;
    auto_reset_event woken_;
    rd_kafka_t* handle_ = nullptr;
    kafka_owned<rd_kafka_queue_t> queue_;
    atomic<std::size_t> owners_{1};  // how many shares there are; at 0 the client is gone
};

/// A share of a client.
class kafka_share {
public:
    kafka_share() noexcept = default;
    /// Takes one over.
    explicit kafka_share(kafka_client* of) noexcept : of_(of) {}
    kafka_share(const kafka_share& other) noexcept : of_(other.of_) {
        if (of_ != nullptr) of_->share();
    }
    kafka_share(kafka_share&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    kafka_share& operator=(kafka_share other) noexcept {
        std::swap(of_, other.of_);
        return *this;
    }
    ~kafka_share() {
        if (of_ != nullptr) of_->drop();
    }
    [[nodiscard]] kafka_client* operator->() const noexcept { return of_; }
    [[nodiscard]] kafka_client& operator*() const noexcept { return *of_; }

private:
    kafka_client* of_ = nullptr;
};

/// reach() on a thread that may block.
call<void> reach_brokers(environment& env, const kafka_share& client);

}  // namespace coflux::detail
