// timed_fold: a stage with a state and a timer for each key.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/stream/detail/key_schedule.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/window_grid.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream {

/// The timer of a key, as a function of a timed_fold() sees it.
///
/// Where that function throws, the timer is as it was.
class key_timer {
public:
    key_timer(event_time now, std::optional<event_time> when) noexcept : now_(now), when_(when) {}

    /// The time of the value, or for which the timer was set that fires.
    [[nodiscard]] event_time now() const noexcept { return now_; }

    /// It fires once the watermark is at `when`; in place of the time that was set before. A time that the watermark
    /// has reached fires when it moves next.
    void set(event_time when) noexcept {
        when_ = when;
        forgets_ = false;
    }
    /// It does not fire.
    void cancel() noexcept { when_.reset(); }
    /// It does not fire, and the state of the key goes when the function returns.
    void forget() noexcept {
        when_.reset();
        forgets_ = true;
    }
    /// When it is to fire.
    [[nodiscard]] std::optional<event_time> when() const noexcept { return when_; }
    [[nodiscard]] bool forgets() const noexcept { return forgets_; }

private:
    event_time now_;
    std::optional<event_time> when_;
    bool forgets_ = false;
};

namespace detail {

template <typename State, typename U, typename OnValue, typename OnTimer, typename Key, typename Next>
class timed_fold_operator : public watermark_operator<Next> {
    struct timed {
        State of{};
        std::optional<event_time> when{};
        event_time scheduled = end_of_time;

        template <typename A>
        void fields(A& all) {
            all(of, when);
        }
    };

public:
    timed_fold_operator(OnValue on_value, OnTimer on_timer, Next next)
        : watermark_operator<Next>(std::move(next)),
          on_value_(std::move(on_value)),
          on_timer_(std::move(on_timer)) {}
    static constexpr bool has_state = true;

    template <typename In>
    void process(place& at, In& value) {
        const Key& key = *static_cast<const Key*>(at.key);
        reached_ = std::max(reached_, at.watermark == end_of_time ? no_time : at.watermark);
        const auto emit = [&](U output) {
            at.touched = true;
            this->next().process(at, output);
        };
        std::optional<key_timer> timer;
        timed& state = of_.add_to(key, [&](timed& s) {
            timer.emplace(at.time, s.when);
            std::invoke(on_value_, s.of, std::as_const(value), *timer, emit);
        });
        at.touched = true;
        keep(key, state, *timer);
    }

    void advance(place& at, event_time watermark) {
        if (watermark > reached_) {
            if (watermark == end_of_time) {
                fire_all(at);
            } else {
                reached_ = watermark;  // before: what is set by a timer fires with a later watermark
                schedule_.each_due(watermark, [&](const Key& key, event_time time) { look(at, key, time, watermark); });
            }
        }
        this->next().advance(at, watermark);
    }

    void save(state_writer& out) const {
        of_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        of_.load(in);
        schedule_.clear();
        for (auto& [key, state] : of_) schedule(key, state);
        this->next().load(in);
    }

private:
    void keep(const Key& key, timed& state, const key_timer& timer) {
        if (timer.forgets()) {
            of_.erase(key);
            return;
        }
        state.when = timer.when();
        schedule(key, state);
    }
    void schedule(const Key& key, timed& state) {
        if (state.when)
            schedule_.add(state.scheduled, std::max(*state.when, later(reached_, event_time::duration(1))), key);
    }
    // An entry of the schedule is due, which may be out of date.
    void look(place& at, const Key& key, event_time time, event_time watermark) {
        timed* const state = of_.find(key);
        if (state == nullptr || state->scheduled != time) return;
        state->scheduled = end_of_time;
        if (state->when && *state->when <= watermark) {
            fire(at, key, *state);
        } else {
            schedule(key, *state);
        }
    }
    void fire(place& at, const Key& key, timed& state) {
        const event_time when = *std::exchange(state.when, std::nullopt);
        const event_time time_before = std::exchange(at.time, when);
        const void* const key_before = std::exchange(at.key, &key);
        at.touched = true;
        const auto emit = [&](U output) { this->next().process(at, output); };
        key_timer timer(when, std::nullopt);
        std::invoke(on_timer_, state.of, timer, emit);
        keep(key, state, timer);
        at.time = time_before;
        at.key = key_before;
    }
    // The end of the source: each timer fires that is set. One that is set by then stays.
    void fire_all(place& at) {
        std::vector<std::pair<event_time, Key>> due;
        for (const auto& [key, state] : of_) {
            if (state.when) due.emplace_back(*state.when, key);
        }
        std::ranges::sort(due, {}, &std::pair<event_time, Key>::first);
        for (const auto& [when, key] : due) {
            timed* const state = of_.find(key);
            if (state != nullptr && state->when == when) fire(at, key, *state);
        }
    }

    [[no_unique_address]] OnValue on_value_;
    [[no_unique_address]] OnTimer on_timer_;
    keyed_table<Key, timed> of_;
    key_schedule<Key> schedule_;
    event_time reached_ = no_time;
};

}  // namespace detail

/// `timed_fold<State, U>(on_value, on_timer)`: a fold() whose keys have a timer each.
///
/// Shapes: `on_value(state, value, timer, emit)` and `on_timer(state, timer, emit)` change the state of a key, set or
/// cancel its `key_timer`, and emit 0 to n outputs `U`. Outputs of `on_timer` have the time for which the timer was
/// set. `State` is as that of a fold().
/// Returns: a stage. A timer fires once, in the order of times, when the watermark reaches it, with the state as it is
/// then. At the end of the source all timers fire that are set.
/// Errors: `on_value` that throws must have left the state as it was: the record is tried again, or given up. Where
/// `on_timer` throws, the job fails.
/// Costs: a look into a hash table for a value, and two heap operations for a timer that fires. One that is set later
/// again and again costs no more than one look each time that it would have fired. Timers are a part of checkpoints.
template <typename State, typename U, typename OnValue, typename OnTimer>
struct timed_fold_stage {
    using stage_type = timed_fold_stage;
    OnValue on_value;
    OnTimer on_timer;

    template <typename In, typename Key>
    using output = U;
    template <typename In, typename Key>
    struct check {
        using emit = const detail::any_emit<U>&;
        static constexpr bool takes = std::is_invocable_v<OnValue&, State&, const In&, key_timer&, emit> &&
                                      std::is_invocable_v<OnTimer&, State&, key_timer&, emit>;
        static constexpr bool ok = takes && storable<State>;
        static void say() {
            static_assert(
                takes,
                "coflux: the functions of timed_fold<State, U>() are on_value(State&, const T&, key_timer&, const "
                "auto& emit) for the flow's values T, and on_timer(State&, key_timer&, const auto& emit)");
            static_assert(storable<State>,
                          "coflux: the state of a timed_fold() is stored in checkpoints: give it a member template "
                          "<typename A> void fields(A& all) { all(a, b); }, or specialise stream::codec");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::timed_fold_operator<State, U, OnValue, OnTimer, Key, Next>(on_value, on_timer, std::move(next));
    }
};
template <typename State, typename U, typename OnValue, typename OnTimer>
[[nodiscard]] timed_fold_stage<State, U, OnValue, OnTimer> timed_fold(OnValue on_value, OnTimer on_timer) {
    return {std::move(on_value), std::move(on_timer)};
}
/// Timers have no table: this says so.
template <typename State, typename U, typename OnValue, typename OnTimer, typename Place>
    requires requires(const Place& in) { in.template make<int, State>(); }
[[nodiscard]] timed_fold_stage<State, U, OnValue, OnTimer> timed_fold(OnValue on_value, OnTimer on_timer, Place) {
    static_assert(
        !std::is_same_v<Place, Place>,
        "coflux: a timed_fold() has no table of a database: its timers ask for keys by time, so its states are "
        "in memory; fold(f, table) keeps states there");
    return {std::move(on_value), std::move(on_timer)};
}

}  // namespace coflux::stream
