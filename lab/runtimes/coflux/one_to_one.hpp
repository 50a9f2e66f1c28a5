// One coroutine sends the numbers from 1 on, another receives them: the same code for whatever lies between.
#pragma once

#include "definitions.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>

namespace lab {

using pool = coflux::thread_pool_executor;
using sending = coflux::fork<void, pool>;
using receiving = coflux::fork<std::uint64_t, pool>;
using watch_ref = coflux::borrowed<harness::stopwatch>;

// `to` and `from` are coflux::borrowed.
sending send_numbers(auto&&, auto to, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i <= last; ++i) {
        (void)co_await to->send(i);
    }
}

receiving receive_in_order(auto&&, auto from, std::uint64_t count) {
    harness::ordered_sum sum;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (const auto value = co_await from->receive()) {
            sum.add(*value);
        }
    }
    co_return sum.value();
}

coflux::task<std::uint64_t, pool> run_one_to_one(auto&&, auto to, auto from, std::uint64_t count, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    auto producer = send_numbers(here, to, 1, count);
    auto consumer = receive_in_order(here, from, count);
    co_await std::move(producer);
    const std::uint64_t sum = co_await std::move(consumer);
    watch->stop();
    co_return sum;
}

}  // namespace lab
