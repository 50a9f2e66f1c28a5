// A test of rules waits for it: on a busy machine a coroutine may begin late.
#pragma once

#include <chrono>
#include <cstddef>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"

namespace coflux_test {

/// The call was made so often since the rules began.
inline coflux::call<void> until_called(coflux::environment&, const system_rules* rules, system_call on,
                                       std::size_t times = 1) {
    while (rules->calls(on) < times) co_await coflux::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace coflux_test
