// stage: what a flow does with each record, and how stages become one function.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <coflux/stream/detail/observed.hpp>
#include <coflux/stream/detail/outside_state.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::stream {

/// The place of the value that a stage is given, and where its region's outputs go.
struct place {
    /// The event time of the value: that of its record, or of the window that it is the result of.
    event_time time = no_time;
    /// The position behind the record, in its partition.
    std::int64_t next = 0;
    std::uint32_t partition = 0;
    std::uint32_t slot = 0;
    /// No value before it will come; one that comes is late.
    event_time watermark = no_time;
    /// A state has been changed: what fails from here on cannot be tried again. An operator with a state sets it before
    /// it passes an output on.
    bool touched = false;
    /// The key that the region's partitioner gives.
    const void* key = nullptr;
    /// Where the outputs of the region go, where times are noted, and what was read: the engine's.
    void* outlet = nullptr;
    void* times = nullptr;
    const std::shared_ptr<const original>* read = nullptr;
    /// Counts values that are late, and dropped; the engine's.
    detail::late_counts* late = nullptr;

    void count_late() const noexcept {
        if (late != nullptr) late->count(partition);
    }
};

/// A stage, as a flow has it: a prototype, from which each slot of a region gets an operator of its own.
///
/// Shapes: for values of `In` in a region with keys of `Key`
/// * `typename S::template output<In, Key>` is the type of its outputs;
/// * `s.template bind<In, Key>(next)` gives its operator, which passes outputs to the operator `next`.
/// An operator `op` is movable, derives from stage_operator<Next>, and has
/// * `op.process(place&, In&)`: what it does with a value. It calls `next().process(place, output)` 0 to n times,
/// before   it returns; `next` may move the output out. Where it throws, its state is as it was.
/// * `op.advance(place&, event_time watermark)`: no value before `watermark` will come; passes it on, last.
/// * `op.save(state_writer&)`, `op.load(state_reader&)`: its state; passes the call on.
/// The base has the last three for a stage without state.
/// A stage may have a member `template <typename In, typename Key> struct check`: `static constexpr bool ok` says
/// whether it takes values of `In`, and the static_assert in `static void say()` why it does not. A flow asks before
/// all else.
template <typename S>
concept stage = std::move_constructible<S> && requires { typename S::stage_type; };

namespace detail {

template <typename S, typename In, typename Key>
[[nodiscard]] consteval bool takes_values() {
    if constexpr (requires { S::template check<In, Key>::ok; }) return S::template check<In, Key>::ok;
    return true;
}

/// Stands for the `emit` of a stage's function where it is only asked whether it can be called.
template <typename U>
struct any_emit {
    void operator()(U) const {}
};

/// An operator of a stage without state passes on what is not for it.
template <typename Next>
class stage_operator {
public:
    explicit stage_operator(Next next) : next_(std::move(next)) {}
    static constexpr bool has_state = Next::has_state;
    /// A state is in a table outside of memory: the engine calls want() for each record of a batch, before the first
    /// is processed, and want_due() before advance(), again and again until that asks for nothing.
    static constexpr bool reads_ahead = Next::reads_ahead;

    void want(wanted_states& all, const void* key) { next_.want(all, key); }
    void want_due(wanted_states& all, event_time watermark) { next_.want_due(all, watermark); }
    void advance(place& at, event_time watermark) { next_.advance(at, watermark); }
    void save(state_writer& out) const { next_.save(out); }
    void load(state_reader& in) { next_.load(in); }

protected:
    [[nodiscard]] Next& next() noexcept { return next_; }
    [[nodiscard]] const Next& next() const noexcept { return next_; }

private:
    [[no_unique_address]] Next next_;
};

/// An operator that gives outputs of many keys when the watermark moves.
template <typename Next>
class watermark_operator : public stage_operator<Next> {
    static_assert(
        !Next::reads_ahead,
        "coflux: a fold() in a table is behind a window() or a timed_fold(), which gives outputs of many keys "
        "at a watermark: put by_key(f) between them, so that their states are read before");

public:
    using stage_operator<Next>::stage_operator;
};

}  // namespace detail

}  // namespace coflux::stream
