#include <coflux/stream/detail/reader.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/scope/with_scope.hpp>
#include <coflux/stream/arrival_times.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/time/sleep.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux::stream::detail {

reader::reader(any_source& from, links& out, barriers& on_their_way, failure_policy& policy, const paces& pace,
               const head_times& times, positions at, std::unique_ptr<parcel> batch)
    : failures_(policy, "head", UINT32_MAX / 4, policy.seen.reader()),
      times_(pace.lateness),
      source_(from),
      out_(out),
      barriers_(on_their_way),
      seen_(policy.seen),
      read_times_(seen_.reader()),
      keeps_originals_(policy.letters != nullptr),
      pace_(pace),
      times_of_(times),
      batch_(std::move(batch)),
      at_(std::move(at)) {}

call<bool> reader::run(environment&, job_control& control) {
    auto& here = co_await context();
    if (source_.can.has_partitions) {
        for (const std::uint32_t p : source_.partitions()) {
            times_.add(p);
            meet(p);
        }
    }
    if (source_.can.is_measured) {
        seen_.set_bounded(source_.is_bounded());
        if (pace_.is_watched) measure();
    }
    co_await with_scope(here, [&](task_scope& pacing) -> call<void> {
        auto& inside = co_await context();
        pacing.spawn(pacer, borrowed(*this));
        co_await with_scope(inside, [&](task_scope& reading) -> call<void> {
            if (source_.can.works) reading.spawn(source_worker, borrowed(*this));
            reading.spawn(drainer, borrowed(control), borrowed(reading));
            reading.spawn(all_reader, borrowed(*this), borrowed(reading));
            co_return;
        });
        co_await finish(inside);
        pacing.request_stop();
    });
    co_return !at_end_;
}

fork<void> reader::drainer(environment&, borrowed<job_control> control, borrowed<task_scope> reading) {
    co_await control->drain_requested();
    reading->request_stop();
}
fork<void> reader::source_worker(environment&, borrowed<reader> self) {
    auto& here = co_await context();
    co_await self->source_.work(here, self->keeps_originals_);
}
fork<void> reader::all_reader(environment&, borrowed<reader> self, borrowed<task_scope> reading) {
    auto& here = co_await context();
    co_await self->read_all(here);
    reading->request_stop();
}
fork<void> reader::pacer(environment&, borrowed<reader> self) {
    auto& here = co_await context();
    co_await self->keep_pace(here);
}

call<void> reader::read_all(environment&) {
    auto& here = co_await context();
    for (;;) {
        done_ = 0;
        read_times_.begin();
        const bool more = co_await source_.read(here, *batch_, pace_.max_batch);
        if (!more) break;
        const std::size_t count = batch_->size();
        read_times_.end(count);
        auto guard = co_await lock_.lock();
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
        if (source_.can.is_rebalanced) co_await follow(here);
    }
    at_end_ = true;
}

// Partitions of the source that give nothing more. The lock is held.
void reader::take_ended() noexcept {
    if (!source_.can.tells_ends) return;
    const std::span<const std::uint32_t> all = source_.ended();
    for (; ended_ < all.size(); ++ended_) times_.end(all[ended_]);
}

// The source's partitions have changed. The lock is held.
call<void> reader::follow(environment&) {
    auto& here = co_await context();
    while (const std::optional<partition_change> change = source_.take_change()) {
        if (change->what == partition_event::assigned) {
            times_.add(change->partition);
            meet(change->partition);
            continue;
        }
        if (pace_.is_exact && change->what == partition_event::lost)
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
bool reader::scatter() {
    done_ = process(done_);
    return done_ == batch_->size();
}
// The record that has failed is tried again, or given up, and so is each one behind it that fails.
call<void> reader::scatter_again(environment&) {
    auto& here = co_await context();
    do {
        const record_head failed = batch_->head_of(done_);
        const bool again = co_await failures_.try_again(here, failed.partition);
        if (!again) {
            co_await failures_.give_up(here, failed, error_);
            if (!times_of_.are_of_events) times_.note(failed.partition, failed.time);
            pass(failed.partition, failed.next, 1);
            ++done_;
        }
    } while (!scatter());
}

void reader::make_room(std::uint32_t partition) {
    for (std::uint32_t p = 0; p <= partition; ++p) seen_.make_room(p);
    read_.resize(partition + 1);
}

// Counts of a batch that was read. The lock is held.
void reader::publish(std::size_t count, event_time watermark) {
    actor_counts& counts = seen_.reader();
    counts.records.add(count);
    counts.batches.add(1);
    publish(watermark);
    counts.sent.set(out_.sent());
    if (source_.can.is_measured && std::exchange(must_measure_, false)) measure();
}
// The pacer may come behind the end, so it does not go back.
void reader::publish(event_time watermark) noexcept {
    published<event_time>& told = seen_.reader().watermark;
    told.set(std::max(told.get(), watermark));
}
// Counts of all partitions, which would be too much for each batch. The lock is held.
void reader::publish_partitions() {
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
void reader::publish_shares() {
    std::uint64_t all = 0;
    for (const read_part& each : read_) all += each.records - each.at_barrier;
    for (std::uint32_t p = 0; p != read_.size() && all != 0; ++p) {
        const std::uint64_t records = read_[p].records - std::exchange(read_[p].at_barrier, read_[p].records);
        partition_counts* const line = seen_.partition(p);
        if (line != nullptr) line->share.set(static_cast<double>(records) / static_cast<double>(all));
    }
}
partition_counts& reader::meet(std::uint32_t p) {
    partition_counts* const known = seen_.partition(p);
    return known != nullptr && known->is_here.get() ? *known : seen_.meet(p, source_.partition_name(p));
}
void reader::measure() {
    for (const partition_extent& each : source_.measure()) {
        partition_counts& line = meet(each.partition);
        line.end.set(each.end);
        if (line.next.get() == partition_counts::unknown) line.next.set(each.next);
    }
}

// Behind the last record: what a drain or the end leaves, the last barrier, and the end.
call<void> reader::finish(environment&) {
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
call<void> reader::mark_barrier(environment&, event_time watermark) {
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

void reader::tell_pacer() {
    has_news_ = true;
    begin_ = clock::now();
    news_.set();
}

// Windows and timers give outputs while nothing comes, which are to be committed, too. The lock is held.
void reader::commit_outputs(clock::time_point now) noexcept {
    if (has_news_ || seen_.writer().records.get() == outputs_) return;
    has_news_ = true;
    begin_ = now;
}

// Sleeps only while something lingers, is to be committed, or holds the watermark.
call<void> reader::keep_pace(environment&) {
    auto& here = co_await context();
    auto looked = clock::now();
    const auto short_pause =
        std::max<std::chrono::nanoseconds>(std::min(pace_.linger, pace_.commit_every), std::chrono::microseconds(100));
    for (bool has_news = true, busy = times_of_.are_of_arrival();;) {
        if (!busy) {
            co_await news_.wait();
            has_news = true;
        }
        if (has_news) {
            co_await sleep_for(short_pause);
        } else {  // a partition holds the watermark
            (void)co_await timeout(news_.wait(), times_of_.arrival_every.value_or(pace_.idle_after));
        }
        auto guard = co_await lock_.lock();
        const auto now = clock::now();
        if (times_of_.are_of_arrival()) times_.arrive(time_of_day());
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
        if (times_of_.are_of_arrival()) commit_outputs(now);
        has_news = has_news_;
        busy = has_news || times_of_.are_of_arrival() || times_.is_held();
    }
}

}  // namespace coflux::stream::detail
