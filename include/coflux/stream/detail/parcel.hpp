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

/// A producer's word behind the records of a parcel.
enum class parcel_kind : unsigned char {
    records,  ///< more will come
    barrier,  ///< all that is before barrier `barrier` has been sent
    end       ///< nothing more will come
};

/// A buffer of a link. Its producer fills it and sends it, its consumer gives it back.
template <typename T>
struct parcel {
    batch<T> records{};
    event_time watermark = no_time;
    std::uint64_t barrier = 0;
    std::uint32_t producer = 0;
    parcel_kind kind = parcel_kind::records;
};

/// The producer's ends of a link: empty parcels come, full ones go.
template <typename T>
struct link_to {
    spsc_receiver<parcel<T>*> empties;
    unbounded_mpsc_sender<parcel<T>*> full;
    std::uint32_t producer;
};

/// The consumer's end of all its links; owns the parcels.
///
/// A producer that has reached a barrier waits for the others: its parcels are set aside. They are its own, so their
/// number is bounded.
template <typename T>
class inbox {
public:
    inbox() : inbox(make_unbounded_mpsc<parcel<T>*>()) {}

    /// Adds a producer, with `count` parcels.
    [[nodiscard]] link_to<T> connect(std::size_t count) {
        auto [give, take] = make_spsc<parcel<T>*>(count);
        std::vector<std::unique_ptr<parcel<T>>> all(count);
        for (auto& each : all) {
            each = std::make_unique<parcel<T>>();
            COFLUX_VERIFY(give.try_send(each.get()), "a new queue is full");
        }
        producers_.push_back(producer{std::move(give), std::move(all)});
        ++open_;
        return {std::move(take), to_, static_cast<std::uint32_t>(producers_.size() - 1)};
    }

    /// The next parcel, if one is here that no barrier holds back.
    [[nodiscard]] parcel<T>* try_next() {
        for (;;) {
            parcel<T>* p = take_aside();
            if (p == nullptr) {
                const std::optional<parcel<T>*> got = from_.try_receive();
                if (!got) return nullptr;
                p = *got;
            }
            if (!holds_back(*p)) return p;
        }
    }
    /// `co_await in.receive()` waits for a parcel; see whether holds_back() keeps it.
    [[nodiscard]] auto receive() noexcept { return from_.receive(); }
    /// Sets the parcel aside, where its producer waits at a barrier. Else notes what it says.
    [[nodiscard]] bool holds_back(parcel<T>& p) {
        producer& from = producers_[p.producer];
        // [stream.barrier.holds_back]
        if (from.at_barrier) {
            from.aside.push_back(&p);
            ++aside_;
            return true;
        }
        if (p.watermark > from.watermark) {
            from.watermark = p.watermark;
            watermark_ = std::ranges::min_element(producers_, {}, &producer::watermark)->watermark;
        }
        if (p.kind == parcel_kind::barrier) {
            from.at_barrier = true;
            ++waiting_;
        } else if (p.kind == parcel_kind::end) {
            --open_;
        }
        return false;
    }
    /// True once for each barrier: all producers have reached it.
    [[nodiscard]] bool pass_barrier() noexcept {
        // [stream.barrier.aligned]
        if (waiting_ == 0 || waiting_ != producers_.size()) return false;
        waiting_ = 0;
        for (producer& each : producers_) each.at_barrier = false;
        return true;
    }
    /// All producers have ended.
    [[nodiscard]] bool has_ended() const noexcept { return open_ == 0; }
    /// Gives a parcel back to its producer.
    void give_back(parcel<T>& p) {
        p.records.clear();
        p.kind = parcel_kind::records;
        (void)producers_[p.producer].empties.try_send(&p);
    }
    /// No record before it will come.
    [[nodiscard]] event_time watermark() const noexcept { return watermark_; }

private:
    struct producer {
        spsc_sender<parcel<T>*> empties;
        std::vector<std::unique_ptr<parcel<T>>> all;
        event_time watermark = no_time;
        bool at_barrier = false;
        std::deque<parcel<T>*> aside{};
    };

    explicit inbox(std::pair<unbounded_mpsc_sender<parcel<T>*>, mpsc_receiver<parcel<T>*>> ends)
        : to_(std::move(ends.first)),
          from_(std::move(ends.second)) {}

    // A parcel that was set aside of a producer that waits at no barrier any more.
    [[nodiscard]] parcel<T>* take_aside() {
        if (aside_ == 0) return nullptr;
        for (producer& each : producers_) {
            if (each.at_barrier || each.aside.empty()) continue;
            parcel<T>* const p = each.aside.front();
            each.aside.pop_front();
            --aside_;
            return p;
        }
        return nullptr;
    }

    unbounded_mpsc_sender<parcel<T>*> to_;
    mpsc_receiver<parcel<T>*> from_;
    std::vector<producer> producers_;
    event_time watermark_ = no_time;
    std::size_t open_ = 0;
    std::size_t waiting_ = 0;
    std::size_t aside_ = 0;
};

}  // namespace coflux::stream::detail
