// parcel and inbox: what goes over the links of a job, and how a consumer takes it from all its producers in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/channel/spsc.hpp>
#include <coflux/channel/unbounded_mpsc.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream::detail {

template <typename T>
using buffer = std::vector<record<T>>;

enum class parcel_kind : unsigned char {
    records,  ///< records, or none: then it only brings the watermark
    barrier,  ///< the producer has sent all that is before barrier `barrier`
    end       ///< nothing more will come of this producer
};

template <typename T>
struct parcel {
    parcel_kind kind = parcel_kind::records;
    std::uint32_t producer = 0;
    std::uint64_t barrier = 0;
    event_time watermark = no_time;
    buffer<T> records{};
};

/// The producer's ends of a link: empty buffers come, parcels go.
template <typename T>
struct link_to {
    spsc_receiver<buffer<T>> empties;
    unbounded_mpsc_sender<parcel<T>> parcels;
};

/// The consumer's end of all its links.
///
/// A producer that has reached a barrier waits for the others: its parcels are set aside, at most as many as it has
/// buffers, and one for each barrier or end.
template <typename T>
class inbox {
public:
    inbox() : inbox(make_unbounded_mpsc<parcel<T>>()) {}

    /// Adds a producer, with `buffers` empty buffers.
    [[nodiscard]] link_to<T> connect(std::size_t buffers) {
        auto [give, take] = make_spsc<buffer<T>>(buffers);
        for (std::size_t i = 0; i != buffers; ++i) COFLUX_VERIFY(give.try_send(buffer<T>()), "a new queue is full");
        producers_.push_back(producer{std::move(give)});
        ++open_;
        return {std::move(take), to_};
    }
    /// From now on the inbox ends when its producers do.
    void close_door() noexcept { to_.close(); }

    /// The next parcel: records; a barrier, once all producers have reached it; the end, once all have ended.
    [[nodiscard]] call<parcel<T>> next(environment&) {
        for (;;) {
            std::optional<parcel<T>> p = take_aside();
            if (!p) p = co_await from_.receive();
            COFLUX_VERIFY(p.has_value(), "a producer of a stream job has gone without an end");
            if (accept(*p)) co_return std::move(*p);
        }
    }
    /// The next parcel, if it is here.
    [[nodiscard]] std::optional<parcel<T>> try_next() {
        for (;;) {
            std::optional<parcel<T>> p = take_aside();
            if (!p) p = from_.try_receive();
            if (!p || accept(*p)) return p;
        }
    }
    /// Gives the buffer of a parcel back to its producer.
    void give_back(parcel<T>&& p) {
        p.records.clear();
        (void)producers_[p.producer].empties.try_send(std::move(p.records));
    }
    /// No record before it will come.
    [[nodiscard]] event_time watermark() const noexcept { return watermark_; }

private:
    struct producer {
        spsc_sender<buffer<T>> empties;
        event_time watermark = no_time;
        bool at_barrier = false;
        std::deque<parcel<T>> aside{};
    };

    explicit inbox(std::pair<unbounded_mpsc_sender<parcel<T>>, mpsc_receiver<parcel<T>>> ends)
        : to_(std::move(ends.first)),
          from_(std::move(ends.second)) {}

    // What was set aside of a producer that waits at no barrier any more.
    std::optional<parcel<T>> take_aside() {
        if (aside_ == 0) return std::nullopt;
        for (producer& each : producers_) {
            if (each.at_barrier || each.aside.empty()) continue;
            parcel<T> p = std::move(each.aside.front());
            each.aside.pop_front();
            --aside_;
            return p;
        }
        return std::nullopt;
    }

    // Whether the consumer shall see it.
    bool accept(parcel<T>& p) {
        producer& from = producers_[p.producer];
        if (from.at_barrier) {
            from.aside.push_back(std::move(p));
            ++aside_;
            return false;
        }
        if (p.watermark > from.watermark) {
            from.watermark = p.watermark;
            watermark_ = std::ranges::min_element(producers_, {}, &producer::watermark)->watermark;
        }
        if (p.kind == parcel_kind::records) return true;
        if (p.kind == parcel_kind::end) return --open_ == 0;
        from.at_barrier = true;
        if (++waiting_ != producers_.size()) return false;
        waiting_ = 0;
        for (producer& each : producers_) each.at_barrier = false;
        return true;
    }

    unbounded_mpsc_sender<parcel<T>> to_;
    mpsc_receiver<parcel<T>> from_;
    std::vector<producer> producers_;
    event_time watermark_ = no_time;
    std::size_t open_ = 0;
    std::size_t waiting_ = 0;
    std::size_t aside_ = 0;
};

}  // namespace coflux::stream::detail
