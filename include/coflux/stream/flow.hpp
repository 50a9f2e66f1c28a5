// from(source) | stages | to(sink): a flow, of which run() makes a job.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/stream/call_each.hpp>
#include <coflux/stream/event_times.hpp>
#include <coflux/stream/key.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>
#include <coflux/stream/source.hpp>
#include <coflux/stream/stage.hpp>

namespace coflux::stream {

namespace detail {

/// The part of a flow behind a partitioner: perhaps a call, then stages.
template <typename Partitioner, typename Call, typename... Stages>
struct region {
    Partitioner by;
    Call first;
    std::tuple<Stages...> stages;
};

/// The type of what stages make of `In`.
template <typename In, typename Key, typename Stages>
struct output_type;
template <typename In, typename Key>
struct output_type<In, Key, std::tuple<>> {
    using type = In;
};
template <typename In, typename Key, typename First, typename... Rest>
struct output_type<In, Key, std::tuple<First, Rest...>>
    : output_type<typename First::template output<In, Key>, Key, std::tuple<Rest...>> {};

/// A region of `In`: its key and outputs.
template <typename In, typename Region>
struct region_types;
template <typename In, typename Partitioner, typename Call, typename... Stages>
struct region_types<In, region<Partitioner, Call, Stages...>> {
    using input = In;
    using partitioner = Partitioner;
    using first_call = Call;
    using called = typename Call::template output<In>;  // the input of the stages
    using key_type = typename routing<Partitioner, In>::key_type;
    using output = typename output_type<called, key_type, std::tuple<Stages...>>::type;
};

/// The operators of `stages`, of which the last passes its outputs to `end`.
template <typename In, typename Key, std::size_t I = 0, typename Stages, typename End>
[[nodiscard]] auto bind_stages(const Stages& stages, End end) {
    if constexpr (I == std::tuple_size_v<Stages>) {
        return end;
    } else {
        using first = std::tuple_element_t<I, Stages>;
        using output = typename first::template output<In, Key>;
        return std::get<I>(stages).template bind<In, Key>(bind_stages<output, Key, I + 1>(stages, std::move(end)));
    }
}

/// A flow that has no sink yet. Without a region its stages are in `head`.
template <typename Source, typename Head, typename Regions>
struct open_flow {
    Source from;
    Head head;
    Regions regions;
};

/// A whole flow.
template <typename Source, typename Head, typename Regions, typename Sink>
struct whole_flow {
    Source from;
    Head head;
    Regions regions;
    Sink sink;
};

template <typename Sink>
struct ending {
    Sink sink;
};

template <typename Partitioner, typename Call, typename... Stages, typename S>
region<Partitioner, Call, Stages..., S> with_stage(region<Partitioner, Call, Stages...>&& r, S&& s) {
    return {std::move(r.by), std::move(r.first), std::tuple_cat(std::move(r.stages), std::tuple<S>(std::move(s)))};
}

template <std::size_t From, std::size_t... I, typename Tuple>
auto part_of(Tuple&& t, std::index_sequence<I...>) {
    return std::tuple<std::tuple_element_t<From + I, Tuple>...>(std::get<From + I>(std::move(t))...);
}

template <typename... Stages>
consteval std::size_t behind_event_times() {
    std::size_t at = 0;
    std::size_t found = 0;
    ((++at, found = is_event_times<Stages> ? at : found), ...);
    return found;
}

/// A flow of which a part does not fit: the sentence is said, and it takes whatever follows.
struct wrong_flow {};
template <typename Any>
[[nodiscard]] wrong_flow operator|(wrong_flow, Any&&) {
    return {};
}
template <typename Check>
[[nodiscard]] wrong_flow refused() {
    Check::say();
    return {};
}

/// A type, as a value.
template <typename T>
struct of_type {
    using type = T;
};
// The key of stages behind no partitioner is the partition of the source.
template <typename In, typename... Head>
[[nodiscard]] constexpr auto end_of(of_type<In>, const std::tuple<Head...>*, const std::tuple<>*) {
    return region_types<In, region<unnamed, no_call, Head...>>();
}
template <typename In, typename... Head, typename First, typename... Rest>
[[nodiscard]] constexpr auto end_of(of_type<In>, const std::tuple<Head...>*, const std::tuple<First, Rest...>*) {
    using head_output = typename output_type<In, no_key, std::tuple<Head...>>::type;
    using here = region_types<head_output, First>;
    if constexpr (sizeof...(Rest) == 0) {
        return here();
    } else {
        return end_of(of_type<typename here::output>(), static_cast<const std::tuple<>*>(nullptr),
                      static_cast<const std::tuple<Rest...>*>(nullptr));
    }
}
/// The last region of an open flow: its `output` is what the next stage gets, its `key_type` is that of the region.
template <typename Source, typename Head, typename Regions>
using last_types = decltype(end_of(of_type<typename std::remove_reference_t<Source>::value_type>(),
                                   static_cast<const Head*>(nullptr), static_cast<const Regions*>(nullptr)));

/// Whether a stage can come behind a partitioner.
template <typename S, typename P, typename Source>
struct check_place {
    static constexpr bool pairs = requires { requires S::pairs_by_key; };
    static constexpr bool has_sides = requires { requires Source::has_sides; };
    static constexpr bool by_partitions = pairs && std::is_base_of_v<by_partition, P>;
    static constexpr bool by_keys_of_sides = pairs && is_by_key_of_source<P> && has_sides;
    static constexpr bool ok = !by_partitions && !by_keys_of_sides;
    static void say() {
        static_assert(!by_partitions,
                      "coflux: a join by partition finds no pair, because two sources have no partition in common: put "
                      "by_key(f) or to_one() before it");
        static_assert(
            !by_keys_of_sides,
            "coflux: a join behind by_key_of_source() finds no pair, because the two sources of a merge() have "
            "no partition in common: put by_key(f) or to_one() before it");
    }
};

template <typename Source>
struct check_source {
    static constexpr bool ok = source<Source>;
    static void say() {
        static_assert(
            ok, "coflux: from() takes a stream::source, with read() and partition_name(): a std::vector goes into a "
                "memory_source, a path into a line_source");
    }
};
template <typename Sink, typename T>
struct check_sink {
    static constexpr bool ok = sink_of<Sink, T>;
    static void say() {
        static_assert(ok,
                      "coflux: the sink does not take what the flow gives: it needs call<void> write(environment&, "
                      "std::span<stream::record<T>>) for the T of the last stage, and call<void> flush(environment&)");
    }
};

}  // namespace detail

/// Begins a flow: `from(orders) | filter(is_large) | by_key(&order::customer) | count() | to(sink)`.
///
/// Shapes: a `source`. One that has a name is used by reference, and outlives the run; a temporary is moved in.
template <typename Source>
[[nodiscard]] auto from(Source&& s) {
    using check = detail::check_source<std::remove_reference_t<Source>>;
    if constexpr (!check::ok) {
        return detail::refused<check>();
    } else {
        return detail::open_flow<Source, std::tuple<>, std::tuple<>>{std::forward<Source>(s), {}, {}};
    }
}

/// Ends a flow.
///
/// Shapes: a sink of the flow's outputs, by reference where it has a name.
template <typename Sink>
[[nodiscard]] auto to(Sink&& s) {
    return detail::ending<Sink>{std::forward<Sink>(s)};
}

namespace detail {

template <typename Source, typename... Head, stage S>
[[nodiscard]] auto operator|(open_flow<Source, std::tuple<Head...>, std::tuple<>>&& f, S s) {
    using before = last_types<Source, std::tuple<Head...>, std::tuple<>>;
    using place = check_place<S, unnamed, std::remove_reference_t<Source>>;
    if constexpr (!place::ok) {
        return refused<place>();
    } else if constexpr (!takes_values<S, typename before::output, typename before::key_type>()) {
        return refused<typename S::template check<typename before::output, typename before::key_type>>();
    } else {
        return open_flow<Source, std::tuple<Head..., S>, std::tuple<>>{
            std::forward<Source>(f.from), std::tuple_cat(std::move(f.head), std::tuple<S>(std::move(s))), {}};
    }
}
template <typename Source, typename Head, typename... Regions, stage S>
    requires(sizeof...(Regions) != 0)
[[nodiscard]] auto operator|(open_flow<Source, Head, std::tuple<Regions...>>&& f, S s) {
    static_assert(!is_event_times<S>,
                  "coflux: event_times() comes before the first partitioner of a flow: watermarks are kept for each "
                  "partition of the source");
    constexpr std::size_t last = sizeof...(Regions) - 1;
    using before = last_types<Source, Head, std::tuple<Regions...>>;
    using place = check_place<S, typename before::partitioner, std::remove_reference_t<Source>>;
    if constexpr (is_event_times<S>) {
        return wrong_flow();
    } else if constexpr (!place::ok) {
        return refused<place>();
    } else if constexpr (!takes_values<S, typename before::output, typename before::key_type>()) {
        return refused<typename S::template check<typename before::output, typename before::key_type>>();
    } else {
        auto regions = std::tuple_cat(part_of<0>(std::move(f.regions), std::make_index_sequence<last>()),
                                      std::make_tuple(with_stage(std::get<last>(std::move(f.regions)), std::move(s))));
        return open_flow<Source, Head, decltype(regions)>{std::forward<Source>(f.from), std::move(f.head),
                                                          std::move(regions)};
    }
}
template <typename Source, typename Head, typename... Regions, typename P>
    requires is_partitioner<P>
[[nodiscard]] auto operator|(open_flow<Source, Head, std::tuple<Regions...>>&& f, P by) {
    using check = check_partitioner<P, typename last_types<Source, Head, std::tuple<Regions...>>::output>;
    if constexpr (!check::ok) {
        return refused<check>();
    } else {
        return open_flow<Source, Head, std::tuple<Regions..., region<P, no_call>>>{
            std::forward<Source>(f.from), std::move(f.head),
            std::tuple_cat(std::move(f.regions), std::make_tuple(region<P, no_call>{std::move(by), {}, {}}))};
    }
}

template <typename Region>
inline constexpr bool is_bare = false;
template <typename Partitioner>
inline constexpr bool is_bare<region<Partitioner, no_call>> = true;

// A call begins a region: the last one, if that has nothing yet.
template <typename Source, typename Head, typename... Regions, typename F>
    requires(sizeof...(Regions) != 0)
[[nodiscard]] auto operator|(open_flow<Source, Head, std::tuple<Regions...>>&& f, call_each<F> c) {
    constexpr std::size_t last = sizeof...(Regions) - 1;
    using last_region = std::tuple_element_t<last, std::tuple<Regions...>>;
    using input = typename last_types<Source, Head, std::tuple<Regions...>>::output;
    if constexpr (!call_each<F>::template check<input>::ok) {
        return refused<typename call_each<F>::template check<input>>();
    } else if constexpr (is_bare<last_region>) {
        using by = decltype(last_region::by);
        using with_call = region<by, call_each<F>>;
        auto regions =
            std::tuple_cat(part_of<0>(std::move(f.regions), std::make_index_sequence<last>()),
                           std::make_tuple(with_call{std::move(std::get<last>(f.regions).by), std::move(c), {}}));
        return open_flow<Source, Head, decltype(regions)>{std::forward<Source>(f.from), std::move(f.head),
                                                          std::move(regions)};
    } else {
        using with_call = region<in_place, call_each<F>>;
        auto regions = std::tuple_cat(std::move(f.regions), std::make_tuple(with_call{{}, std::move(c), {}}));
        return open_flow<Source, Head, decltype(regions)>{std::forward<Source>(f.from), std::move(f.head),
                                                          std::move(regions)};
    }
}
template <typename Source, typename Head, typename F>
[[nodiscard]] auto operator|(open_flow<Source, Head, std::tuple<>>&& f, call_each<F> c) {
    return std::move(f) | unnamed() | std::move(c);
}

// Without a partitioner, the stages behind the event times run by partition of the source.
template <typename Source, typename... Head, typename Sink>
[[nodiscard]] auto operator|(open_flow<Source, std::tuple<Head...>, std::tuple<>>&& f, ending<Sink> e) {
    using output = typename last_types<Source, std::tuple<Head...>, std::tuple<>>::output;
    if constexpr (!check_sink<std::remove_reference_t<Sink>, output>::ok) {
        return refused<check_sink<std::remove_reference_t<Sink>, output>>();
    } else {
        constexpr std::size_t first = behind_event_times<Head...>();
        auto stages = part_of<first>(std::tuple<Head...>(f.head), std::make_index_sequence<sizeof...(Head) - first>());
        auto head = part_of<0>(std::move(f.head), std::make_index_sequence<first>());
        auto apply = [](auto&&... each) {
            return region<unnamed, no_call, std::remove_cvref_t<decltype(each)>...>{{}, {}, {std::move(each)...}};
        };
        auto regions = std::make_tuple(std::apply(apply, std::move(stages)));
        return whole_flow<Source, decltype(head), decltype(regions), Sink>{
            std::forward<Source>(f.from), std::move(head), std::move(regions), std::forward<Sink>(e.sink)};
    }
}
template <typename Source, typename Head, typename... Regions, typename Sink>
    requires(sizeof...(Regions) != 0)
[[nodiscard]] auto operator|(open_flow<Source, Head, std::tuple<Regions...>>&& f, ending<Sink> e) {
    using output = typename last_types<Source, Head, std::tuple<Regions...>>::output;
    if constexpr (!check_sink<std::remove_reference_t<Sink>, output>::ok) {
        return refused<check_sink<std::remove_reference_t<Sink>, output>>();
    } else {
        return whole_flow<Source, Head, std::tuple<Regions...>, Sink>{std::forward<Source>(f.from), std::move(f.head),
                                                                      std::move(f.regions), std::forward<Sink>(e.sink)};
    }
}

template <typename S>
inline constexpr bool is_step = stage<S> || is_partitioner<S>;
template <typename F>
inline constexpr bool is_step<call_each<F>> = true;
template <typename Sink>
inline constexpr bool is_step<ending<Sink>> = true;
template <typename Source, typename Head, typename Regions, typename Any>
    requires(!is_step<Any>)
[[nodiscard]] wrong_flow operator|(open_flow<Source, Head, Regions>&&, Any) {
    static_assert(is_step<Any>,
                  "coflux: a flow goes through stages: map(f), filter(f), tap(f) or flat_map<U>(f) say what a function "
                  "does, and to(sink) ends the flow");
    return {};
}

}  // namespace detail

}  // namespace coflux::stream
