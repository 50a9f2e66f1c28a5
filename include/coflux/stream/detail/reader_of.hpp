// reader_of: the records of a job's source run through the head of its flow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/stream/arrival_times.hpp>
#include <coflux/stream/detail/any_source.hpp>
#include <coflux/stream/detail/barriers.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/outlet.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/detail/reader.hpp>
#include <coflux/stream/detail/region_run.hpp>
#include <coflux/stream/event_times.hpp>

namespace coflux::stream::detail {

/// `In`: the source's values.
template <typename In, typename Head, typename FirstBy>
class reader_of final : public reader {
    using output = typename output_type<In, no_key, Head>::type;

public:
    using outlet_type = outlet<output, FirstBy>;
    using operators = decltype(bind_stages<In, no_key>(std::declval<const Head&>(), outlet_operator<outlet_type>()));
    static_assert(!operators::has_state,
                  "coflux: a stage with a state comes behind a partitioner, which says whose state it is: by_key(), "
                  "by_partition() or to_one()");

    reader_of(any_source& from, const Head& head, outlet_type& out, barriers& on_their_way, failure_policy& policy,
              const paces& pace, positions at)
        : reader(from, out, on_their_way, policy, pace, times_of(head), std::move(at), parcel_of<In>::make()),
          operators_(bind_stages<In, no_key>(head, outlet_operator<outlet_type>())),
          out_(out),
          batch_(records_of<In>(read_batch())) {
        if (policy.letters != nullptr) batch_.keep_originals();
    }

private:
    static constexpr bool has_event_times = []<typename... S>(std::tuple<S...>*) {
        return (is_event_times<S> || ...);
    }(static_cast<Head*>(nullptr));
    static constexpr bool has_arrival_times = []<typename... S>(std::tuple<S...>*) {
        return (std::is_same_v<S, arrival_times> || ...);
    }(static_cast<Head*>(nullptr));

    [[nodiscard]] static head_times times_of([[maybe_unused]] const Head& head) {
        head_times times{has_event_times, {}};
        if constexpr (has_arrival_times) times.arrival_every = std::get<arrival_times>(head).every;
        return times;
    }

    // Notes the records [first, end), which are of one partition.
    void note_run(std::size_t first, std::size_t end, event_time latest) {
        if (first == end) return;
        const std::uint32_t partition = batch_[first].partition;
        if constexpr (!has_event_times) times_.note(partition, latest);
        pass(partition, batch_[end - 1].next, end - first);
    }

    // The batch goes as it is: its records get their slots.
    // Returns: false, and nothing is done, where a key throws.
    bool pass_whole() {
        const std::uint32_t slots = out_.slots();
        const std::span all = batch_.all();
        try {
            for (record<In>& r : all) out_.route(r, slots);
        } catch (...) {
            return false;
        }
        for (std::size_t i = 0; i != all.size();) {
            const std::size_t begin = i;
            const std::uint32_t partition = all[i].partition;
            event_time latest = no_time;
            for (; i != all.size() && all[i].partition == partition; ++i) {
                latest = std::max(latest, all[i].time);
            }
            note_run(begin, i, latest);
        }
        out_.take_whole(batch_);
        return true;
    }

    std::size_t process(std::size_t first) override {
        if constexpr (std::tuple_size_v<Head> == 0) {
            if (first == 0 && !batch_.empty() && out_.takes_whole() && pass_whole()) return 0;
        }
        place at;
        at.outlet = &out_;
        at.times = &times_;
        if constexpr (has_arrival_times) times_.arrive(time_of_day());
        static constexpr no_key key{};
        at.key = &key;
        std::shared_ptr<const original> read;
        const std::span all = batch_.all();
        outlet_type& out = out_;
        std::size_t i = first;
        for (bool has_failed = false; i != all.size() && !has_failed;) {
            const std::size_t begin = i;
            const std::uint32_t partition = all[i].partition;
            at.partition = partition;
            event_time latest = no_time;
            try {
                for (; i != all.size() && all[i].partition == partition; ++i) [[likely]] {  // as in a worker
                    record<In>& r = all[i];
                    out.mark();
                    if (r.original != nullptr) [[unlikely]] {
                        read = batch_.original_of(i);
                        at.read = &read;
                    } else {
                        at.read = nullptr;
                    }
                    // Behind the call above: else they are read back, as one, before their two stores have ended.
                    at.time = r.time;
                    at.next = r.next;
                    operators_.process(at, r.value);
                    latest = std::max(latest, r.time);
                }
                failures_.reset();
            } catch (...) {
                if (i != first) failures_.reset();  // those before it have passed
                out_.undo();
                error_ = std::current_exception();
                has_failed = true;
            }
            note_run(begin, i, latest);
        }
        return i;
    }

    operators operators_;
    outlet_type& out_;
    batch<In>& batch_;
};

}  // namespace coflux::stream::detail
