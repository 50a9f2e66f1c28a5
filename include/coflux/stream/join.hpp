// join, join_table: pairs of values of two kinds with the same key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/stream/detail/held_values.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/pane_windows.hpp>
#include <coflux/stream/detail/window_grid.hpp>
#include <coflux/stream/stage.hpp>
#include <coflux/stream/window.hpp>

namespace coflux::stream {

/// A join has as many values as its join_limits allow.
class state_full : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// How many values a join keeps, at most.
///
/// Units: `by_key`: values of one key; `by_slot`: of all keys of a slot, of which a job has job::slots;
/// `bytes_by_slot`: bytes of the values of a slot, as a checkpoint has them, without keys and times.
/// Costs: a limit of bytes writes each value as for a checkpoint, where it comes and where it goes.
struct join_limits {
    std::size_t by_key = SIZE_MAX;
    std::size_t by_slot = SIZE_MAX;
    std::size_t bytes_by_slot = SIZE_MAX;
    /// A key that is full gives up its oldest value of that side, which is counted in job_report::late. Otherwise, and
    /// where the slot is full, the record fails with state_full.
    bool evicts = false;
};

/// `within(lower, upper)`: a left value at `t` meets the right ones in [t + lower, t + upper].
struct within {
    event_time::duration lower;
    event_time::duration upper;
    /// Errors: std::invalid_argument where `lower` is greater than `upper`.
    within(event_time::duration from, event_time::duration to) : lower(from), upper(to) {
        if (lower > upper) throw std::invalid_argument("coflux: within(lower, upper) has no time between its bounds");
    }
};

namespace detail {

/// The times of the partners of a value; both bounds belong to it. Wide, because a bound beyond all times has no
/// partner at the last one.
struct partner_times {
    wide_time first;
    wide_time last;
};

struct within_partners {
    within bounds;
    [[nodiscard]] partner_times of(std::size_t side, event_time t) const noexcept {
        const wide_time lower = bounds.lower.count();
        const wide_time upper = bounds.upper.count();
        return side == 0 ? partner_times{wide(t) + lower, wide(t) + upper}
                         : partner_times{wide(t) - upper, wide(t) - lower};
    }
};
struct tumbling_partners {
    window_grid grid;
    [[nodiscard]] partner_times of(std::size_t, event_time t) const noexcept {
        const wide_time window = grid.pane_of(t);
        return {window * grid.pane(), (window + 1) * grid.pane() - 1};
    }
};

template <typename V>
inline constexpr bool is_two_of = false;
template <typename L, typename R>
inline constexpr bool is_two_of<std::variant<L, R>> = true;

template <typename V>
struct two_of {
    using left = V;
    using right = V;
};
template <typename L, typename R>
struct two_of<std::variant<L, R>> {
    using left = L;
    using right = R;
};
template <typename In>
struct check_two {
    static constexpr bool ok = is_two_of<In>;
    static void say() {
        static_assert(ok, "coflux: a join takes a std::variant of its left and its right values: merge(a, b) gives it");
    }
};

[[noreturn]] void refuse_more(const char* limit, std::size_t most, const char* of = "values");

/// A key's values of both sides. Those that can meet no more go when the key gets a value of the other side, when their
/// memory is full, or when the hand of the clock comes to the key and they are most of a side: a new key moves the hand
/// by two keys, and a watermark by one. So nothing is noted for a value.
template <typename In, typename Key, typename Partners, typename F, typename Next>
class join_operator : public stage_operator<Next> {
    using left = std::variant_alternative_t<0, In>;
    using right = std::variant_alternative_t<1, In>;
    struct sides {
        held_values<left> lefts{};
        held_values<right> rights{};

        template <std::size_t Side>
        auto& side() noexcept {
            if constexpr (Side == 0) {
                return lefts;
            } else {
                return rights;
            }
        }
        [[nodiscard]] std::size_t size() const noexcept { return lefts.size() + rights.size(); }
        template <typename A>
        void fields(A& all) {
            all(lefts, rights);
        }
    };

public:
    static constexpr bool has_state = true;

    join_operator(Partners partners, F f, const join_limits& limits, Next next)
        : stage_operator<Next>(std::move(next)),
          partners_(std::move(partners)),
          f_(std::move(f)),
          limits_(limits) {}

    template <typename Value>
    void process(place& at, Value& value) {
        if (at.time == no_time) refuse_timeless();
        if (of_.is_empty() && at.watermark > reached_ && at.watermark != end_of_time) reached_ = at.watermark;
        if (at.time < reached_) {
            at.count_late();
        } else if (value.index() == 0) {
            meet<0>(at, std::get<0>(value));
        } else {
            meet<1>(at, std::get<1>(value));
        }
    }

    void advance(place& at, event_time watermark) {
        if (watermark == end_of_time) {
            of_.clear();
            hand_ = 0;
            kept_ = 0;
            bytes_ = 0;
        } else if (watermark > reached_) {
            reached_ = watermark;
            look_at(std::min(2 * std::exchange(new_, 0) + 1, of_.size()));
        }
        at.watermark = std::max(at.watermark, reached_);
        this->next().advance(at, watermark);
    }

    void save(state_writer& out) const {
        out(reached_);
        of_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        in(reached_);
        of_.load(in);
        hand_ = 0;
        kept_ = 0;
        bytes_ = 0;
        for (const auto& [key, of_key] : of_) {
            kept_ += of_key.size();
            bytes_ += bytes_of(of_key.lefts.begin(), of_key.lefts.end());
            bytes_ += bytes_of(of_key.rights.begin(), of_key.rights.end());
        }
        this->next().load(in);
    }

private:
    // Its last partner does not come any more.
    [[nodiscard]] bool is_gone(std::size_t side, event_time t) const noexcept {
        return partners_.of(side, t).last < wide(reached_);
    }

    template <std::size_t Side, typename Value>
    void meet(place& at, Value& value) {
        const Key& key = *static_cast<const Key*>(at.key);
        if (kept_ >= limits_.by_slot) [[unlikely]]
            look_at_all();
        sides* of_key = of_.find(key);
        if (of_key != nullptr) {
            auto& others = of_key->template side<1 - Side>();
            expire<1 - Side>(others);
            give_pairs<Side>(at, value, others);
        }
        if (!is_gone(Side, at.time)) keep<Side>(at, key, of_key, value);
    }

    // Nothing is changed before: where `f` throws, the record can be tried again.
    template <std::size_t Side, typename Value, typename Others>
    void give_pairs(place& at, Value& value, Others& others) {
        const event_time time = at.time;
        const partner_times times = partners_.of(Side, time);
        auto other = others.begin();
        if (other != others.end() && wide(other->time) < times.first)
            other = std::ranges::lower_bound(others, times.first, {}, [](const auto& h) { return wide(h.time); });
        for (; other != others.end() && wide(other->time) <= times.last; ++other) {
            at.time = std::max(time, other->time);
            if constexpr (Side == 0) {
                decltype(auto) output = std::invoke(f_, std::as_const(value), std::as_const(other->value));
                this->next().process(at, output);
            } else {
                decltype(auto) output = std::invoke(f_, std::as_const(other->value), std::as_const(value));
                this->next().process(at, output);
            }
        }
        at.time = time;
    }

    template <std::size_t Side, typename Value>
    void keep(place& at, const Key& key, sides* of_key, Value& value) {
        const std::size_t bytes = bytes_of(value);
        if (bytes_ + bytes > limits_.bytes_by_slot) [[unlikely]]
            look_at_all();
        if (of_key != nullptr && (of_key->template side<Side>().has_no_room() || of_key->size() >= limits_.by_key))
            expire<Side>(of_key->template side<Side>());
        const bool is_full = of_key != nullptr && of_key->size() >= limits_.by_key;
        if (is_full && (!limits_.evicts || of_key->template side<Side>().is_empty()))
            refuse_more("by_key", limits_.by_key);
        if (!is_full && kept_ >= limits_.by_slot) refuse_more("by_slot", limits_.by_slot);
        const std::size_t evicted = is_full ? bytes_of(of_key->template side<Side>().begin()->value) : 0;
        if (bytes_ - evicted + bytes > limits_.bytes_by_slot)
            refuse_more("bytes_by_slot", limits_.bytes_by_slot, "bytes");
        at.touched = true;
        if (of_key == nullptr) {
            of_key = &of_[key];
            ++new_;
        }
        sides& into = *of_key;
        auto& mine = into.template side<Side>();
        if (is_full) {
            mine.drop_front(1);
            --kept_;
            bytes_ -= evicted;
            at.count_late();
        }
        mine.insert(at.time, std::move(value));
        ++kept_;
        bytes_ += bytes;
    }

    template <std::size_t Side, typename Values>
    void expire(Values& values) {
        if (!values.is_empty() && is_gone(Side, values.begin()->time)) {
            auto behind = values.begin() + 1;
            while (behind != values.end() && is_gone(Side, behind->time)) ++behind;
            const auto count = static_cast<std::size_t>(behind - values.begin());
            bytes_ -= bytes_of(values.begin(), behind);
            values.drop_front(count);
            kept_ -= count;
        }
    }
    // 0 where no limit asks for it.
    template <typename Value>
    [[nodiscard]] std::size_t bytes_of(const Value& value) {
        if (limits_.bytes_by_slot == SIZE_MAX) return 0;
        written_.clear();
        state_writer out(written_);
        out(value);
        return written_.size();
    }
    template <typename At>
    [[nodiscard]] std::size_t bytes_of(At first, At last) {
        std::size_t sum = 0;
        if (limits_.bytes_by_slot == SIZE_MAX) return sum;
        for (; first != last; ++first) sum += bytes_of(first->value);
        return sum;
    }
    // Where it is worth it.
    template <std::size_t Side, typename Values>
    void expire_most(Values& values) {
        if (values.is_empty()) return;
        if (is_gone(Side, values.begin()[static_cast<std::ptrdiff_t>(values.size() / 2)].time)) expire<Side>(values);
    }

    // Moves the hand by so many keys. It goes down: what takes the place of a key that is erased was behind it.
    void look_at(std::size_t count) {
        for (; count != 0; --count) {
            if (hand_ == 0) hand_ = of_.size();
            auto& [key, of_key] = of_.begin()[static_cast<std::ptrdiff_t>(--hand_)];
            expire_most<0>(of_key.lefts);
            expire_most<1>(of_key.rights);
            if (of_key.size() == 0) of_.erase(key);
        }
    }
    // Before a limit refuses a value. Not twice, because nothing goes unless the watermark moves.
    void look_at_all() {
        if (std::exchange(looked_, reached_) == reached_) return;
        for (auto& [key, of_key] : of_) {
            expire<0>(of_key.lefts);
            expire<1>(of_key.rights);
        }
    }

    [[no_unique_address]] Partners partners_;
    [[no_unique_address]] F f_;
    join_limits limits_;
    keyed_table<Key, sides> of_;
    std::size_t hand_ = 0;  // the keys from here on were looked at
    std::size_t new_ = 0;   // keys since the watermark moved
    std::size_t kept_ = 0;
    std::size_t bytes_ = 0;
    std::vector<std::byte> written_;  // by bytes_of()
    event_time reached_ = no_time;
    event_time looked_ = no_time;  // the watermark of the last look at all keys
};

template <typename Partners, typename F>
struct join_stage {
    using stage_type = join_stage;
    static constexpr bool pairs_by_key = true;
    Partners partners;
    F f;
    join_limits limits;

    template <typename In, typename Key>
    using output = std::remove_cvref_t<
        std::invoke_result_t<F&, const std::variant_alternative_t<0, In>&, const std::variant_alternative_t<1, In>&>>;
    template <typename In, typename Key>
    struct check : check_two<In> {
        using left = typename two_of<In>::left;
        using right = typename two_of<In>::right;
        static constexpr bool takes = std::is_invocable_v<F&, const left&, const right&>;
        static constexpr bool is_kept = storable<left> && storable<right>;
        static constexpr bool ok = is_two_of<In> && takes && is_kept;
        static void say() {
            check_two<In>::say();
            static_assert(!is_two_of<In> || takes,
                          "coflux: the function of a join() takes a left and a right value, each as const T& or T");
            static_assert(
                !is_two_of<In> || is_kept,
                "coflux: a join keeps values, and stores them in checkpoints: give both types a member template "
                "<typename A> void fields(A& all) { all(a, b); }, or specialise stream::codec");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return join_operator<In, Key, Partners, F, Next>(partners, f, limits, std::move(next));
    }
};

// An optional that is empty takes the row away.
template <typename R>
struct row_of {
    using type = R;
};
template <typename T>
struct row_of<std::optional<T>> {
    using type = T;
};

template <typename In, typename Key, typename F, typename Next>
class table_operator : public stage_operator<Next> {
    using right = std::variant_alternative_t<1, In>;
    using row = typename row_of<right>::type;

public:
    static constexpr bool has_state = true;

    table_operator(F f, Next next) : stage_operator<Next>(std::move(next)), f_(std::move(f)) {}

    template <typename Value>
    void process(place& at, Value& value) {
        const Key& key = *static_cast<const Key*>(at.key);
        if (value.index() == 0) {
            decltype(auto) output =
                std::invoke(f_, std::as_const(std::get<0>(value)), static_cast<const row*>(rows_.find(key)));
            this->next().process(at, output);
            return;
        }
        at.touched = true;
        if constexpr (std::is_same_v<row, right>) {
            rows_[key] = std::move(std::get<1>(value));
        } else if (auto& given = std::get<1>(value)) {
            rows_[key] = std::move(*given);
        } else {
            rows_.erase(key);
        }
    }
    void save(state_writer& out) const {
        rows_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        rows_.load(in);
        this->next().load(in);
    }

private:
    [[no_unique_address]] F f_;
    keyed_table<Key, row> rows_;
};

template <typename F>
struct table_stage {
    using stage_type = table_stage;
    static constexpr bool pairs_by_key = true;
    F f;

    template <typename In>
    using row = typename row_of<std::variant_alternative_t<1, In>>::type;
    template <typename In, typename Key>
    using output =
        std::remove_cvref_t<std::invoke_result_t<F&, const std::variant_alternative_t<0, In>&, const row<In>*>>;
    template <typename In, typename Key>
    struct check : check_two<In> {
        using row = typename row_of<typename two_of<In>::right>::type;
        static constexpr bool takes = std::is_invocable_v<F&, const typename two_of<In>::left&, const row*>;
        static constexpr bool ok = is_two_of<In> && takes && storable<row>;
        static void say() {
            check_two<In>::say();
            static_assert(
                !is_two_of<In> || takes,
                "coflux: the function of join_table() takes a left value as const T& or T, and its row as const "
                "R*, which is nullptr where there is none");
            static_assert(!is_two_of<In> || storable<row>,
                          "coflux: the rows of a join_table() are stored in checkpoints: give them a member template "
                          "<typename A> void fields(A& all) { all(a, b); }, or specialise stream::codec");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return table_operator<In, Key, F, Next>(f, std::move(next));
    }
};

}  // namespace detail

/// `by_key(f) | join(within(-5s, 5s), g)`: `g(left, right)` for each pair of the same key whose times are so apart.
///
/// Shapes: the flow has values of std::variant<L, R>; the key function takes both. `L` and `R` are storable.
/// Returns: a stage. A pair comes with the second of its two, and has the later time of both.
/// Errors: a record without a time fails; state_full as `limits` say.
/// Costs: a search for each value, and a call for each pair. State: a value is kept until the watermark says that no
/// partner can come. One behind the watermark is late: it is counted and dropped.
template <typename F>
[[nodiscard]] auto join(within times, F f, join_limits limits = {}) {
    return detail::join_stage<detail::within_partners, F>{{times}, std::move(f), limits};
}
/// `join(tumbling(10s), g)`: the same for pairs in one window. They come at once, not at its end.
///
/// Errors: std::invalid_argument for a sliding window: a pair would come more than once.
template <typename F>
[[nodiscard]] auto join(detail::pane_spec windows, F f, join_limits limits = {}) {
    if (windows.grid.count() != 1) {
        throw std::invalid_argument("coflux: a join has tumbling windows; use within() for times that are near");
    }
    return detail::join_stage<detail::tumbling_partners, F>{{windows.grid}, std::move(f), limits};
}

/// `by_key(f) | join_table(g)`: right values are the rows of a table by key; `g(left, row)` for each left value, with
/// the row of its key, or nullptr.
///
/// Shapes: the flow has values of std::variant<L, R>. Where `R` is a std::optional, an empty one takes its row away.
/// Returns: a stage. A left value sees the rows that have come before it: by arrival, not by time.
/// Costs: a look into a hash table. State: the last row of each key, without an end.
template <typename F>
[[nodiscard]] detail::table_stage<F> join_table(F f) {
    return {std::move(f)};
}

}  // namespace coflux::stream
