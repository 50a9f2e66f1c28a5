// links: the producer's ends of all its links, whatever their records are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/slot_owners.hpp>

namespace coflux::stream::detail {

/// Each link has a parcel that is filled. A link whose parcels are all on their way has none: then the producer waits
/// in refill(), before it puts anything. That is the back-pressure of a job.
class links {
public:
    /// `owners`: of the slots of the consumers. `most`: records of a parcel that is full.
    links(std::shared_ptr<const slot_owners> owners, std::size_t most) : owners_(std::move(owners)), most_(most) {}

    void connect(link_to to);
    /// How many slots the consumers have.
    [[nodiscard]] std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(owners_->size()); }

    /// Sends the parcels that are full.
    void send_full(event_time watermark);
    /// Sends all that have a record.
    void send_all(event_time watermark);
    /// Sends all that have a record, or whose consumer does not know the watermark.
    void pulse(event_time watermark);
    /// Sends all, and a barrier or the end behind them.
    /// Pre: no link waits for a parcel.
    void close(parcel_kind kind, std::uint64_t barrier, event_time watermark);

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
    [[nodiscard]] call<void> refill(environment&);

protected:
    struct link {
        link_to to;
        parcel* filled;
        event_time told = no_time;
    };

    std::vector<link> links_;
    bool has_one_link_ = false;
    std::shared_ptr<const slot_owners> owners_;

private:
    void send(link& to, parcel_kind kind, std::uint64_t barrier, event_time watermark);

    std::size_t most_;
    std::size_t missing_ = 0;
    std::uint64_t sent_ = 0;
};

}  // namespace coflux::stream::detail
