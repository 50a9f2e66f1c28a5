// split: a sink that takes each alternative of a variant to a sink of its own.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/sink.hpp>

namespace coflux::stream {

/// `to(split(results, late))`: outputs that are a std::variant go to the sink of their alternative, in order.
///
/// Shapes: a sink for each alternative, by reference; they outlive the run. One that throws lets the whole write be
/// tried again: sinks before it may get records twice.
/// Costs: a copy of each value.
template <typename... Sinks>
class split {
public:
    explicit split(Sinks&... each) noexcept : sinks_(each...) {}

    template <typename... Ts>
        requires(sizeof...(Ts) == sizeof...(Sinks)) && (sink_of<Sinks, Ts> && ...)
    [[nodiscard]] call<void> write(environment&, std::span<record<std::variant<Ts...>>> records) {
        auto& here = co_await context();
        std::tuple<std::vector<record<Ts>>...> parts;
        for (const auto& each : records) divide(each, parts, std::index_sequence_for<Ts...>());
        co_await write_from<0>(here, parts);
    }
    [[nodiscard]] call<void> flush(environment&) {
        auto& here = co_await context();
        co_await flush_from<0>(here);
    }

private:
    template <typename Record, typename Parts, std::size_t... I>
    static void divide(const Record& r, Parts& parts, std::index_sequence<I...>) {
        const auto take = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
            if (const auto* value = std::get_if<J>(&r.value)) {
                std::get<J>(parts).push_back({*value, r.time, r.next, r.partition, r.slot, r.original});
            }
        };
        (take(std::integral_constant<std::size_t, I>()), ...);
    }
    template <std::size_t I, typename Parts>
    [[nodiscard]] call<void> write_from(environment&, Parts& parts) {
        auto& here = co_await context();
        if (!std::get<I>(parts).empty()) co_await std::get<I>(sinks_).write(here, std::span(std::get<I>(parts)));
        if constexpr (I + 1 != sizeof...(Sinks)) co_await write_from<I + 1>(here, parts);
    }
    template <std::size_t I>
    [[nodiscard]] call<void> flush_from(environment&) {
        auto& here = co_await context();
        co_await std::get<I>(sinks_).flush(here);
        if constexpr (I + 1 != sizeof...(Sinks)) co_await flush_from<I + 1>(here);
    }

    std::tuple<Sinks&...> sinks_;
};

}  // namespace coflux::stream
