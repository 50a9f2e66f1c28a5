#include <coflux/stream/detail/links.hpp>
#include <coflux/stream/detail/parcel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace coflux::stream::detail {

void never_called() noexcept {
    std::terminate();
}

link_to inbox::connect(std::size_t count, std::unique_ptr<parcel> (*make)()) {
    auto [give, take] = make_spsc<parcel*>(count);
    std::vector<std::unique_ptr<parcel>> all(count);
    for (auto& each : all) {
        each = make();
        COFLUX_VERIFY(give.try_send(each.get()), "a new queue is full");
    }
    producers_.push_back(producer{std::move(give), std::move(all)});
    ++open_;
    return {std::move(take), to_, static_cast<std::uint32_t>(producers_.size() - 1)};
}

bool inbox::holds_back(parcel& p) {
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

bool inbox::pass_barrier() noexcept {
    // [stream.barrier.aligned]
    if (waiting_ == 0 || waiting_ != producers_.size()) return false;
    waiting_ = 0;
    for (producer& each : producers_) each.at_barrier = false;
    return true;
}

void links::connect(link_to to) {
    parcel* const first = *to.empties.try_receive();
    links_.push_back({std::move(to), first});
    has_one_link_ = links_.size() == 1;
}

void links::send_full(event_time watermark) {
    for (link& each : links_) {
        if (each.filled != nullptr && each.filled->size() >= most_) send(each, parcel_kind::records, 0, watermark);
    }
}

void links::send_all(event_time watermark) {
    for (link& each : links_) {
        if (each.filled != nullptr && each.filled->size() != 0) send(each, parcel_kind::records, 0, watermark);
    }
}

void links::pulse(event_time watermark) {
    for (link& each : links_) {
        if (each.filled == nullptr || (each.filled->size() == 0 && each.told >= watermark)) continue;
        send(each, parcel_kind::records, 0, watermark);
    }
}

void links::close(parcel_kind kind, std::uint64_t barrier, event_time watermark) {
    for (link& each : links_) send(each, kind, barrier, watermark);
}

void links::send(link& to, parcel_kind kind, std::uint64_t barrier, event_time watermark) {
    parcel& p = *to.filled;
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

call<void> links::refill(environment&) {
    for (link& each : links_) {
        if (each.filled != nullptr) continue;
        each.filled = *co_await each.to.empties.receive();
        --missing_;
    }
}

}  // namespace coflux::stream::detail
