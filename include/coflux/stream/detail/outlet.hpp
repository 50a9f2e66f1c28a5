// outlet: the producer's side of its links. It finds the owner of each record's slot, and fills its parcel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/slot_owners.hpp>
#include <coflux/stream/key.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream::detail {

/// Where a region's outputs go: the workers of the next one, as `Partitioner` says, or the writer.
///
/// Each link has a parcel that is filled. A link whose parcels are all on their way has none: then the producer waits
/// in refill(), before it puts anything. That is the back-pressure of a job.
template <typename T, typename Partitioner>
class outlet {
    using by = routing<Partitioner, T>;

public:
    outlet(const Partitioner& partitioner, std::shared_ptr<const slot_owners> owners, std::size_t most)
        : by_(partitioner),
          owners_(std::move(owners)),
          most_(most) {}

    void connect(link_to<T> to) {
        parcel<T>* const first = *to.empties.try_receive();
        links_.push_back({std::move(to), first});
        has_one_link_ = links_.size() == 1;
    }

    /// Puts a value into the parcel of its owner.
    /// Errors: of the key, or of memory; the value is as it was, because the next attempt needs it.
    void put(const place& at, T&& value) {
        batch<T>& first = links_[0].filled->records;
        if (!has_one_link() || at.read != nullptr || !first.has_room()) [[unlikely]] {
            put_apart(std::move(value), at);
            return;
        }
        // Made where it stays: a record that is made before, and copied, costs a wait for its stores.
        first.push_back({std::move(value), at.time, at.next, at.partition, slot_before(at)});
        try {
            route(first.back(), slots());
        } catch (...) {
            value = std::move(first.back().value);
            first.pop_back();
            throw;
        }
        ++recent_;
    }
    /// How many slots the consumers have.
    [[nodiscard]] std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(owners_->size()); }
    /// Writes the slot of the record, one of `slots`.
    void route(record<T>& r, std::uint32_t slots) {
        if constexpr (!by::one_worker) r.slot = by::slot(by_, r, slots, turn_);
    }
    /// There is one consumer, and nothing has been put for it: it can take a batch as it is.
    [[nodiscard]] bool takes_whole() const noexcept { return has_one_link() && links_[0].filled->records.empty(); }
    /// Pre: takes_whole(), and each record has its slot.
    void take_whole(batch<T>& records) noexcept { links_[0].filled->records.swap(records); }

    /// Values that were put since the last mark stay.
    void mark() noexcept {
        recent_ = 0;
        if constexpr (!by::one_worker) recent_owners_.clear();
    }
    /// Values that were put since the last mark go.
    void undo() noexcept {
        for (; recent_ != 0; --recent_) links_[0].filled->records.pop_back();
        for (const std::uint32_t owner : recent_owners_) links_[owner].filled->records.pop_back();
        recent_owners_.clear();
    }

    /// Sends the parcels that are full.
    void send_full(event_time watermark) {
        for (link& each : links_) {
            if (each.filled != nullptr && each.filled->records.size() >= most_)
                send(each, parcel_kind::records, 0, watermark);
        }
    }
    /// Sends all that have a record.
    void send_all(event_time watermark) {
        for (link& each : links_) {
            if (each.filled != nullptr && !each.filled->records.empty()) send(each, parcel_kind::records, 0, watermark);
        }
    }
    /// Sends all that have a record, or whose consumer does not know the watermark.
    void pulse(event_time watermark) {
        for (link& each : links_) {
            if (each.filled == nullptr || (each.filled->records.empty() && each.told >= watermark)) continue;
            send(each, parcel_kind::records, 0, watermark);
        }
    }
    /// Sends all, and a barrier or the end behind them.
    /// Pre: no link waits for a parcel.
    void close(parcel_kind kind, std::uint64_t barrier, event_time watermark) {
        for (link& each : links_) send(each, kind, barrier, watermark);
    }

    /// Behind a barrier: the slots of the consumers have other owners.
    void change(std::shared_ptr<const slot_owners> owners) noexcept {
        if (owners != nullptr) owners_ = std::move(owners);
    }

    /// How many parcels were sent.
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

    /// A link has no parcel: call refill().
    [[nodiscard]] bool must_wait() const noexcept { return missing_ != 0; }
    /// Waits until each link has a parcel.
    /// Stops: a stop point; loses nothing.
    [[nodiscard]] call<void> refill(environment&) {
        for (link& each : links_) {
            if (each.filled != nullptr) continue;
            each.filled = *co_await each.to.empties.receive();
            --missing_;
        }
    }

private:
    struct link {
        link_to<T> to;
        parcel<T>* filled;
        event_time told = no_time;
    };

    // Where there are several links, or what was read goes with the record, or its parcel must grow. Apart, so that
    // put() is inlined; by value, so that neither the place nor a small value must be in memory for it.
    using apart_value = std::conditional_t<std::is_trivially_copyable_v<T>, T, T&&>;
    [[gnu::noinline]] void put_apart(apart_value value, const place& at) {
        const std::shared_ptr<const original>* const read = at.read;
        record<T> r{std::move(value), at.time, at.next, at.partition, slot_before(at)};
        const bool is_only = has_one_link();
        bool is_noted = false;
        try {
            route(r, slots());
            const std::uint32_t owner = is_only ? 0 : (*owners_)[r.slot];
            if (!is_only) recent_owners_.push_back(owner);  // before: what is in a parcel can be taken back
            is_noted = !is_only;
            if (read == nullptr || *read == nullptr) {
                links_[owner].filled->records.push_back(std::move(r));
            } else {
                links_[owner].filled->records.push_back(std::move(r), *read);
            }
        } catch (...) {
            if (is_noted) recent_owners_.pop_back();
            value = std::move(r.value);
            throw;
        }
        if (is_only) ++recent_;
    }

    // The slot is kept where the next region goes on with the slots of this one.
    [[nodiscard]] static std::uint32_t slot_before([[maybe_unused]] const place& at) noexcept {
        if constexpr (requires { by::keeps_slots; }) {
            return at.slot;
        } else {
            return 0;
        }
    }
    [[nodiscard]] bool has_one_link() const noexcept { return by::one_worker || has_one_link_; }

    void send(link& to, parcel_kind kind, std::uint64_t barrier, event_time watermark) {
        parcel<T>& p = *to.filled;
        p.watermark = watermark;
        p.barrier = barrier;
        p.producer = to.to.producer;
        p.kind = kind;
        to.told = watermark;
        (void)to.to.full.send(&p);
        ++sent_;
        const auto next = to.to.empties.try_receive();
        to.filled = next ? *next : nullptr;
        if (!next) ++missing_;
    }

    const Partitioner& by_;
    std::shared_ptr<const slot_owners> owners_;
    std::size_t most_;
    std::uint32_t turn_ = 0;
    std::size_t missing_ = 0;
    std::uint64_t sent_ = 0;
    std::vector<link> links_;
    bool has_one_link_ = false;
    std::size_t recent_ = 0;                    // put since the mark, where there is one link
    std::vector<std::uint32_t> recent_owners_;  // and where there are several
};

}  // namespace coflux::stream::detail
