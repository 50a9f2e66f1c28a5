// A shard behind its handle, and all of a group. The page docs/design/shards.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <vector>

#include <coflux/base/asymmetric_fence.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/executor/detail/submission.hpp>
#include <coflux/executor/shard_group.hpp>

#include "executor/pool/round_clock.hpp"
#include "message_ring.hpp"
#include "sleep_word.hpp"
#include "worker_thread.hpp"

namespace coflux::detail {

class shard_thread final : public worker_thread {
public:
    shard_thread(shard_set& group, std::size_t number, worker_options options);
    ~shard_thread();

    using worker_thread::end;
    /// The group is complete. Before start().
    void connect();
    /// The shard of this group that this thread is, if a coroutine that runs on `own` is to be served by its rings;
    /// nullptr: it is not.
    [[nodiscard]] shard_thread* sender_here(const executor_entry* own) const noexcept;
    /// The shard that this thread is, of any group; nullptr: it is none.
    [[nodiscard]] static const shard_thread* of_thread() noexcept { return of_this_thread; }
    [[nodiscard]] const shard_set& group() const noexcept { return group_; }
    [[nodiscard]] std::size_t number() const noexcept { return number_; }
    /// Sends a submission, or its reply, to `to`. On the thread of this shard.
    void send(shard_thread& to, submission& s) noexcept;
    /// From a thread of no shard.
    void receive_from_outside(submission& s) noexcept;
    /// After end(): something was submitted, or answered, that did not arrive.
    [[nodiscard]] bool has_left_some() noexcept;

private:
    using ring = message_ring<submission>;

    /// Submissions that a full ring keeps back: a list through the submissions.
    struct outbox {
        submission* first = nullptr;
        submission* last = nullptr;
    };

    [[nodiscard]] bool push(shard_thread& to, submission& s) noexcept;
    void rouse_if_asleep() noexcept;
    [[nodiscard]] std::size_t begin_to_collect() noexcept;
    void receive(submission& s) noexcept;
    static void run(submission& s) noexcept;
    bool flush() noexcept;
    [[nodiscard]] bool has_room_for_some() noexcept;
    void enter() noexcept override;
    bool collect() noexcept override;
    [[nodiscard]] bool has_arrived() noexcept override;
    bool begin_to_rest() noexcept override;
    void end_rest() noexcept override;
    std::size_t awake() const noexcept override;

    static void run_from_outside(void* at) noexcept;
    static void destroy_from_outside(void* at) noexcept;

    static inline constinit thread_local shard_thread* of_this_thread = nullptr;

    shard_set& group_;
    const std::size_t number_;
    std::unique_ptr<ring[]> from_;  // by the number of the sender
    std::vector<outbox> outboxes_;  // by the number of the receiver
    std::size_t kept_back_ = 0;     // in outboxes_
    bool rests_ = false;            // counted in shard_set::resting_
    std::size_t served_first_ = 0;  // the sender whose messages come first
    round_clock turns_;             // how many messages a turn has
    bool turn_was_full_ = false;    // the last one had as many
    bool turns_are_timed_ = false;  // so did those before, since the clock was read
    // Set: the shard rests, or is about to. Senders take it.
    alignas(cache_line) sleep_word asleep_;
};

class shard_set {
public:
    explicit shard_set(const shard_options& options);
    ~shard_set();

    [[nodiscard]] std::size_t size() const noexcept { return shards_.size(); }
    [[nodiscard]] shard_thread& operator[](std::size_t i) const noexcept;

private:
    friend class shard_thread;

    [[nodiscard]] bool is_fenced() const noexcept { return heavy_fence_ != nullptr; }

    const heavy_fence heavy_fence_;                       // nullptr: each message has a locked instruction
    alignas(cache_line) atomic<std::size_t> resting_{0};  // shards that are parked: a hint for those that look for work
    std::vector<std::unique_ptr<shard_thread>> shards_;
};

}  // namespace coflux::detail
