// session_windows: windows that last until a key has been quiet for the gap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/stream/aggregate.hpp>
#include <coflux/stream/detail/key_schedule.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/pane_windows.hpp>
#include <coflux/stream/detail/window_grid.hpp>
#include <coflux/stream/windowed.hpp>

namespace coflux::stream::detail {

/// The sessions of a key are in the order of time; two never come nearer than the gap.
template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
class session_windows : public window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next> {
    using base = window_operator<In, Key, aggregate_result<Aggregate, In>, Options, Next>;
    using state = aggregate_state<Aggregate, In>;
    struct session {
        event_time first = no_time;
        event_time last = no_time;
        bool is_given = false;
        bool has_changed = false;
        state of{};

        template <typename A>
        void fields(A& all) {
            all(first, last, is_given, has_changed, of);
        }
    };
    struct sessions {
        std::vector<session> all;
        event_time scheduled = end_of_time;

        template <typename A>
        void fields(A& archive) {
            archive(all);
        }
    };

public:
    session_windows(event_time::duration gap, Aggregate a, const Options& options, Next next)
        : base(options, std::move(next)),
          gap_(gap),
          aggregate_(std::move(a)) {}

    template <typename Value>
    void process(place& at, Value& value) {
        if (at.time == no_time) refuse_timeless();
        const Key& key = *static_cast<const Key*>(at.key);
        const event_time reached = this->reached(at, !of_.is_empty());
        if constexpr (!base::gives_changes && !base::accepts_late) {
            // Most values go on with a session that is scheduled, and ends later than that.
            sessions* const known = of_.find(key);
            if (known != nullptr && at.time >= reached && !known->all.empty() && is_next(known->all.back(), at.time)) {
                go_on(known->all.back(), at.time, value)->has_changed = true;
                at.touched = true;
                return;
            }
        }
        process_apart(at, key, value, reached);
    }

    void advance(place& at, event_time watermark) {
        if (watermark > this->reached_) {
            const bool is_early = this->is_early_due(watermark);
            if (watermark == end_of_time) {
                for (auto& [key, of_key] : of_) give_ended(at, key, of_key, watermark);
                of_.clear();
                schedule_.clear();
            } else {
                schedule_.each_due(watermark, [&](const Key& key, event_time time) { look(at, key, time, watermark); });
            }
            this->reach(watermark);
            if (is_early) give_early(at);
            at.watermark = std::max(at.watermark, this->reached_);
        }
        this->next().advance(at, watermark);
    }

    void save(state_writer& out) const {
        out(gap_, this->reached_);
        of_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        event_time::duration gap{0};
        in(gap, this->reached_);
        if (gap != gap_) refuse_other_windows();
        of_.load(in);
        schedule_.clear();
        for (auto& [key, of_key] : of_) schedule(key, of_key);
        this->next().load(in);
    }

private:
    [[nodiscard]] event_time end_of(const session& s) const noexcept { return later(s.last, gap_); }
    [[nodiscard]] event_time due_of(const session& s) const noexcept {
        return s.is_given || base::gives_changes ? later(end_of(s), this->kept()) : end_of(s);
    }

    // Apart, so that the lines of most values are inlined.
    template <typename Value>
    [[gnu::noinline]] void process_apart(place& at, const Key& key, Value& value, event_time reached) {
        session* into = nullptr;
        sessions& of_key = of_.add_to(key, [&](sessions& s) {
            const bool goes_on = !s.all.empty() && is_next(s.all.back(), at.time);
            into = goes_on ? go_on(s.all.back(), at.time, value) : add(s, at.time, value, reached);
        });
        if (into == nullptr) {
            if (of_key.all.empty()) of_.erase(key);
            this->give_late(at, value);
            return;
        }
        at.touched = true;
        into->has_changed = true;
        const bool has_ended = end_of(*into) <= reached;
        if (base::gives_changes || has_ended) {
            into->is_given = has_ended;
            this->give(at, key, into->first, end_of(*into), aggregate_.result(std::as_const(into->of)));
        }
        schedule_.add(of_key.scheduled, due_of(*into), key);
    }

    // Whether a value at `time` is the next one of a session. By one difference, because most values are.
    [[nodiscard]] bool is_next(const session& s, event_time time) const noexcept {
        const auto distance = static_cast<std::uint64_t>(time.time_since_epoch().count()) -
                              static_cast<std::uint64_t>(s.last.time_since_epoch().count());
        return time >= s.last && distance < static_cast<std::uint64_t>(gap_.count());
    }
    template <typename Value>
    session* go_on(session& s, event_time time, Value& value) {
        aggregate_.add(s.of, std::as_const(value));
        s.last = time;
        s.is_given = false;
        return &s;
    }

    // Adds a value to the sessions that it meets, which become one. Returns: it; nullptr where the value is late.
    template <typename Value>
    session* add(sessions& of_key, event_time time, Value& value, event_time reached) {
        auto& all = of_key.all;
        // Not by times, because two ends that saturate are the same.
        const wide_time end = wide(time) + gap_.count();
        const auto is_before = [&](const session& s) { return wide(s.last) + gap_.count() <= wide(time); };
        const auto first = std::partition_point(all.begin(), all.end(), is_before);
        auto behind = first;
        while (behind != all.end() && wide(behind->first) < end) ++behind;
        if (first == behind) {
            if (later(saturated(end), this->kept()) <= reached) return nullptr;
            session fresh{time, time, false, false, {}};
            aggregate_.add(fresh.of, std::as_const(value));
            return &*all.insert(first, std::move(fresh));
        }
        if (behind - first == 1) {
            aggregate_.add(first->of, std::as_const(value));
        } else {
            state joined = first->of;
            aggregate_.add(joined, std::as_const(value));
            for (auto each = first + 1; each != behind; ++each) aggregate_.merge(joined, each->of);
            first->of = std::move(joined);
            first->last = (behind - 1)->last;
            all.erase(first + 1, behind);
        }
        first->first = std::min(first->first, time);
        first->last = std::max(first->last, time);
        first->is_given = false;
        return &*first;
    }

    void look(place& at, const Key& key, event_time time, event_time watermark) {
        sessions* of_key = of_.find(key);
        if (of_key == nullptr || of_key->scheduled != time) return;
        give_ended(at, key, *of_key, watermark);
        if (of_key->all.empty()) {
            of_.erase(key);
        } else {
            of_key->scheduled = end_of_time;
            schedule(key, *of_key);
        }
    }
    void give_ended(place& at, const Key& key, sessions& of_key, event_time watermark) {
        for (session& each : of_key.all) {
            if (end_of(each) > watermark || each.is_given) continue;
            each.is_given = true;
            if constexpr (!base::gives_changes) {
                this->give(at, key, each.first, end_of(each), aggregate_.result(std::as_const(each.of)));
            }
        }
        std::erase_if(of_key.all, [&](const session& s) { return later(end_of(s), this->kept()) <= watermark; });
    }
    void schedule(const Key& key, sessions& of_key) {
        for (const session& each : of_key.all) schedule_.add(of_key.scheduled, due_of(each), key);
    }
    void give_early(place& at) {
        for (auto& [key, of_key] : of_) {
            for (session& each : of_key.all) {
                if (!std::exchange(each.has_changed, false) || each.is_given) continue;
                this->give(at, key, each.first, end_of(each), aggregate_.result(std::as_const(each.of)));
            }
        }
    }

    event_time::duration gap_;
    [[no_unique_address]] Aggregate aggregate_;
    keyed_table<Key, sessions> of_;
    key_schedule<Key> schedule_;
};

}  // namespace coflux::stream::detail
