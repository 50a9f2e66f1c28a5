// record: a value on its way through a stream job, and its place in its source.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coflux::stream {

/// When something has happened, by the clock of the data.
using event_time = std::chrono::sys_time<std::chrono::nanoseconds>;

/// The time of a record that has none; before all others.
inline constexpr event_time no_time = event_time::min();
/// The watermark behind the last record; after all others.
inline constexpr event_time end_of_time = event_time::max();

/// The bytes that a source has read, as they were: for dead letters.
struct original {
    std::string key;
    std::string value;
    std::vector<std::pair<std::string, std::string>> headers;
};

/// A value on its way, and its place in its source.
///
/// Shapes: `T` is movable.
/// Units: `next` is the source's own count: of records, bytes or offsets.
template <typename T>
struct record {
    T value;
    /// When it has happened: given by the source, or by the stage event_times().
    event_time time = no_time;
    /// The position behind it in its partition: a read from there gives the record that follows.
    std::int64_t next = 0;
    /// Which partition of the source; the source gives it a name.
    std::uint32_t partition = 0;
    /// Which slot of its region; the engine writes it.
    std::uint32_t slot = 0;
    /// Its bytes as they were read, where its batch keeps them.
    const stream::original* original = nullptr;
};

/// Records on their way together.
///
/// Shapes: a source appends to it.
/// Errors: where there is no memory for a record, the record and the batch are as they were.
template <typename T>
class batch {
public:
    void push_back(const record<T>& r) { records_.push_back(r); }
    void push_back(record<T>&& r) { records_.push_back(std::move(r)); }
    /// Makes a record where it stays, of the value that `make()` gives. One that is made before, and moved, may be read
    /// back before its stores have ended: for a message of Kafka that takes 6 ns.
    template <typename Make>
        requires std::same_as<std::invoke_result_t<Make&>, T>
    void emplace_back(Make make, event_time time, std::int64_t next, std::uint32_t partition = 0) {
        struct made {
            Make& by;
            operator T() const { return by(); }  // NOLINT(google-explicit-constructor)
        };
        records_.emplace_back(made{make}, time, next, partition);
    }
    /// With what was read, for dead letters; see keeps_originals().
    void push_back(record<T>&& r, std::shared_ptr<const original> read) {
        const stream::original* const kept = read.get();
        originals_.resize(records_.size());  // others may have none
        originals_.push_back(std::move(read));
        records_.push_back(std::move(r));
        records_.back().original = kept;
    }
    /// The job wants what was read: it has dead letters.
    [[nodiscard]] bool keeps_originals() const noexcept { return keeps_originals_; }
    void keep_originals() noexcept { keeps_originals_ = true; }

    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
    [[nodiscard]] record<T>& back() noexcept { return records_.back(); }
    /// The next record allocates nothing.
    [[nodiscard]] bool has_room() const noexcept { return records_.size() != records_.capacity(); }
    [[nodiscard]] record<T>& operator[](std::size_t i) noexcept { return records_[i]; }
    [[nodiscard]] auto begin() noexcept { return records_.begin(); }
    [[nodiscard]] auto end() noexcept { return records_.end(); }
    [[nodiscard]] std::span<record<T>> all() noexcept { return records_; }
    /// Up to so many records, the next ones allocate nothing.
    void reserve(std::size_t count) {
        records_.reserve(count);
        if (keeps_originals_) originals_.reserve(count);
    }
    void pop_back() noexcept {
        records_.pop_back();
        if (originals_.size() > records_.size()) originals_.pop_back();
    }
    void clear() noexcept {
        records_.clear();
        originals_.clear();
    }
    void swap(batch& other) noexcept {
        records_.swap(other.records_);
        originals_.swap(other.originals_);
    }
    /// The bytes of record `i` as they were read, where they are kept.
    [[nodiscard]] std::shared_ptr<const original> original_of(std::size_t i) const noexcept {
        return i < originals_.size() ? originals_[i] : nullptr;
    }

private:
    std::vector<record<T>> records_;
    std::vector<std::shared_ptr<const original>> originals_;
    bool keeps_originals_ = false;
};

/// Up to where a partition of a source has been read.
struct position {
    std::string partition;
    std::int64_t next = 0;

    friend bool operator==(const position&, const position&) = default;
};
/// Positions of several partitions, in the order of their names.
using positions = std::vector<position>;

namespace detail {
void set_position(positions& in, std::string partition, std::int64_t next);
void forget_position(positions& in, const std::string& partition);
}  // namespace detail

}  // namespace coflux::stream
