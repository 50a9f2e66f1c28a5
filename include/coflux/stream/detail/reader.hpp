// reader: reads the source, runs the head of the flow, and sends records to the first region.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/scope/with_scope.hpp>
#include <coflux/stream/arrival_times.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/outlet.hpp>
#include <coflux/stream/detail/region_run.hpp>
#include <coflux/stream/event_times.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/sync/auto_reset_event.hpp>
#include <coflux/sync/mutex.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/sleep.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux::stream::detail {

/// The first producer of a job, and its pacer, which sends what lingers and marks barriers.
///
/// Both use the outlet, each with `lock_`. The reader does not hold it while it waits for the source.
template <typename Source, typename Head, typename FirstBy, typename Job>
class reader {
    using on_error = decltype(Job::on_error);
    static constexpr bool is_exact = std::is_same_v<decltype(Job::delivery), exactly_once_t>;
    using input = typename Source::value_type;
    using output = typename output_type<input, no_key, Head>::type;

public:
    using outlet_type = outlet<output, FirstBy>;
    using operators = decltype(bind_stages<input, no_key>(std::declval<const Head&>(), outlet_operator<outlet_type>()));
    static_assert(!operators::has_state,
                  "coflux: a stage with a state stands behind a partitioner, which says whose state it is: by_key(), "
                  "by_partition() or to_one()");

    struct paces {
        std::size_t max_batch;
        std::chrono::nanoseconds linger;
        std::chrono::nanoseconds commit_every;
        std::chrono::nanoseconds lateness;
        std::chrono::nanoseconds idle_after;
        bool is_watched;  // a job_control may ask how much is left
    };

    /// `at`: what was restored. A partition that gives nothing stays there.
    reader(Source& from, const Head& head, outlet_type& out, barriers& on_their_way, failure_policy<on_error>& policy,
           const paces& pace, positions at)
        : source_(from),
          head_(head),
          operators_(bind_stages<input, no_key>(head, outlet_operator<outlet_type>())),
          out_(out),
          barriers_(on_their_way),
          seen_(policy.seen),
          read_times_(seen_.reader()),
          failures_(policy, "head", UINT32_MAX / 4, seen_.reader()),
          pace_(pace),
          times_(pace.lateness),
          at_(std::move(at)) {
        if constexpr (has_dead_letters<on_error>) batch_.keep_originals();
    }

    /// Reads to the end, or until `control` drains.
    /// Returns: whether it was drained.
    [[nodiscard]] call<bool> run(environment&, job_control& control) {
        auto& here = co_await context();
        if constexpr (partitioned_source<Source>) {
            for (const std::uint32_t p : source_.partitions()) {
                times_.add(p);
                meet(p);
            }
        }
        if constexpr (measured_source<Source>) {
            seen_.set_bounded(source_.is_bounded());
            if (pace_.is_watched) measure();
        }
        co_await with_scope(here, [&](task_scope& pacing) -> call<void> {
            auto& inside = co_await context();
            pacing.spawn(pacer, borrowed(*this));
            co_await with_scope(inside, [&](task_scope& reading) -> call<void> {
                if constexpr (working_source<Source>) reading.spawn(source_worker, borrowed(*this));
                reading.spawn(drainer, borrowed(control), borrowed(reading));
                reading.spawn(all_reader, borrowed(*this), borrowed(reading));
                co_return;
            });
            co_await finish(inside);
            pacing.request_stop();
        });
        co_return !at_end_;
    }

private:
    static fork<void> drainer(environment&, borrowed<job_control> control, borrowed<task_scope> reading) {
        co_await control->drain_requested();
        reading->request_stop();
    }
    static fork<void> source_worker(environment&, borrowed<reader> self) {
        auto& here = co_await context();
        co_await self->source_.work(here, has_dead_letters<on_error>);
    }
    static fork<void> all_reader(environment&, borrowed<reader> self, borrowed<task_scope> reading) {
        auto& here = co_await context();
        co_await self->read_all(here);
        reading->request_stop();
    }
    static fork<void> pacer(environment&, borrowed<reader> self) {
        auto& here = co_await context();
        co_await self->keep_pace(here);
    }

    [[nodiscard]] call<void> read_all(environment&) {
        auto& here = co_await context();
        for (;;) {
            batch_.clear();
            done_ = 0;
            read_times_.begin();
            const bool more = co_await source_.read(here, batch_, pace_.max_batch);
            if (!more) break;
            read_times_.end(batch_.size());
            auto guard = co_await lock_.lock();
            const std::size_t count = batch_.size();
            if (out_.must_wait()) co_await out_.refill(here);
            if (!scatter()) co_await scatter_again(here);
            take_ended();
            const event_time watermark = times_.now();
            if (count < pace_.max_batch) {
                out_.send_all(watermark);
            } else {
                out_.send_full(watermark);
            }
            publish(count, watermark);
            if (count != 0 && !has_news_) tell_pacer();
            if constexpr (rebalanced_source<Source>) co_await follow(here);
        }
        at_end_ = true;
    }

    // Partitions of the source that give nothing more. The lock is held.
    void take_ended() noexcept {
        if constexpr (ending_source<Source>) {
            const std::span<const std::uint32_t> all = source_.ended();
            for (; ended_ < all.size(); ++ended_) times_.end(all[ended_]);
        }
    }

    // The source's partitions have changed. The lock is held.
    [[nodiscard]] call<void> follow(environment&) {
        auto& here = co_await context();
        while (const std::optional<partition_change> change = source_.take_change()) {
            if (change->what == partition_event::assigned) {
                times_.add(change->partition);
                meet(change->partition);
                continue;
            }
            if (is_exact && change->what == partition_event::lost)
                throw partition_lost(source_.partition_name(change->partition));
            if (change->what == partition_event::revoked) {
                co_await mark_barrier(here, times_.now());
                // [stream.revoke.committed]
                co_await barriers_.wait_for_commit(here, last_barrier_);
            }
            times_.remove(change->partition);
            if (change->partition < read_.size()) read_[change->partition] = {};
            seen_.lose(change->partition);
            forget_position(at_, source_.partition_name(change->partition));
            if (change->what == partition_event::revoked) co_await source_.release(here, change->partition);
        }
    }

    // The rest of the batch: a function, since a call for each batch costs more than a record.
    // Returns: whether all of it is done; else a record has failed.
    [[nodiscard]] bool scatter() {
        done_ = process(done_);
        return done_ == batch_.size();
    }
    // The record that has failed is tried again, or given up, and so is each one behind it that fails.
    [[nodiscard]] call<void> scatter_again(environment&) {
        auto& here = co_await context();
        do {
            const bool again = co_await failures_.try_again(here, batch_[done_].partition);
            if (!again) {
                co_await failures_.give_up(here, batch_[done_], error_);
                note_run(done_, done_ + 1, batch_[done_].time);
                ++done_;
            }
        } while (!scatter());
    }

    void pass(std::uint32_t partition, std::int64_t next, std::size_t count) {
        if (partition >= read_.size()) [[unlikely]] {
            for (std::uint32_t p = 0; p <= partition; ++p) seen_.make_room(p);
            read_.resize(partition + 1);
        }
        read_[partition].next = next;
        read_[partition].records += count;
    }

    // Counts of a batch that was read. The lock is held.
    void publish(std::size_t count, event_time watermark) {
        actor_counts& counts = seen_.reader();
        counts.records.add(count);
        counts.batches.add(1);
        publish(watermark);
        counts.sent.set(out_.sent());
        if constexpr (measured_source<Source>) {
            if (std::exchange(must_measure_, false)) measure();
        }
    }
    // The pacer may come behind the end, so it does not go back.
    void publish(event_time watermark) noexcept {
        published<event_time>& told = seen_.reader().watermark;
        told.set(std::max(told.get(), watermark));
    }
    // Counts of all partitions, which would be too much for each batch. The lock is held.
    void publish_partitions() {
        for (std::uint32_t p = 0; p != read_.size(); ++p) {
            if (read_[p].next == unread) continue;
            partition_counts& line = meet(p);
            line.records.set(read_[p].records);
            line.next.set(read_[p].next);
            line.watermark.set(times_.of(p));
        }
        publish(times_.now());
        seen_.reader().sent.set(out_.sent());
        must_measure_ = pace_.is_watched;
    }
    // Parts of the partitions in the records since the last barrier. The lock is held.
    void publish_shares() {
        std::uint64_t all = 0;
        for (const read_part& each : read_) all += each.records - each.at_barrier;
        for (std::uint32_t p = 0; p != read_.size() && all != 0; ++p) {
            const std::uint64_t records = read_[p].records - std::exchange(read_[p].at_barrier, read_[p].records);
            partition_counts* const line = seen_.partition(p);
            if (line != nullptr) line->share.set(static_cast<double>(records) / static_cast<double>(all));
        }
    }
    partition_counts& meet(std::uint32_t p) {
        partition_counts* const known = seen_.partition(p);
        return known != nullptr && known->is_here.get() ? *known : seen_.meet(p, source_.partition_name(p));
    }
    void measure() {
        for (const partition_extent& each : source_.measure()) {
            partition_counts& line = meet(each.partition);
            line.end.set(each.end);
            if (line.next.get() == partition_counts::unknown) line.next.set(each.next);
        }
    }

    // Notes the records [first, end), which are of one partition.
    void note_run(std::size_t first, std::size_t end, event_time latest) {
        if (first == end) return;
        const std::uint32_t partition = batch_[first].partition;
        if constexpr (!has_event_times) times_.note(partition, latest);
        pass(partition, batch_[end - 1].next, end - first);
    }

    // The batch goes as it is: its records get their slots.
    // Returns: false, and nothing is done, where a key throws.
    bool pass_whole() {
        const std::uint32_t slots = out_.slots();
        const std::span all = batch_.all();
        try {
            for (record<input>& r : all) out_.route(r, slots);
        } catch (...) {
            return false;
        }
        for (std::size_t i = 0; i != all.size();) {
            const std::size_t begin = i;
            const std::uint32_t partition = all[i].partition;
            event_time latest = no_time;
            for (; i != all.size() && all[i].partition == partition; ++i) {
                latest = std::max(latest, all[i].time);
            }
            note_run(begin, i, latest);
        }
        out_.take_whole(batch_);
        return true;
    }

    // Runs the records from `first` on. A run of one partition is noted at once, up to one that has failed.
    // Returns: behind the last one, or the one that has failed with error_.
    std::size_t process(std::size_t first) {
        if constexpr (std::tuple_size_v<Head> == 0) {
            if (first == 0 && !batch_.empty() && out_.takes_whole() && pass_whole()) return 0;
        }
        place at;
        at.outlet = &out_;
        at.times = &times_;
        if constexpr (has_arrival_times) times_.arrive(time_of_day());
        static constexpr no_key key{};
        at.key = &key;
        std::shared_ptr<const original> read;
        const std::span all = batch_.all();
        std::size_t i = first;
        for (bool has_failed = false; i != all.size() && !has_failed;) {
            const std::size_t begin = i;
            const std::uint32_t partition = all[i].partition;
            at.partition = partition;
            event_time latest = no_time;
            try {
                for (; i != all.size() && all[i].partition == partition; ++i) {
                    record<input>& r = all[i];
                    out_.mark();
                    at.time = r.time;
                    at.next = r.next;
                    if (r.original != nullptr) [[unlikely]] {
                        read = batch_.original_of(i);
                        at.read = &read;
                    } else {
                        at.read = nullptr;
                    }
                    operators_.process(at, r.value);
                    latest = std::max(latest, r.time);
                }
                failures_.reset();
            } catch (...) {
                if (i != first) failures_.reset();  // those before it have passed
                out_.undo();
                error_ = std::current_exception();
                has_failed = true;
            }
            note_run(begin, i, latest);
        }
        return i;
    }

    // Behind the last record: what a drain or the end leaves, the last barrier, and the end.
    [[nodiscard]] call<void> finish(environment&) {
        auto& here = co_await context();
        auto guard = co_await lock_.lock();
        if (out_.must_wait()) co_await out_.refill(here);
        if (!scatter()) co_await scatter_again(here);
        const event_time watermark = at_end_ ? end_of_time : times_.now();
        co_await mark_barrier(here, watermark);
        if (out_.must_wait()) co_await out_.refill(here);
        out_.close(parcel_kind::end, 0, watermark);
        publish_partitions();
        publish(watermark);
    }

    // One is on its way at a time: the job holds one copy of its state.
    [[nodiscard]] call<void> mark_barrier(environment&, event_time watermark) {
        auto& here = co_await context();
        co_await barriers_.wait_for_commit(here, last_barrier_);
        if (out_.must_wait()) co_await out_.refill(here);
        for (std::uint32_t p = 0; p != read_.size(); ++p) {
            if (read_[p].next != unread) set_position(at_, source_.partition_name(p), read_[p].next);
        }
        publish_partitions();
        publish_shares();
        // [stream.barrier.positions]
        last_barrier_ = barriers_.open(at_);
        auto owners = barriers_.owners(last_barrier_, 1);
        out_.close(parcel_kind::barrier, last_barrier_, watermark);
        out_.change(std::move(owners));
        has_news_ = false;
        outputs_ = seen_.writer().records.get();
    }

    void tell_pacer() {
        has_news_ = true;
        begin_ = clock::now();
        news_.set();
    }

    // Windows and timers give outputs while nothing comes, which are to be committed, too. The lock is held.
    void commit_outputs(clock::time_point now) noexcept {
        if (has_news_ || seen_.writer().records.get() == outputs_) return;
        has_news_ = true;
        begin_ = now;
    }

    // Sleeps only while something lingers, is to be committed, or holds the watermark.
    [[nodiscard]] call<void> keep_pace(environment&) {
        auto& here = co_await context();
        auto looked = clock::now();
        const auto short_pause = std::max<std::chrono::nanoseconds>(std::min(pace_.linger, pace_.commit_every),
                                                                    std::chrono::microseconds(100));
        for (bool has_news = true, busy = has_arrival_times;;) {
            if (!busy) {
                co_await news_.wait();
                has_news = true;
            }
            if (has_news) {
                co_await sleep_for(short_pause);
            } else {  // a partition holds the watermark
                (void)co_await timeout(news_.wait(), idle_pause());
            }
            auto guard = co_await lock_.lock();
            const auto now = clock::now();
            if constexpr (has_arrival_times) times_.arrive(time_of_day());
            if (now - looked >= pace_.idle_after) {
                times_.look_for_idle();
                looked = now;
            }
            if (out_.must_wait()) co_await out_.refill(here);
            out_.pulse(times_.now());
            publish_partitions();
            const bool is_due = has_news_ && now - begin_ >= pace_.commit_every;
            // Where the one before is not committed, the lock must not be held for it: the next look comes soon.
            if (is_due && barriers_.is_committed(last_barrier_)) co_await mark_barrier(here, times_.now());
            if constexpr (has_arrival_times) commit_outputs(now);
            has_news = has_news_;
            busy = has_news || has_arrival_times || times_.is_held();
        }
    }

    static constexpr bool has_arrival_times = []<typename... S>(std::tuple<S...>*) {
        return (std::is_same_v<S, arrival_times> || ...);
    }(static_cast<Head*>(nullptr));
    [[nodiscard]] std::chrono::nanoseconds idle_pause() const noexcept {
        if constexpr (has_arrival_times) {
            return std::get<arrival_times>(head_).every;
        } else {
            return pace_.idle_after;
        }
    }

    static constexpr std::int64_t unread = INT64_MIN;
    struct read_part {
        std::int64_t next = unread;
        std::uint64_t records = 0;
        std::uint64_t at_barrier = 0;  // records before the last one
    };
    static constexpr bool has_event_times = []<typename... S>(std::tuple<S...>*) {
        return (is_event_times<S> || ...);
    }(static_cast<Head*>(nullptr));

    Source& source_;
    const Head& head_;
    operators operators_;
    outlet_type& out_;
    barriers& barriers_;
    observed& seen_;
    sampled_times read_times_;
    failures<on_error> failures_;
    paces pace_;
    watermarks times_;
    batch<input> batch_;
    std::size_t done_ = 0;
    std::vector<read_part> read_;  // by partition, since the beginning of the run
    positions at_;                 // of the last barrier
    std::exception_ptr error_;
    std::uint64_t last_barrier_ = 0;
    std::size_t ended_ = 0;  // partitions of the source, that are taken
    bool at_end_ = false;
    bool must_measure_ = false;
    mutex lock_;
    auto_reset_event news_;
    std::uint64_t outputs_ = 0;  // written before the last barrier
    bool has_news_ = false;      // records since the last barrier
    clock::time_point begin_{};  // of them
};

}  // namespace coflux::stream::detail
