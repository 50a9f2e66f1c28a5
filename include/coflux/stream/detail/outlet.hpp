// outlet: the producer's side of its links. It finds the owner of each record's slot, and fills its buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/key.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream::detail {

/// Which worker owns each slot of a region.
using slot_owners = std::vector<std::uint32_t>;

/// Where a region's outputs go: the workers of the next one, as `Partitioner` says, or the writer.
template <typename T, typename Partitioner>
class outlet {
public:
    outlet(std::uint32_t number, const Partitioner& by, const slot_owners& owners, std::size_t most)
        : number_(number),
          by_(by),
          owners_(owners),
          most_(most) {}

    void connect(link_to<T> to) {
        buffer<T> first = *to.empties.try_receive();
        links_.push_back({std::move(to), std::move(first), true, no_time});
    }

    /// Puts a value into the buffer of its owner.
    void put(const place& at, T&& value) {
        record<T> r{std::move(value), at.time, at.next, at.partition, 0, {}};
        if (at.original != nullptr && *at.original != nullptr) r.original = *at.original;
        std::uint32_t owner = 0;
        if (links_.size() != 1 || !routing<Partitioner, T>::one_worker) {
            r.slot = routing<Partitioner, T>::slot(by_, r, static_cast<std::uint32_t>(owners_.size()), turn_);
            owner = owners_[r.slot];
        }
        links_[owner].filled.push_back(std::move(r));
        recent_.push_back(owner);
    }
    /// What was put since the last mark stays.
    void mark() noexcept { recent_.clear(); }
    /// What was put since the last mark goes.
    void undo() noexcept {
        for (const std::uint32_t owner : recent_) links_[owner].filled.pop_back();
        recent_.clear();
    }

    /// Sends the buffers that are full; all of them if `also_others`.
    [[nodiscard]] call<void> send(environment& here, bool also_others, event_time watermark) {
        for (link& each : links_) {
            if (each.filled.size() >= most_ || (also_others && !each.filled.empty())) {
                co_await hand_over(here, each, watermark);
            }
        }
    }
    /// Sends all, and tells all consumers of the watermark.
    [[nodiscard]] call<void> pulse(environment& here, event_time watermark) {
        for (link& each : links_) {
            if (!each.filled.empty() || each.told < watermark) co_await hand_over(here, each, watermark);
        }
    }
    /// Behind a pulse(): a barrier, or the end, to all consumers.
    void close(parcel_kind kind, std::uint64_t barrier, event_time watermark) {
        for (link& each : links_) (void)each.to.parcels.send(parcel<T>{kind, number_, barrier, watermark, {}});
    }
    [[nodiscard]] bool is_empty() const noexcept {
        return std::ranges::all_of(links_, [](const link& each) { return each.filled.empty(); });
    }

private:
    struct link {
        link_to<T> to;
        buffer<T> filled;
        bool has_buffer;
        event_time told;
    };

    // Sends the buffer, and takes an empty one, which is where a fast producer waits. A stop there loses nothing: the
    // next call takes the buffer first.
    [[nodiscard]] call<void> hand_over(environment&, link& each, event_time watermark) {
        if (each.has_buffer) {
            each.has_buffer = false;
            each.told = watermark;
            (void)each.to.parcels.send(parcel<T>{parcel_kind::records, number_, 0, watermark, std::move(each.filled)});
        }
        each.filled = *co_await each.to.empties.receive();
        each.has_buffer = true;
    }

    std::uint32_t number_;
    const Partitioner& by_;
    const slot_owners& owners_;
    std::size_t most_;
    std::uint32_t turn_ = 0;
    std::vector<link> links_;
    std::vector<std::uint32_t> recent_;
};

}  // namespace coflux::stream::detail
