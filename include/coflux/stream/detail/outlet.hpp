// outlet: the producer's side of its links. It finds the owner of each record's slot, and fills its parcel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/stream/detail/links.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/slot_owners.hpp>
#include <coflux/stream/key.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream::detail {

/// Where a region's outputs go: the workers of the next one, as `Partitioner` says, or the writer.
template <typename T, typename Partitioner>
class outlet : public links {
    using by = routing<Partitioner, T>;

public:
    outlet(const Partitioner& partitioner, std::shared_ptr<const slot_owners> owners, std::size_t most)
        : links(std::move(owners), most),
          by_(partitioner) {}

    /// Puts a value into the parcel of its owner.
    /// Errors: of the key, or of memory; the value is as it was, because the next attempt needs it.
    void put(const place& at, T&& value) {
        batch<T>& first = records_to(0);
        if (!has_one_link() || at.read != nullptr || !first.has_room()) [[unlikely]] {
            if constexpr (std::is_trivially_copyable_v<T>) {
                // A value whose place a call is given is made in memory, and read back from there by all records.
                T apart(std::move(value));
                put_apart(std::move(apart), at);
            } else {
                put_apart(std::move(value), at);
            }
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
    /// Writes the slot of the record, one of `slots`.
    void route(record<T>& r, std::uint32_t slots) {
        if constexpr (!by::one_worker) r.slot = by::slot(by_, r, slots, turn_);
    }
    /// There is one consumer, and nothing has been put for it: it can take a batch as it is.
    [[nodiscard]] bool takes_whole() const noexcept { return has_one_link() && records_to(0).empty(); }
    /// Pre: takes_whole(), and each record has its slot.
    void take_whole(batch<T>& records) noexcept { records_to(0).swap(records); }

    /// Values that were put since the last mark stay.
    void mark() noexcept {
        recent_ = 0;
        if constexpr (!by::one_worker) recent_owners_.clear();
    }
    /// Values that were put since the last mark go.
    void undo() noexcept {
        for (; recent_ != 0; --recent_) records_to(0).pop_back();
        for (const std::uint32_t owner : recent_owners_) records_to(owner).pop_back();
        recent_owners_.clear();
    }

private:
    // Where there are several links, or what was read goes with the record, or its parcel must grow. Apart, so that
    // put() is inlined.
    [[gnu::noinline]] void put_apart(T&& value, const place& at) {
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
                records_to(owner).push_back(std::move(r));
            } else {
                records_to(owner).push_back(std::move(r), *read);
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
    // Pre: refill() has seen to it that the link has a parcel.
    [[nodiscard]] batch<T>& records_to(std::size_t link) const noexcept { return records_of<T>(*links_[link].filled); }

    const Partitioner& by_;
    std::uint32_t turn_ = 0;
    std::size_t recent_ = 0;                    // put since the mark, where there is one link
    std::vector<std::uint32_t> recent_owners_;  // and where there are several
};

}  // namespace coflux::stream::detail
