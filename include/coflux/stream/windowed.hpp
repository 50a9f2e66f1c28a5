// windowed: the result of a window, when it is given, and what happens to records that are late for it.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include <coflux/stream/detail/window_grid.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream {

/// The result of a window for a key. Its event time, for the stages behind, is the last one within the window.
///
/// Units: `begin` is in the window, `end` is not. Both saturate at the ends of time.
template <typename Key, typename R>
struct windowed {
    Key key;
    event_time begin = no_time;
    event_time end = no_time;
    R value;

    friend bool operator==(const windowed&, const windowed&) = default;
    template <typename A>
    void fields(A& all) {
        all(key, begin, end, value);
    }
};

/// A value that was late for all its windows.
template <typename T>
struct late_record {
    T value;
    event_time time = no_time;

    friend bool operator==(const late_record&, const late_record&) = default;
    template <typename A>
    void fields(A& all) {
        all(value, time);
    }
};

/// `.emit`: a window gives one result, when the watermark passes its end; the default.
struct emit_final {};
/// `.emit`: a window gives its result so far with each value.
struct emit_changes {};
/// `.emit`: a window gives its result so far when the watermark passes a multiple of `every`, if it has changed; and
/// the final one at its end.
struct emit_early {
    event_time::duration every{0};
};

/// `.late`: a value that is late for all its windows is counted in job_report::late, and dropped; the default.
struct drop_late {};
/// `.late`: it is an output, a late_record<T>: outputs are std::variant<windowed<Key, R>, late_record<T>>. A
/// `split(results, late)` takes each to a sink of its own.
struct late_records {};
/// `.late`: windows are kept for `within` of event time behind their end. A value that comes then gives the new result
/// of each such window, at once. One that comes later is counted and dropped.
struct accept_late {
    event_time::duration within{0};
};

/// `window(tumbling(1min), count(), window_options{.emit = emit_early{10s}, .late = accept_late{5min}})`.
template <typename Emit = emit_final, typename Late = drop_late>
struct window_options {
    Emit emit{};
    Late late{};
};

namespace detail {

template <typename In, typename Key, typename R, typename Late>
using window_output = std::conditional_t<std::is_same_v<Late, late_records>,
                                         std::variant<windowed<Key, R>, late_record<In>>, windowed<Key, R>>;

/// The common part of all windows: their results, and late values.
template <typename In, typename Key, typename R, typename Options, typename Next>
class window_operator : public watermark_operator<Next> {
    using emit_policy = decltype(Options::emit);
    using late_policy = decltype(Options::late);
    using output = window_output<In, Key, R, late_policy>;

public:
    static constexpr bool has_state = true;

protected:
    static constexpr bool gives_changes = std::is_same_v<emit_policy, emit_changes>;
    static constexpr bool gives_early = std::is_same_v<emit_policy, emit_early>;
    static constexpr bool accepts_late = std::is_same_v<late_policy, accept_late>;

    window_operator(const Options& options, Next next) : watermark_operator<Next>(std::move(next)), options_(options) {}

    /// How long a window is kept behind its end.
    [[nodiscard]] event_time::duration kept() const noexcept {
        if constexpr (accepts_late) return options_.late.within;
        return event_time::duration(0);
    }
    /// Up to where the operator has given its windows. It goes with the state: after a restart the engine begins anew.
    /// One that has no windows takes the watermark of its worker: it is new, or has been moved. Windows that it has
    /// are given first.
    [[nodiscard]] event_time reached(const place& at, bool has_windows) noexcept {
        if (!has_windows && at.watermark > reached_) reach(at.watermark);
        return reached_;
    }
    // The end of time is not kept: a source that has grown is read on, and its records are not late.
    void reach(event_time watermark) noexcept {
        if (watermark != end_of_time) reached_ = watermark;
    }
    /// Whether the watermark, which was `reached`, passes a multiple of the early ones.
    [[nodiscard]] bool is_early_due(event_time watermark) const noexcept {
        if constexpr (gives_early) return watermark >= next_early() && watermark != end_of_time;
        return false;
    }
    [[nodiscard]] event_time next_early() const noexcept {
        const wide_time every = options_.emit.every.count();
        return saturated((floor_div(wide(reached_), every) + 1) * every);
    }

    /// Passes a result on, as one of its window, and lets `at` be as it was.
    void give(place& at, const Key& key, event_time begin, event_time end, R&& result) {
        pass(at, key, earlier(end, event_time::duration(1)),
             output(windowed<Key, R>{key, begin, end, std::move(result)}));
    }
    template <typename Value>
    void give_late(place& at, Value& value) {
        if constexpr (std::is_same_v<late_policy, late_records>) {
            at.touched = true;
            pass(at, *static_cast<const Key*>(at.key), at.time, output(late_record<In>{std::move(value), at.time}));
        } else {
            // [stream.late.counted]
            at.count_late();
        }
    }
    void pass(place& at, const Key& key, event_time time, output&& out) {
        const event_time time_before = std::exchange(at.time, time);
        const void* const key_before = std::exchange(at.key, &key);
        at.touched = true;
        this->next().process(at, out);
        at.time = time_before;
        at.key = key_before;
    }

    [[no_unique_address]] Options options_;
    event_time reached_ = no_time;
};

/// A state, and whether it has changed since it was given early.
template <typename State, bool Noted>
struct window_cell {
    State state{};

    void note() noexcept {}
    template <typename A>
    void fields(A& all) {
        all(state);
    }
};
template <typename State>
struct window_cell<State, true> {
    State state{};
    bool has_changed = false;

    void note() noexcept { has_changed = true; }
    template <typename A>
    void fields(A& all) {
        all(state, has_changed);
    }
};

}  // namespace detail

}  // namespace coflux::stream
