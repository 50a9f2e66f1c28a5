// window: a stage that gives a result for each key and each window of time.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <coflux/stream/aggregate.hpp>
#include <coflux/stream/detail/count_windows.hpp>
#include <coflux/stream/detail/pane_windows.hpp>
#include <coflux/stream/detail/session_windows.hpp>
#include <coflux/stream/detail/table_windows.hpp>
#include <coflux/stream/windowed.hpp>

namespace coflux::stream {

namespace detail {

void check_window(event_time::duration size, event_time::duration slide);
void check_gap(event_time::duration gap);
void check_count(std::uint64_t n);
void check_early(event_time::duration every);
void check_kept(event_time::duration within);

struct pane_spec {
    window_grid grid;

    template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
    [[nodiscard]] auto bind(const Aggregate& a, const Options& options, Next next) const {
        return pane_windows<Aggregate, In, Key, Options, Next>(grid, a, options, std::move(next));
    }
};
struct session_spec {
    event_time::duration gap;

    template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
    [[nodiscard]] auto bind(const Aggregate& a, const Options& options, Next next) const {
        return session_windows<Aggregate, In, Key, Options, Next>(gap, a, options, std::move(next));
    }
};
struct count_spec {
    std::uint64_t size;

    template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
    [[nodiscard]] auto bind(const Aggregate& a, const Options& options, Next next) const {
        return count_windows<Aggregate, In, Key, Options, Next>(size, a, options, std::move(next));
    }
};

// Whose panes are in a table outside of memory.
template <typename Place>
struct pane_spec_in {
    window_grid grid;
    Place in;

    template <typename Aggregate, typename In, typename Key, typename Options, typename Next>
    [[nodiscard]] auto bind(const Aggregate& a, const Options& options, Next next) const {
        using table = decltype(in.template make_panes<Key, aggregate_state<Aggregate, In>>());
        return table_windows<Aggregate, In, Key, Options, table, Next>(
            grid, a, in.template make_panes<Key, aggregate_state<Aggregate, In>>(), options, std::move(next));
    }
};
template <typename Place>
concept table_of_panes = requires(const Place& in) { in.template make_panes<int, int>(); };

template <typename Spec, typename Aggregate, typename Options>
struct window_stage {
    using stage_type = window_stage;
    Spec spec;
    Aggregate of;
    Options options;

    template <typename In, typename Key>
    using output = window_output<In, Key, aggregate_result<Aggregate, In>, decltype(Options::late)>;
    template <typename In, typename Key>
    using check = check_aggregate<Aggregate, In>;
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return spec.template bind<Aggregate, In, Key>(of, options, std::move(next));
    }
};

}  // namespace detail

/// Windows of `size`, one behind the other, from the epoch on both sides: [0, size), [size, 2 * size), …
///
/// Errors: std::invalid_argument where it is not positive.
[[nodiscard]] inline detail::pane_spec tumbling(event_time::duration size) {
    detail::check_window(size, size);
    return {detail::window_grid(size, size)};
}
/// Windows of `size`, of which one begins each `slide`.
///
/// Errors: std::invalid_argument where not 0 < slide <= size.
/// Costs: as tumbling ones of the greatest common divisor of both, and for each window and each of its keys one merge
/// and the result, however many windows lie over each other. With emit_changes each value gives all its windows.
[[nodiscard]] inline detail::pane_spec sliding(event_time::duration size, event_time::duration slide) {
    detail::check_window(size, slide);
    return {detail::window_grid(size, slide)};
}
/// A window for each time of activity of a key: values that are less than `gap` apart. It ends `gap` behind its last
/// one.
///
/// Errors: std::invalid_argument where it is not positive.
[[nodiscard]] inline detail::session_spec session(event_time::duration gap) {
    detail::check_gap(gap);
    return {gap};
}
/// A window for each `n` values of a key, in the order in which they come. `begin` and `end` are those of its values'
/// times. At the end of the source the values that are left are given as a smaller one.
///
/// Errors: std::invalid_argument where it is 0.
[[nodiscard]] inline detail::count_spec by_count(std::uint64_t n) {
    detail::check_count(n);
    return {n};
}
/// One window, which is given at the end of the source: for sources that have an end.
[[nodiscard]] inline detail::count_spec all_time() noexcept {
    return {UINT64_MAX};
}

/// `by_key(&order::customer) | window(tumbling(1min), sum(&order::amount))`: windowed<Key, R> for each key and window.
///
/// Shapes: windows, and an `aggregate` of the flow's values. It comes behind by_key(), by_partition() or to_one().
/// Returns: a stage. A window's result comes when the watermark passes its end, or as `options` say; those of a key in
/// the order of their ends. Which results have a late value is not more than the options promise.
/// Errors: a record without a time fails: give the flow event_times(). corrupt_state for the state of other windows.
/// Costs: a look into a hash table for a value. State: one aggregate for each key and pane, until its last window is
/// gone.
template <typename Spec, typename Aggregate, typename Emit = emit_final, typename Late = drop_late>
[[nodiscard]] auto window(Spec windows, Aggregate a, window_options<Emit, Late> options = {}) {
    if constexpr (std::is_same_v<Emit, emit_early>) detail::check_early(options.emit.every);
    if constexpr (std::is_same_v<Late, accept_late>) detail::check_kept(options.late.within);
    return detail::window_stage<Spec, Aggregate, window_options<Emit, Late>>{std::move(windows), std::move(a),
                                                                             std::move(options)};
}
/// `window(tumbling(1min), sum(&order::amount), table)`: its aggregates are in a table, as that of a rocksdb::database,
/// because they do not fit into memory. The table belongs to the job's store. Keys are storable, too.
///
/// Shapes: tumbling() or sliding() windows, which give their results at their ends. At the end of a window the results
/// of a slot are in memory, one slot after the other.
/// Costs: those of a fold() in a table for a value, and at the end of a window a read of all its panes: a sliding one
/// costs its overlap then.
template <typename Aggregate, detail::table_of_panes Place, typename Emit = emit_final, typename Late = drop_late>
[[nodiscard]] auto window(detail::pane_spec windows, Aggregate a, Place in, window_options<Emit, Late> options = {}) {
    return window(detail::pane_spec_in<Place>{windows.grid, std::move(in)}, std::move(a), std::move(options));
}
/// Sessions and windows by count have no table: this says so.
template <typename Spec, typename Aggregate, detail::table_of_panes Place, typename Emit = emit_final,
          typename Late = drop_late>
    requires(!std::is_same_v<Spec, detail::pane_spec>)
[[nodiscard]] auto window(Spec windows, Aggregate a, Place, window_options<Emit, Late> options = {}) {
    static_assert(
        !detail::table_of_panes<Place>,
        "coflux: a window() in a table of a database is tumbling() or sliding(): sessions and windows by count "
        "ask for keys in another order than that of the table, so their states are in memory");
    return window(std::move(windows), std::move(a), std::move(options));
}

}  // namespace coflux::stream
