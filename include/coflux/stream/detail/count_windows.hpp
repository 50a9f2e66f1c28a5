// count_windows: windows of a number of values of a key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <coflux/stream/aggregate.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/pane_windows.hpp>
#include <coflux/stream/windowed.hpp>

namespace coflux::stream::detail {

template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
class count_windows : public window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next> {
    using base = window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next>;
    using state = aggregate_state<Aggregate, In>;
    static_assert(!base::gives_early && !base::accepts_late,
                  "coflux: no value is late for a window of a number of values, and it has no time to be given early: "
                  "by_count() and all_time() take emit_final and emit_changes");
    struct part {
        std::uint64_t count = 0;
        event_time first = end_of_time;
        event_time last = no_time;
        state of{};

        template <typename A>
        void fields(A& all) {
            all(count, first, last, of);
        }
    };

public:
    count_windows(std::uint64_t size, Aggregate a, const Options& options, Next next)
        : base(options, std::move(next)),
          size_(size),
          aggregate_(std::move(a)) {}

    template <typename Value>
    void process(place& at, Value& value) {
        const Key& key = *static_cast<const Key*>(at.key);
        part& into = of_.add_to(key, [&](part& p) { aggregate_.add(p.of, std::as_const(value)); });
        at.touched = true;
        ++into.count;
        into.first = std::min(into.first, at.time);
        into.last = std::max(into.last, at.time);
        const bool is_full = into.count == size_;
        if (is_full || base::gives_changes) give_part(at, key, into);
        if (is_full) into = {};
    }

    /// Windows that are left at the end of the source are given, too.
    void advance(place& at, event_time watermark) {
        if (watermark == end_of_time) {
            for (auto& [key, into] : of_) {
                if (into.count != 0 && !base::gives_changes) give_part(at, key, into);
            }
            of_.clear();
        }
        this->next().advance(at, watermark);
    }

    void save(state_writer& out) const {
        out(size_);
        of_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        std::uint64_t size = 0;
        in(size);
        if (size != size_) refuse_other_windows();
        of_.load(in);
        this->next().load(in);
    }

private:
    void give_part(place& at, const Key& key, const part& of) {
        this->give(at, key, of.first, later(of.last, event_time::duration(1)), aggregate_.result(std::as_const(of.of)));
    }

    std::uint64_t size_;
    [[no_unique_address]] Aggregate aggregate_;
    keyed_table<Key, part> of_;
};

}  // namespace coflux::stream::detail
