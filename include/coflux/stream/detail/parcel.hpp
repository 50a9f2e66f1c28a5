// parcel and inbox: what goes over the links of a job, and how a consumer takes it from all its producers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/channel/spsc.hpp>
#include <coflux/channel/unbounded_mpsc.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream::detail {

/// The body of a function that is not called. Without an instruction it would begin where the next function does, and an
/// exception in that one would find no handler.
[[noreturn]] void never_called() noexcept;

/// A producer's word behind the records of a parcel.
enum class parcel_kind : unsigned char {
    records,  ///< more will come
    barrier,  ///< all that is before barrier `barrier` has been sent
    end       ///< nothing more will come
};

/// A record but for its value.
struct record_head {
    event_time time;
    std::int64_t next;
    std::uint32_t partition;
    const stream::original* original;
};
template <typename T>
[[nodiscard]] record_head head_of(const record<T>& r) noexcept {
    return {r.time, r.next, r.partition, r.original};
}

/// A buffer of a link. Its producer fills it and sends it, its consumer gives it back. The engine knows no type of
/// value: it asks once a batch.
class parcel {
public:
    parcel() = default;
    parcel(const parcel&) = delete;
    parcel& operator=(const parcel&) = delete;
    virtual ~parcel() = default;

    [[nodiscard]] virtual std::size_t size() const noexcept = 0;
    [[nodiscard]] virtual record_head head_of(std::size_t i) noexcept = 0;
    virtual void clear() noexcept = 0;

    event_time watermark = no_time;
    std::uint64_t barrier = 0;
    std::uint32_t producer = 0;
    parcel_kind kind = parcel_kind::records;
};

template <typename T>
class parcel_of final : public parcel {
public:
    [[nodiscard]] static std::unique_ptr<parcel> make() { return std::make_unique<parcel_of>(); }

    [[nodiscard]] std::size_t size() const noexcept override { return records.size(); }
    [[nodiscard]] record_head head_of(std::size_t i) noexcept override { return detail::head_of(records[i]); }
    void clear() noexcept override { records.clear(); }

    batch<T> records{};
};

/// The records of a parcel whose type of value the caller knows.
template <typename T>
[[nodiscard]] batch<T>& records_of(parcel& of) noexcept {
    return static_cast<parcel_of<T>&>(of).records;
}

/// The producer's ends of a link: empty parcels come, full ones go.
struct link_to {
    spsc_receiver<parcel*> empties;
    unbounded_mpsc_sender<parcel*> full;
    std::uint32_t producer;
};

/// The consumer's end of all its links; owns the parcels.
///
/// A producer that has reached a barrier waits for the others: its parcels are set aside. They are its own, so their
/// number is bounded.
class inbox {
public:
    inbox() : inbox(make_unbounded_mpsc<parcel*>()) {}

    /// Adds a producer, with `count` parcels.
    [[nodiscard]] link_to connect(std::size_t count, std::unique_ptr<parcel> (*make)());

    /// The next parcel, if one is here that no barrier holds back.
    [[nodiscard]] parcel* try_next() {
        for (;;) {
            parcel* p = take_aside();
            if (p == nullptr) {
                const std::optional<parcel*> got = from_.try_receive();
                if (!got) return nullptr;
                p = *got;
            }
            if (!holds_back(*p)) return p;
        }
    }
    /// `co_await in.receive()` waits for a parcel; see whether holds_back() keeps it.
    [[nodiscard]] auto receive() noexcept { return from_.receive(); }
    /// Sets the parcel aside, where its producer waits at a barrier. Else notes what it says.
    [[nodiscard]] bool holds_back(parcel& p);
    /// True once for each barrier: all producers have reached it.
    [[nodiscard]] bool pass_barrier() noexcept;
    /// All producers have ended.
    [[nodiscard]] bool has_ended() const noexcept { return open_ == 0; }
    /// Gives a parcel back to its producer.
    void give_back(parcel& p) {
        p.clear();
        p.kind = parcel_kind::records;
        (void)producers_[p.producer].empties.try_send(&p);
    }
    /// No record before it will come.
    [[nodiscard]] event_time watermark() const noexcept { return watermark_; }

private:
    struct producer {
        spsc_sender<parcel*> empties;
        std::vector<std::unique_ptr<parcel>> all;
        event_time watermark = no_time;
        bool at_barrier = false;
        std::deque<parcel*> aside{};
    };

    explicit inbox(std::pair<unbounded_mpsc_sender<parcel*>, mpsc_receiver<parcel*>> ends)
        : to_(std::move(ends.first)),
          from_(std::move(ends.second)) {}

    // A parcel that was set aside of a producer that waits at no barrier any more.
    [[nodiscard]] parcel* take_aside() {
        if (aside_ == 0) return nullptr;
        for (producer& each : producers_) {
            if (each.at_barrier || each.aside.empty()) continue;
            parcel* const p = each.aside.front();
            each.aside.pop_front();
            --aside_;
            return p;
        }
        return nullptr;
    }

    unbounded_mpsc_sender<parcel*> to_;
    mpsc_receiver<parcel*> from_;
    std::vector<producer> producers_;
    event_time watermark_ = no_time;
    std::size_t open_ = 0;
    std::size_t waiting_ = 0;
    std::size_t aside_ = 0;
};

}  // namespace coflux::stream::detail
