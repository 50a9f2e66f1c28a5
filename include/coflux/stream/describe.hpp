// describe: how a flow is divided, and why.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <coflux/stream/call_each.hpp>
#include <coflux/stream/flow.hpp>
#include <coflux/stream/key.hpp>

namespace coflux::stream {

namespace detail {

template <typename P>
[[nodiscard]] constexpr std::string_view reason_of() noexcept {
    if constexpr (std::is_same_v<P, unnamed>)
        return "by_partition(), because none is named: the order of each partition of the source is kept";
    if constexpr (std::is_same_v<P, by_partition>) return "by_partition(): the order of each partition is kept";
    if constexpr (std::is_same_v<P, in_place>)
        return "as before, because call_each() begins a region: no record changes its slot";
    if constexpr (std::is_same_v<P, round_robin>) return "round_robin(): no stage has a state, any worker will do";
    if constexpr (std::is_same_v<P, sticky>)
        return "sticky(): no stage has a state, any worker will do, and batches stay full";
    if constexpr (std::is_same_v<P, to_one>) return "to_one(): its stages need all records";
    return "";
}
template <typename F>
constexpr std::string_view reason_of_key(const by_key<F>*) noexcept {
    return "by_key(): all records of a key are with one worker";
}
template <typename F>
constexpr std::string_view reason_of_key(const by_key_of_source<F>*) noexcept {
    return "by_key_of_source(): the partitions of the source are by the key, so no record is moved";
}
template <typename F>
constexpr std::string_view reason_of_key(const by_number<F>*) noexcept {
    return "by_number(): all records of a number are with one worker";
}

template <typename P, typename Call, typename... Stages>
void describe_region(std::string& to, std::size_t number, const region<P, Call, Stages...>&) {
    to.append("region ").append(std::to_string(number)).append(": ");
    if constexpr (is_by_key<P>) {
        to.append(reason_of_key(static_cast<const P*>(nullptr)));
    } else {
        to.append(reason_of<P>());
    }
    to.append("\n");
}

}  // namespace detail

/// `std::cout << describe(flow)`: a line for each region of a flow, with its partitioner, and why it is that.
///
/// Shapes: a flow that ends with `to(sink)`.
template <typename Source, typename Head, typename Regions, typename Sink>
[[nodiscard]] std::string describe(const detail::whole_flow<Source, Head, Regions, Sink>& flow) {
    std::string all;
    std::size_t number = 0;
    std::apply([&](const auto&... each) { (detail::describe_region(all, ++number, each), ...); }, flow.regions);
    return all;
}

}  // namespace coflux::stream
