// memory_source, memory_sink: the ends of a flow for tests and small jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::stream {

/// Gives values out of memory, in the order of the vector, by turns of a batch where there are several partitions.
///
/// Shapes: partitions are named "0", "1", …; `next` is an index. A run without a store begins at the first value, or
/// where it was sent.
/// Threads: as a source.
template <typename T>
class memory_source {
public:
    using value_type = T;

    explicit memory_source(std::vector<T> values) { parts_.push_back({std::move(values)}); }
    explicit memory_source(std::vector<std::vector<T>> partitions) {
        for (auto& each : partitions) parts_.push_back({std::move(each)});
    }

    [[nodiscard]] call<bool> read(environment&, batch<T>& into, std::size_t most) {
        for (std::size_t tried = 0; tried != parts_.size(); ++tried) {
            const auto p = static_cast<std::uint32_t>(turn_);
            turn_ = turn_ + 1 == parts_.size() ? 0 : turn_ + 1;
            part& from = parts_[p];
            const std::size_t end = from.next + std::min(from.values.size() - from.next, most);
            if (end == from.next) continue;
            for (; from.next != end; ++from.next) {
                into.push_back({from.values[from.next], no_time, static_cast<std::int64_t>(from.next + 1), p, 0, {}});
            }
            if (end == from.values.size()) ended_.push_back(p);
            co_return true;
        }
        co_return false;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return std::to_string(p); }
    [[nodiscard]] std::vector<std::uint32_t> partitions() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t p = 0; p != parts_.size(); ++p) {
            if (parts_[p].next != parts_[p].values.size()) all.push_back(p);
        }
        return all;
    }
    [[nodiscard]] std::vector<partition_extent> measure() const {
        std::vector<partition_extent> all;
        for (std::uint32_t p = 0; p != parts_.size(); ++p) {
            all.push_back(
                {p, static_cast<std::int64_t>(parts_[p].next), static_cast<std::int64_t>(parts_[p].values.size())});
        }
        return all;
    }
    [[nodiscard]] bool is_bounded() const noexcept { return true; }
    [[nodiscard]] std::span<const std::uint32_t> ended() const noexcept { return ended_; }
    [[nodiscard]] call<void> seek(environment&, const positions& to) {
        for (const position& each : to) {
            std::size_t p = 0;
            while (p != parts_.size() && std::to_string(p) != each.partition) ++p;
            if (p == parts_.size())
                throw std::invalid_argument("coflux: a memory_source has no partition " + each.partition);
            if (each.next < 0 || static_cast<std::uint64_t>(each.next) > parts_[p].values.size()) {
                throw std::invalid_argument("coflux: partition " + each.partition + " of a memory_source has " +
                                            std::to_string(parts_[p].values.size()) + " values, and is to begin at " +
                                            std::to_string(each.next));
            }
            parts_[p].begin = static_cast<std::size_t>(each.next);
        }
        for (part& each : parts_) each.next = each.begin;
        turn_ = 0;
        ended_.clear();
        co_return;
    }

private:
    struct part {
        std::vector<T> values;
        std::size_t begin = 0;
        std::size_t next = 0;
    };
    std::vector<part> parts_;
    std::size_t turn_ = 0;
    std::vector<std::uint32_t> ended_;
};
template <typename T>
memory_source(std::vector<T>) -> memory_source<T>;

/// Keeps what it is given, and, for exactly_once, gives it up where the transaction is not committed.
///
/// Threads: as a sink; look at it when the job has ended.
template <typename T>
class memory_sink {
public:
    [[nodiscard]] call<void> write(environment&, std::span<record<T>> records) {
        // Before a value is moved: where there is no memory, the next attempt has them all.
        if (const std::size_t all = values_.size() + records.size(); all > values_.capacity())
            values_.reserve(std::max(all, 2 * values_.capacity()));
        for (record<T>& each : records) values_.push_back(std::move(each.value));
        co_return;
    }
    [[nodiscard]] call<void> flush(environment&) { co_return; }

    [[nodiscard]] call<void> begin(environment&) {
        values_.resize(kept_);
        co_return;
    }
    [[nodiscard]] call<void> commit(environment&, const positions& done) {
        kept_ = values_.size();
        committed_ = done;
        co_return;
    }
    [[nodiscard]] call<void> abort(environment&) {
        values_.resize(kept_);
        co_return;
    }
    [[nodiscard]] call<std::optional<positions>> committed(environment&) { co_return committed_; }

    [[nodiscard]] const std::vector<T>& values() const noexcept { return values_; }

private:
    std::vector<T> values_;
    std::size_t kept_ = 0;
    std::optional<positions> committed_;
};

/// Keeps checkpoints as long as the process lives: for tests, and for a job that is started again after an error.
///
/// Threads: as a state_store.
class memory_store {
public:
    /// How many are kept.
    explicit memory_store(std::size_t keep = 2) noexcept : keep_(std::max<std::size_t>(keep, 2)) {}

    [[nodiscard]] call<void> store(environment&, const checkpoint& c) {
        kept_.push_back(c);
        if (kept_.size() > keep_) kept_.erase(kept_.begin());
        co_return;
    }
    [[nodiscard]] call<std::optional<checkpoint>> load(environment&, const positions* wanted) {
        for (std::size_t i = kept_.size(); i-- != 0;) {
            if (wanted != nullptr && kept_[i].at != *wanted) continue;
            kept_.resize(i + 1);
            co_return kept_[i];
        }
        co_return std::nullopt;
    }
    [[nodiscard]] const std::vector<checkpoint>& kept() const noexcept { return kept_; }

private:
    std::size_t keep_;
    std::vector<checkpoint> kept_;
};
static_assert(state_store<memory_store>);

}  // namespace coflux::stream
