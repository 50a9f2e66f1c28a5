// fold: a stage with a state for each key, in memory or in a table.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream {

/// Whether a key keeps its state behind a value: the function of a fold() may return it.
enum class key_state : bool {
    keep,
    forget,  ///< it goes; the next value of the key has a new one
};

namespace detail {

struct in_memory {
    template <typename Key, typename State>
    [[nodiscard]] keyed_table<Key, State> make() const {
        return {};
    }
};

/// `Table`: a keyed_table, or what has its add_to(), erase(), save() and load(), and is asked by want() before.
template <typename State, typename U, typename F, typename Key, typename Table, typename Next>
class fold_operator : public stage_operator<Next> {
public:
    fold_operator(F f, Table states, Next next)
        : stage_operator<Next>(std::move(next)),
          f_(std::move(f)),
          states_(std::move(states)) {}
    static constexpr bool has_state = true;
    static constexpr bool reads_ahead = Table::reads_ahead || Next::reads_ahead;

    void want(wanted_states& all, const void* key) {
        if constexpr (Table::reads_ahead) states_.want(all, *static_cast<const Key*>(key));
        this->next().want(all, key);
    }

    template <typename In>
    void process(place& at, In& value) {
        const auto emit = [&](U output) {
            at.touched = true;
            this->next().process(at, output);
        };
        const Key& key = *static_cast<const Key*>(at.key);
        if constexpr (std::is_same_v<std::invoke_result_t<F&, State&, const In&, decltype(emit)&>, key_state>) {
            key_state then = key_state::keep;
            states_.add_to(key, [&](State& state) { then = std::invoke(f_, state, std::as_const(value), emit); });
            at.touched = true;
            if (then == key_state::forget) states_.erase(key);
        } else {
            states_.add_to(key, [&](State& state) { std::invoke(f_, state, std::as_const(value), emit); });
            at.touched = true;
        }
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
    [[no_unique_address]] F f_;
    Table states_;
};

}  // namespace detail

/// `fold<State, U>(f)`: `f(state, value, emit)` changes the state of the value's key and emits 0 to n outputs `U`.
///
/// Shapes: `State` is default-constructible, movable and storable; a key has a new one until its first value has come.
/// Behind by_partition() and to_one() there is one state for each partition, or one.
/// `f` may return a key_state: with key_state::forget the key and its state go, here and in checkpoints.
/// Errors: `f` that throws must have left the state as it was: the record is tried again, or given up.
/// Costs: a look into a hash table.
///
/// `fold<State, U>(f, table)`: its states are in a table, as that of a rocksdb::database, because they do not fit into
/// memory. The table belongs to the job's store. Keys are storable, too.
template <typename State, typename U, typename F, typename Place = detail::in_memory>
struct fold_stage {
    using stage_type = fold_stage;
    F f;
    [[no_unique_address]] Place in;

    template <typename In, typename Key>
    using output = U;
    template <typename In, typename Key>
    struct check {
        static constexpr bool takes = std::is_invocable_v<F&, State&, const In&, const detail::any_emit<U>&>;
        static constexpr bool ok = takes && storable<State>;
        static void say() {
            static_assert(
                takes, "coflux: the function of fold<State, U>() takes State&, the flow's value as const T& or T, and "
                       "then `const auto& emit`, which it calls with each output U");
            static_assert(
                storable<State>,
                "coflux: the state of a fold() is stored in checkpoints: give it a member template <typename A> "
                "void fields(A& all) { all(a, b); }, or specialise stream::codec");
        }
    };
    template <typename In, typename Key, typename Next>
    [[nodiscard]] auto bind(Next next) const {
        using table = decltype(in.template make<Key, State>());
        return detail::fold_operator<State, U, F, Key, table, Next>(f, in.template make<Key, State>(), std::move(next));
    }
};
template <typename State, typename U, typename F>
[[nodiscard]] fold_stage<State, U, F> fold(F f) {
    return {std::move(f), {}};
}
template <typename State, typename U, typename F, typename Place>
[[nodiscard]] fold_stage<State, U, F, Place> fold(F f, Place in) {
    return {std::move(f), std::move(in)};
}

}  // namespace coflux::stream
