// table_windows: tumbling and sliding windows whose panes are in a table outside of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/stream/aggregate.hpp>
#include <coflux/stream/detail/pane_windows.hpp>
#include <coflux/stream/detail/window_grid.hpp>
#include <coflux/stream/windowed.hpp>

namespace coflux::stream::detail {

/// The operator. `Table` has the aggregates of each pane and key. It is asked by want() for those that a batch needs,
/// and by want_window() for those of a window that has ended. The engine reads them, and calls advance(), which gives
/// this window; and so on, window by window: so one window of a slot is in memory at a time.
template <typename Aggregate, typename In, typename Key, typename Options, typename Table, typename Next>
class table_windows : public window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next> {
    using base = window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next>;
    using state = aggregate_state<Aggregate, In>;
    static_assert(std::is_same_v<decltype(Options::emit), emit_final> && !base::accepts_late,
                  "coflux: a window() in a table gives its result once, at its end: emit_final, and drop_late or "
                  "late_records");

public:
    table_windows(const window_grid& grid, Aggregate a, Table panes, const Options& options, Next next)
        : base(options, std::move(next)),
          grid_(grid),
          aggregate_(std::move(a)),
          table_(std::move(panes)) {}
    static constexpr bool reads_ahead = true;

    void want(wanted_states& all, const void* key) {
        if (all.time != no_time) table_.want(all, {grid_.pane_of(all.time), *static_cast<const Key*>(key)});
    }

    template <typename Value>
    void process(place& at, Value& value) {
        if (at.time == no_time) refuse_timeless();
        const std::int64_t number = grid_.pane_of(at.time);
        if (gone_at(number) <= this->reached(at, !panes_.empty())) {
            this->give_late(at, value);
            return;
        }
        table_.add_to({number, *static_cast<const Key*>(at.key)},
                      [&](state& into) { aggregate_.add(into, std::as_const(value)); });
        at.touched = true;
        if (number != last_) {
            panes_.try_emplace(number);
            last_ = number;
        }
    }

    /// Asks for the first window that the watermark has ended and that has not been given.
    void want_due(wanted_states& all, event_time watermark) {
        if (watermark <= this->reached_) return;
        wide_time window = std::max(grid_.first_open(this->reached_), next_);
        const auto next = pane_from(panes_, grid_.first_pane(window));
        if (next == panes_.end()) return;
        window = std::max(window, grid_.first_window(next->first));
        if (grid_.end(window) > watermark) return;
        due_ = window;
        std::vector<std::int64_t> of_window;
        for (auto pane = pane_from(panes_, grid_.first_pane(window)); pane != pane_from(panes_, grid_.end_pane(window));
             ++pane) {
            of_window.push_back(pane->first);
        }
        table_.want_window(all, std::move(of_window),
                           [this](state& into, const state& later) { aggregate_.merge(into, later); });
    }

    void advance(place& at, event_time watermark) {
        if (due_) {
            const event_time begin = grid_.begin(*due_);
            const event_time end = grid_.end(*due_);
            table_.take_window([&](const Key& key, state&& of_key) {
                this->give(at, key, begin, end, aggregate_.result(std::move(of_key)));
            });
            next_ = *due_ + 1;  // the ends of windows at the end of time are one
            due_.reset();
            this->reach(end);
            return;
        }
        while (!panes_.empty() && gone_at(panes_.begin()->first) <= watermark) {
            table_.forget_pane(panes_.begin()->first);
            panes_.erase(panes_.begin());
            last_.reset();
        }
        next_ = least;
        if (watermark >= this->reached_) {
            this->reach(watermark);
            at.watermark = std::max(at.watermark, this->reached_);
        }
        this->next().advance(at, watermark);
    }

    void save(state_writer& out) const {
        out(grid_.pane(), grid_.count(), grid_.step(), this->reached_);
        out.size(panes_.size());
        for (const auto& [number, none] : panes_) out(number);
        table_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        std::int64_t width = 0;
        std::int64_t count = 0;
        std::int64_t step = 0;
        in(width, count, step, this->reached_);
        if (width != grid_.pane() || count != grid_.count() || step != grid_.step()) refuse_other_windows();
        panes_.clear();
        last_.reset();
        for (std::size_t n = in.size(sizeof(std::int64_t)); n != 0; --n) panes_.try_emplace(in.number<std::int64_t>());
        table_.load(in);
        this->next().load(in);
    }

private:
    struct nothing {};
    static constexpr wide_time least = wide_time(INT64_MIN) * 4;

    [[nodiscard]] event_time gone_at(std::int64_t number) const noexcept {
        return grid_.end(grid_.last_window(number));
    }

    window_grid grid_;
    [[no_unique_address]] Aggregate aggregate_;
    Table table_;
    std::map<std::int64_t, nothing> panes_;  // that have a value
    std::optional<std::int64_t> last_;       // the one that the last value was added to
    std::optional<wide_time> due_;           // the window that is being read
    wide_time next_ = least;                 // no window before it is due
};

}  // namespace coflux::stream::detail
