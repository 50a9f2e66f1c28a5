// observed: what a job counts while it runs, so that any thread can look without a lock.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/stream/detail/hot_keys.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/time/clock.hpp>

namespace coflux::stream::detail {

/// A number that one actor writes, and any thread reads.
///
/// States: any number. All orders are relaxed: no other memory is read because of it.
template <typename T>
class published {
public:
    explicit published(T first = T()) noexcept : value_(first) {}
    void set(T value) noexcept { value_.store(value, std::memory_order_relaxed); }
    /// Pre: the caller is its only writer.
    void add(T n) noexcept { set(get() + n); }
    [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<T> value_;
};

/// A number that several actors add to, seldom.
///
/// States: a number that grows. All orders are relaxed, as those of `published`.
class shared_count {
public:
    void add(std::uint64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    void reset() noexcept { value_.store(0, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// The counts of an actor of a job: the reader is region 0, the writer comes behind the last one. They are on cache
/// lines of their own, in pairs, since processors fetch two at a time.
struct alignas(2 * coflux::detail::cache_line) actor_counts {
    published<std::uint32_t> region;
    published<std::uint32_t> number;
    published<std::uint64_t> records;
    published<std::uint64_t> batches;
    published<std::uint64_t> sent;  // batches, to the region behind it
    published<std::uint64_t> failed;
    published<std::uint64_t> retried;
    published<std::uint64_t> skipped;
    published<std::uint64_t> dead;
    published<std::uint64_t> late;
    published<std::uint64_t> commits;
    published<std::uint64_t> moves;
    published<event_time> watermark{no_time};
    published<std::uint64_t> timed_batches;
    published<std::uint64_t> timed_records;
    published<std::int64_t> timed;  // nanoseconds
    published_share hottest;        // key of a worker, since the last barrier that had samples enough

    void reset() noexcept;
};

/// The counts of a partition of the source.
struct alignas(2 * coflux::detail::cache_line) partition_counts {
    static constexpr std::int64_t unknown = INT64_MIN;

    // Written by the reader.
    published<bool> is_here;
    published<std::uint64_t> records;
    published<std::int64_t> next{unknown};
    published<std::int64_t> end{unknown};
    published<event_time> watermark{no_time};
    published<double> share;  // of all records between the last two barriers
    // States: nullptr, then a name that stays as it is as long as the job_control. The release store pairs with the
    // acquire load of a snapshot.
    std::atomic<const std::string*> name{nullptr};

    // Each actor that finds a fault writes here.
    shared_count failed;
    shared_count retried;
    shared_count skipped;
    shared_count dead;
    shared_count late;

    void reset() noexcept;
};

/// Lines that stay where they are while their number grows. One actor adds, any thread looks.
///
/// Segment `s` has `8 << s` of them.
template <typename T>
class growing_lines {
public:
    growing_lines() = default;
    growing_lines(const growing_lines&) = delete;
    growing_lines& operator=(const growing_lines&) = delete;
    ~growing_lines() {
        for (auto& each : segments_) delete[] each.load(std::memory_order_relaxed);
    }

    /// Line `i`, made if need be.
    [[nodiscard]] T& make(std::size_t i) {
        const auto [s, at] = place_of(i);
        T* segment = segments_[s].load(std::memory_order_relaxed);
        if (segment == nullptr) {
            segment = new T[std::size_t{8} << s];
            segments_[s].store(segment, std::memory_order_release);  // pairs with the acquire in find()
        }
        // The release pairs with the acquire in size(): a reader of the size finds the lines.
        if (i >= size_.load(std::memory_order_relaxed)) size_.store(i + 1, std::memory_order_release);
        return segment[at];
    }
    /// Line `i`; nullptr where none was made near it.
    [[nodiscard]] T* find(std::size_t i) const noexcept {
        const auto [s, at] = place_of(i);
        T* const segment = segments_[s].load(std::memory_order_acquire);
        return segment == nullptr ? nullptr : segment + at;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
    void shrink(std::size_t size) noexcept { size_.store(size, std::memory_order_release); }

private:
    struct place {
        std::size_t segment;
        std::size_t at;
    };
    [[nodiscard]] static place place_of(std::size_t i) noexcept {
        const std::size_t n = i + 8;
        const auto s = static_cast<std::size_t>(std::bit_width(n) - 4);
        return {s, n - (std::size_t{8} << s)};
    }

    // States of a segment: nullptr, then lines for ever. The size is how many lines are in use.
    std::array<std::atomic<T*>, 30> segments_{};  // numbers are of 32 bits
    std::atomic<std::size_t> size_{0};
};

/// The counts of a job. Each actor writes its own line; job_control::snapshot() reads them.
class observed {
public:
    observed() { (void)actors_.make(1); }

    /// A run begins: all counts are 0 again, and there are `workers[i]` workers of region `i + 1`.
    void begin(std::span<const std::size_t> workers);

    [[nodiscard]] actor_counts& reader() const noexcept { return *actors_.find(0); }
    [[nodiscard]] actor_counts& writer() const noexcept { return *actors_.find(1); }
    /// Pre: begin() was told of it.
    [[nodiscard]] actor_counts& worker(std::uint32_t region, std::size_t number) const noexcept {
        return *actors_.find(first_of_[region - 1] + number);
    }
    /// The reader's: a partition that the source has.
    partition_counts& meet(std::uint32_t p, const std::string& name);
    /// The reader's: there is room for a line.
    void make_room(std::uint32_t p) { (void)partitions_.make(p); }
    /// The reader's: it is another process' now.
    void lose(std::uint32_t p) noexcept;
    /// nullptr where the reader has not seen one near it.
    [[nodiscard]] partition_counts* partition(std::uint32_t p) const noexcept { return partitions_.find(p); }
    /// The reader's: whether the source has an end.
    void set_bounded(bool is) noexcept { is_bounded_.set(is); }

    // A snapshot reads these.
    [[nodiscard]] const growing_lines<actor_counts>& actors() const noexcept { return actors_; }
    [[nodiscard]] const growing_lines<partition_counts>& partitions() const noexcept { return partitions_; }
    [[nodiscard]] bool is_bounded() const noexcept { return is_bounded_.get(); }

private:
    growing_lines<actor_counts> actors_;  // the reader, the writer, the workers by region: not in a coroutine's frame
    growing_lines<partition_counts> partitions_;
    published<bool> is_bounded_;
    std::vector<std::size_t> first_of_;  // worker of each region, in actors_
    std::deque<std::string> names_;      // that snapshots may read; a name that comes again is taken again
};

/// Times each 16th batch of an actor: two looks at the clock would be a part of the cost of a small one.
class sampled_times {
public:
    explicit sampled_times(actor_counts& of) noexcept : of_(of) {}

    void begin() noexcept {
        if (turn_ == 0) begin_ = clock::now();
    }
    /// A batch without a record is not counted.
    void end(std::size_t records) noexcept {
        if (records == 0) return;
        if (turn_ == 0) {
            of_.timed.add((clock::now() - begin_).count());
            of_.timed_records.add(records);
            of_.timed_batches.add(1);
        }
        turn_ = (turn_ + 1) % 16;
    }

private:
    actor_counts& of_;
    std::uint32_t turn_ = 0;
    clock::time_point begin_{};
};

/// Values that are late, as one actor counts them.
class late_counts {
public:
    explicit late_counts(observed& in) noexcept : in_(in) {}

    void count(std::uint32_t partition) noexcept {
        if (partition != partition_) {
            publish();
            partition_ = partition;
        }
        ++all_;
        ++of_partition_;
    }
    /// Tells what was counted of a partition.
    void publish() noexcept {
        if (of_partition_ == 0) return;
        if (partition_counts* const line = in_.partition(partition_)) line->late.add(of_partition_);
        of_partition_ = 0;
    }
    [[nodiscard]] std::uint64_t all() const noexcept { return all_; }

private:
    observed& in_;
    std::uint64_t all_ = 0;
    std::uint64_t of_partition_ = 0;
    std::uint32_t partition_ = 0;
};

}  // namespace coflux::stream::detail
