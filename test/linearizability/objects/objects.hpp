// The objects to be checked.
#pragma once

#include <span>
#include <string_view>

#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

struct object {
    std::string_view name;
    findings (*play)(const order_of_play&, pulse&);
};

std::span<const object> sync_objects() noexcept;
std::span<const object> channel_objects() noexcept;

}  // namespace coflux_test::linearizability
