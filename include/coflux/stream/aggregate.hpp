// aggregate: count, sum, min, max, mean, collect, top: how many values become one result.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream {

namespace detail {

template <typename A, typename T>
struct state_of_aggregate;
template <typename A, typename T>
    requires requires { typename A::state; }
struct state_of_aggregate<A, T> {
    using type = typename A::state;
};
template <typename A, typename T>
    requires requires { typename A::template state_of<T>; }
struct state_of_aggregate<A, T> {
    using type = typename A::template state_of<T>;
};

}  // namespace detail

/// The state of an aggregate of values of `T`.
template <typename A, typename T>
using aggregate_state = typename detail::state_of_aggregate<A, T>::type;

/// How values of `T` become a result.
///
/// Shapes: a member type `state`, or `template <typename T> state_of` where it depends on the values: what is kept of
/// them. A new one has no value in it.
/// Laws: `a.add(state, value)` takes one value in; where it throws, the state is as it was. `a.merge(state, later)`
/// takes in what came later; it is associative. `a.result(state)` is asked only where a value has come; it may move out
/// of a state that is given as an rvalue.
template <typename A, typename T>
concept aggregate =
    std::movable<A> && std::copy_constructible<A> && std::default_initializable<aggregate_state<A, T>> &&
    std::copyable<aggregate_state<A, T>> &&
    requires(const A& a, aggregate_state<A, T>& state, const aggregate_state<A, T>& other, const T& value) {
        a.add(state, value);
        a.merge(state, other);
        a.result(other);
    };

namespace detail {
template <typename A, typename T>
struct result_of_aggregate {
    using state = aggregate_state<A, T>;
    using type = std::remove_cvref_t<decltype(std::declval<const A&>().result(std::declval<state>()))>;
};
}  // namespace detail

/// The type of an aggregate's results.
template <typename A, typename T>
using aggregate_result = typename detail::result_of_aggregate<A, T>::type;

/// A result, and its key.
template <typename Key, typename R>
struct keyed {
    Key key;
    R value;

    friend bool operator==(const keyed&, const keyed&) = default;
    template <typename A>
    void fields(A& all) {
        all(key, value);
    }
};

namespace detail {

template <typename Aggregate, typename In, typename Key, typename Next>
class running_operator : public stage_operator<Next> {
    using state = aggregate_state<Aggregate, In>;

public:
    running_operator(Aggregate a, Next next) : stage_operator<Next>(std::move(next)), aggregate_(std::move(a)) {}
    static constexpr bool has_state = true;

    template <typename Value>
    void process(place& at, Value& value) {
        const Key& key = *static_cast<const Key*>(at.key);
        state& kept = states_.add_to(key, [&](state& into) { aggregate_.add(into, std::as_const(value)); });
        at.touched = true;
        keyed<Key, aggregate_result<Aggregate, In>> output{key, aggregate_.result(std::as_const(kept))};
        this->next().process(at, output);
    }
    void save(state_writer& out) const {
        states_.save(out);
        this->next().save(out);
    }
    void load(state_reader& in) {
        states_.load(in);
        this->next().load(in);
    }

private:
    [[no_unique_address]] Aggregate aggregate_;
    keyed_table<Key, state> states_;
};

template <typename Aggregate, typename In>
[[nodiscard]] consteval bool has_storable_state() {
    if constexpr (aggregate<Aggregate, In>) return storable<aggregate_state<Aggregate, In>>;
    return true;
}
template <typename Aggregate, typename In>
struct check_aggregate {

    static constexpr bool ok = aggregate<Aggregate, In> && has_storable_state<Aggregate, In>();
    static void say() {
        static_assert(
            aggregate<Aggregate, In>,
            "coflux: an aggregate of these values has a type `state` that can be copied, add(state&, const T&), "
            "merge(state&, const state&) and result(const state&), all const: see stream::aggregate");
        static_assert(
            has_storable_state<Aggregate, In>(),
            "coflux: the state of an aggregate is stored in checkpoints: give it a member template <typename A> "
            "void fields(A& all) { all(a, b); }, or specialise stream::codec");
    }
};

/// Makes an aggregate a stage of its own: the result so far, with each value.
template <typename Self>
struct aggregate_stage {
    using stage_type = aggregate_stage;

    template <typename In, typename Key>
    using output = keyed<Key, aggregate_result<Self, In>>;
    template <typename In, typename Key>
    using check = check_aggregate<Self, In>;
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return running_operator<Self, In, Key, Next>(static_cast<const Self&>(*this), std::move(next));
    }
};

template <typename F, typename T>
using value_of = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;

// Whole numbers are added in 64 bits, and wrap; others in their own type.
template <typename T>
struct wide_sum {
    using type = T;
};
template <std::signed_integral T>
struct wide_sum<T> {
    using type = std::int64_t;
};
template <std::unsigned_integral T>
struct wide_sum<T> {
    using type = std::uint64_t;
};
template <typename T>
using sum_of = typename wide_sum<T>::type;

template <typename T, typename V>
void add_wrapping(T& sum, V&& value) {
    if constexpr (std::is_integral_v<T>) {
        sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
    } else {
        sum = sum + std::forward<V>(value);
    }
}

template <typename F, typename Wins>
struct extreme : aggregate_stage<extreme<F, Wins>> {
    [[no_unique_address]] F of;

    template <typename T>
    using state_of = std::optional<value_of<F, T>>;

    explicit extreme(F f) : of(std::move(f)) {}
    template <typename V, typename T>
    void add(std::optional<V>& s, const T& value) const {
        take(s, std::invoke(of, value));
    }
    template <typename V>
    void merge(std::optional<V>& s, const std::optional<V>& later) const {
        if (later) take(s, *later);
    }
    template <typename V>
    [[nodiscard]] V result(const std::optional<V>& s) const {
        return *s;
    }

private:
    template <typename V, typename Given>
    static void take(std::optional<V>& s, Given&& given) {
        if (!s || Wins()(given, *s)) s = std::forward<Given>(given);
    }
};

}  // namespace detail

/// How many values.
struct count : detail::aggregate_stage<count> {
    using state = std::uint64_t;

    template <typename T>
    void add(state& s, const T&) const noexcept {
        ++s;
    }
    void merge(state& s, state later) const noexcept { s += later; }
    [[nodiscard]] std::uint64_t result(state s) const noexcept { return s; }
};

/// `sum(f)`: the sum of `f(value)`.
///
/// Shapes: a function, or a pointer to a member, that gives a number, or a type of your own with `+`.
/// Units: whole numbers are added in 64 bits, and wrap there.
template <typename F>
struct sum : detail::aggregate_stage<sum<F>> {
    [[no_unique_address]] F of;
    explicit sum(F f) : of(std::move(f)) {}

    template <typename T>
    using state_of = detail::sum_of<detail::value_of<F, T>>;

    template <typename S, typename T>
    void add(S& s, const T& value) const {
        detail::add_wrapping(s, std::invoke(of, value));
    }
    template <typename S>
    void merge(S& s, const S& later) const {
        detail::add_wrapping(s, later);
    }
    template <typename S>
    [[nodiscard]] S result(const S& s) const {
        return s;
    }
};

/// `min(f)`: the least `f(value)`.
template <typename F>
struct min : detail::extreme<F, std::less<>> {
    explicit min(F f) : detail::extreme<F, std::less<>>(std::move(f)) {}
};
/// `max(f)`: the greatest `f(value)`.
template <typename F>
struct max : detail::extreme<F, std::greater<>> {
    explicit max(F f) : detail::extreme<F, std::greater<>>(std::move(f)) {}
};

/// The state of mean().
template <typename Sum>
struct mean_state {
    Sum sum{};
    std::uint64_t count = 0;

    template <typename A>
    void fields(A& all) {
        all(sum, count);
    }
};
/// `mean(f)`: the mean of the numbers `f(value)`, a double.
///
/// Units: whole numbers are added in 64 bits, and wrap there.
template <typename F>
struct mean : detail::aggregate_stage<mean<F>> {
    [[no_unique_address]] F of;
    explicit mean(F f) : of(std::move(f)) {}

    template <typename T>
    using state_of = mean_state<detail::sum_of<detail::value_of<F, T>>>;

    template <typename S, typename T>
    void add(S& s, const T& value) const {
        detail::add_wrapping(s.sum, std::invoke(of, value));
        ++s.count;
    }
    template <typename S>
    void merge(S& s, const S& later) const {
        detail::add_wrapping(s.sum, later.sum);
        s.count += later.count;
    }
    template <typename S>
    [[nodiscard]] double result(const S& s) const {
        return static_cast<double>(s.sum) / static_cast<double>(s.count);
    }
};

/// All values: a std::vector, in the order in which they came. A window of panes, as a sliding one, has those of an
/// earlier pane first, and sessions that a value joins come in the order of their times.
///
/// Shapes: values are copyable and storable.
/// Costs: the memory of all of them.
struct collect : detail::aggregate_stage<collect> {
    template <typename T>
    using state_of = std::vector<T>;

    template <typename T>
    void add(std::vector<T>& s, const T& value) const {
        s.push_back(value);
    }
    template <typename T>
    void merge(std::vector<T>& s, const std::vector<T>& later) const {
        s.insert(s.end(), later.begin(), later.end());
    }
    template <typename T>
    [[nodiscard]] std::vector<T> result(std::vector<T> s) const {
        return s;
    }
};

/// `top(k, f)`: the `k` values with the greatest `f(value)`, the greatest first, and all that tie with the last of
/// them: a std::vector. Those that tie are in the order in which collect has them. `top(1, f)` has all values that are
/// the greatest.
///
/// Shapes: values are copyable and storable; `f` gives what can be compared with `<`.
/// Errors: std::invalid_argument where `k` is 0.
/// Costs: O(k) for a value that is among them, else one comparison.
template <typename F>
struct top : detail::aggregate_stage<top<F>> {
    std::size_t k;
    [[no_unique_address]] F of;
    top(std::size_t most, F f) : k(most), of(std::move(f)) {
        if (k == 0) throw std::invalid_argument("coflux: top() of 0 values");
    }

    template <typename T>
    using state_of = std::vector<T>;

    template <typename T>
    void add(std::vector<T>& s, const T& value) const {
        const auto is_behind = [this](const T& a, const T& b) { return std::invoke(of, b) < std::invoke(of, a); };
        if (s.size() >= k && is_behind(s.back(), value)) return;
        s.insert(std::ranges::upper_bound(s, value, is_behind), value);
        if (s.size() > k && is_behind(s[k - 1], s[k])) s.resize(k, value);
    }
    template <typename T>
    void merge(std::vector<T>& s, const std::vector<T>& later) const {
        for (const T& each : later) add(s, each);
    }
    template <typename T>
    [[nodiscard]] std::vector<T> result(std::vector<T> s) const {
        return s;
    }
};

/// `running(a)`: an aggregate of your own as a stage: for each value the result so far, as keyed<Key, R>. The library's
/// own aggregates are stages without it: `by_key(&order::customer) | sum(&order::amount)`.
///
/// Shapes: an `aggregate` of the flow's values.
template <typename A>
struct running {
    using stage_type = running;
    A of;
    explicit running(A a) : of(std::move(a)) {}

    template <typename In, typename Key>
    using output = keyed<Key, aggregate_result<A, In>>;
    template <typename In, typename Key>
    using check = detail::check_aggregate<A, In>;
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        return detail::running_operator<A, In, Key, Next>(of, std::move(next));
    }
};

static_assert(aggregate<count, int>);
static_assert(aggregate<collect, int>);
static_assert(aggregate<sum<std::identity>, int>);
static_assert(aggregate<min<std::identity>, int>);
static_assert(aggregate<mean<std::identity>, double>);
static_assert(aggregate<top<std::identity>, int>);

}  // namespace coflux::stream
