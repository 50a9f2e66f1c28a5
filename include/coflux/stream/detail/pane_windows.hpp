// pane_windows: tumbling and sliding windows. A value is added to one pane; a window merges its panes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/stream/aggregate.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/window_grid.hpp>
#include <coflux/stream/windowed.hpp>

namespace coflux::stream::detail {

[[noreturn]] void refuse_timeless();
[[noreturn]] void refuse_other_windows();

/// The first of `panes` that is not before `number`, which may be beyond all times.
template <typename Panes>
[[nodiscard]] auto pane_from(Panes& panes, wide_time number) {
    return number > INT64_MAX ? panes.end() : panes.lower_bound(saturated(number).time_since_epoch().count());
}

/// Merges of panes whose windows end one after the other, by two stacks: the panes before `middle` merged from each
/// window's first on, and those behind it in one. So a window costs a merge for each key, however many panes it has.
///
/// Source: K. Tangwongsan et al., General Incremental Sliding-Window Aggregation, VLDB 8(7), 2015 (two stacks); here a
/// stack holds tables, since all keys of a slot have the same windows.
template <typename Key, typename State>
class pane_stacks {
public:
    using table = keyed_table<Key, State>;

    /// Lets the merges be those of a window, whose panes are [first, end) of `panes`; windows come in order.
    template <typename Panes, typename Aggregate>
    void turn_to(const Panes& panes, wide_time first, wide_time end, std::int64_t step, const Aggregate& aggregate) {
        if (!is_valid_ || first >= middle_ || end < back_end_) {
            fill_front(panes, first, end, step, aggregate);
        } else {
            const auto last = pane_from(panes, end);
            for (auto pane = pane_from(panes, back_end_); pane != last; ++pane) {
                for (const auto& [key, cell] : pane->second.table) aggregate.merge(back_[key], cell.state);
            }
            back_end_ = end;
        }
        at_ = static_cast<std::size_t>((first - front_begin_) / step);
    }
    /// Calls `use(key, state)` with each key of the window.
    template <typename Aggregate, typename Use>
    void each(const Aggregate& aggregate, Use use) {
        table& front = front_[at_];
        // Each front is asked once, so it takes what is behind it. One key is looked for, not those of both.
        for (const auto& [key, state] : back_) {
            if (State* const before = front.find(key)) {
                aggregate.merge(*before, state);
            } else {
                use(key, State(state));
            }
        }
        for (auto& [key, state] : front) use(key, std::move(state));
        front.clear();
    }
    /// A pane that was merged has changed.
    void reset() noexcept { is_valid_ = false; }

private:
    template <typename Panes, typename Aggregate>
    void fill_front(const Panes& panes, wide_time first, wide_time end, std::int64_t step, const Aggregate& aggregate) {
        front_.assign(static_cast<std::size_t>((end - first + step - 1) / step), table());
        table merged;
        auto pane = pane_from(panes, end);
        for (std::size_t i = front_.size(); i-- != 0;) {
            const auto begin = pane_from(panes, first + static_cast<wide_time>(i) * step);
            while (pane != begin) {
                --pane;
                for (const auto& [key, cell] : pane->second.table) {
                    State joined = cell.state;  // the later ones are behind
                    State& into = merged[key];
                    aggregate.merge(joined, into);
                    into = std::move(joined);
                }
            }
            front_[i] = i == 0 ? std::move(merged) : merged;
        }
        front_begin_ = first;
        middle_ = back_end_ = end;
        back_.clear();
        is_valid_ = true;
    }

    std::vector<table> front_;
    table back_;
    wide_time front_begin_ = 0;
    wide_time middle_ = 0;
    wide_time back_end_ = 0;
    std::size_t at_ = 0;
    bool is_valid_ = false;
};

/// The operator. Panes are in the order of time, each with a table of its keys.
template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
class pane_windows : public window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next> {
    using base = window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next>;
    using state = aggregate_state<Aggregate, In>;
    using cell_type = window_cell<state, base::gives_early>;
    struct pane_type {
        keyed_table<Key, cell_type> table{};
    };
    using pane_map = std::map<std::int64_t, pane_type>;

public:
    pane_windows(const window_grid& grid, Aggregate a, const Options& options, Next next)
        : base(options, std::move(next)),
          grid_(grid),
          aggregate_(std::move(a)) {}

    template <typename Value>
    void process(place& at, Value& value) {
        const auto offset = static_cast<std::uint64_t>(at.time.time_since_epoch().count()) - now_.first;
        if (offset > now_.extent || now_.into == nullptr) [[unlikely]] {
            if (!turn_to(at)) {
                this->give_late(at, value);
                return;
            }
        }
        const Key& key = *static_cast<const Key*>(at.key);
        now_.into->table.add_to(key, [&](cell_type& into) {
            aggregate_.add(into.state, std::as_const(value));
            into.note();
        });
        at.touched = true;
        if constexpr (base::gives_changes) {
            give_changed(at, key, grid_.last_window(now_.number));
        } else if constexpr (base::accepts_late) {
            if (now_.is_given) {
                give_changed(at, key, std::min(grid_.first_open(this->reached_) - 1, grid_.last_window(now_.number)));
            }
        }
    }

    void advance(place& at, event_time watermark) {
        if (watermark > this->reached_) {
            const bool is_early = this->is_early_due(watermark);
            if (watermark >= due_) give_due(at, watermark);
            this->reach(watermark);
            if constexpr (base::gives_early) {
                if (is_early) give_early(at);
            }
            at.watermark = std::max(at.watermark, this->reached_);
        }
        this->next().advance(at, watermark);
    }

    void save(state_writer& out) const {
        out(grid_.pane(), grid_.count(), grid_.step(), this->reached_);
        out.size(panes_.size());
        for (const auto& [number, each] : panes_) {
            out(number);
            each.table.save(out);
        }
        this->next().save(out);
    }
    void load(state_reader& in) {
        std::int64_t width = 0;
        std::int64_t count = 0;
        std::int64_t step = 0;
        in(width, count, step, this->reached_);
        if (width != grid_.pane() || count != grid_.count() || step != grid_.step()) refuse_other_windows();
        panes_.clear();
        for (std::size_t n = in.size(); n != 0; --n) {
            std::int64_t number = 0;
            in(number);
            panes_[number].table.load(in);
        }
        now_ = {};
        stacks_.reset();
        find_due();
        this->next().load(in);
    }

private:
    /// The pane that the last value was added to: the next one is most often in the same.
    struct present {
        std::uint64_t first = 0;
        std::uint64_t extent = 0;  ///< from its first time to its last one
        pane_type* into = nullptr;
        std::int64_t number = 0;
        bool is_given = false;  ///< a window of it has ended, and is kept
    };

    // When the last window of a pane goes.
    [[nodiscard]] event_time gone_at(wide_time number) const noexcept {
        return later(grid_.end(grid_.last_window(number)), this->kept());
    }

    // Returns: whether the value at `at` is in time for one of its windows.
    bool turn_to(place& at) {
        if (at.time == no_time) refuse_timeless();
        const std::int64_t number = grid_.pane_of(at.time);
        const event_time reached = this->reached(at, !panes_.empty());
        if (gone_at(number) <= reached) return false;
        const auto [found, is_new] = panes_.try_emplace(number);
        if (is_new) found->second.table = std::exchange(spare_, {});
        const event_time begin = std::max(grid_.pane_begin(number), later(no_time, event_time::duration(1)));
        const event_time last = saturated((wide_time(number) + 1) * grid_.pane() - 1);
        now_.first = static_cast<std::uint64_t>(begin.time_since_epoch().count());
        now_.extent = static_cast<std::uint64_t>(last.time_since_epoch().count()) - now_.first;
        now_.into = &found->second;
        now_.number = number;
        now_.is_given = grid_.first_window(number) < grid_.first_open(reached);
        if (now_.is_given) stacks_.reset();
        due_ = std::min(due_, due_of(number));
        return true;
    }

    // When something of a pane is to be done next.
    [[nodiscard]] event_time due_of(std::int64_t number) const noexcept {
        const wide_time window = std::max(grid_.first_window(number), grid_.first_open(this->reached_));
        return window > grid_.last_window(number) ? gone_at(number) : std::min(grid_.end(window), gone_at(number));
    }
    void find_due() {
        due_ = end_of_time;
        if (panes_.empty()) return;
        due_ = gone_at(panes_.begin()->first);
        wide_time window = grid_.first_open(this->reached_);
        if (find_window(window) != panes_.end()) due_ = std::min(due_, grid_.end(window));
    }

    // The first pane of the first window from `window` on that has one; `window` becomes that one.
    typename pane_map::iterator find_window(wide_time& window) {
        const auto found = pane_from(panes_, grid_.first_pane(window));
        if (found != panes_.end()) window = std::max(window, grid_.first_window(found->first));
        return found;
    }

    void give_due(place& at, event_time watermark) {
        wide_time window = grid_.first_open(this->reached_);
        for (; find_window(window) != panes_.end() && grid_.end(window) <= watermark; ++window) {
            if constexpr (!base::gives_changes) give_final(at, window);
        }
        while (!panes_.empty() && gone_at(panes_.begin()->first) <= watermark) {
            spare_ = std::move(panes_.begin()->second.table);
            spare_.clear();
            panes_.erase(panes_.begin());
        }
        this->reach(watermark);
        // The end is not reached: a window of a value that comes behind it may be one of these.
        if (watermark == end_of_time) stacks_.reset();
        now_ = {};
        find_due();
    }

    void give_final(place& at, wide_time window) {
        const event_time begin = grid_.begin(window);
        const event_time end = grid_.end(window);
        if (grid_.count() != 1) {
            stacks_.turn_to(panes_, grid_.first_pane(window), grid_.end_pane(window), grid_.step(), aggregate_);
            stacks_.each(aggregate_, [&](const Key& key, state&& joined) {
                this->give(at, key, begin, end, aggregate_.result(std::move(joined)));
            });
            return;
        }
        for (auto& [key, cell] : pane_from(panes_, window)->second.table) {
            if constexpr (base::accepts_late) {
                this->give(at, key, begin, end, aggregate_.result(std::as_const(cell.state)));
            } else {
                this->give(at, key, begin, end, aggregate_.result(std::move(cell.state)));
            }
        }
    }

    // The results of the windows up to `last` that have the present pane and are kept.
    void give_changed(place& at, const Key& key, wide_time last) {
        for (wide_time window = grid_.first_window(now_.number); window <= last; ++window) {
            if (later(grid_.end(window), this->kept()) <= this->reached_) continue;
            this->give(at, key, grid_.begin(window), grid_.end(window), aggregate_.result(merged(key, window)));
        }
    }
    [[nodiscard]] state merged(const Key& key, wide_time window) {
        state joined{};
        const auto end = pane_from(panes_, grid_.end_pane(window));
        for (auto pane = pane_from(panes_, grid_.first_pane(window)); pane != end; ++pane) {
            if (const cell_type* part = pane->second.table.find(key)) aggregate_.merge(joined, part->state);
        }
        return joined;
    }

    // The results so far of the windows that are open and have changed.
    void give_early(place& at) {
        wide_time window = grid_.first_open(this->reached_);
        for (; find_window(window) != panes_.end(); ++window) {
            const auto first = pane_from(panes_, grid_.first_pane(window));
            const auto end = pane_from(panes_, grid_.end_pane(window));
            for (auto pane = first; pane != end; ++pane) {
                for (const auto& [key, cell] : pane->second.table) {
                    if (!cell.has_changed || has_changed_in(first, pane, key)) continue;
                    this->give(at, key, grid_.begin(window), grid_.end(window), aggregate_.result(merged(key, window)));
                }
            }
        }
        for (auto& [number, each] : panes_) {
            for (auto& entry : each.table) entry.state.has_changed = false;
        }
    }
    [[nodiscard]] static bool has_changed_in(typename pane_map::iterator from, typename pane_map::iterator to,
                                             const Key& key) {
        return std::any_of(from, to, [&](auto& each) {
            const cell_type* found = each.second.table.find(key);
            return found != nullptr && found->has_changed;
        });
    }

    pane_map panes_;
    window_grid grid_;
    [[no_unique_address]] Aggregate aggregate_;
    present now_{};
    event_time due_ = end_of_time;
    pane_stacks<Key, state> stacks_;
    keyed_table<Key, cell_type> spare_;
};

}  // namespace coflux::stream::detail
