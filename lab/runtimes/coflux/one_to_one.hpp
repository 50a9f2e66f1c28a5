// One coroutine sends the numbers from 1 on, another receives them: the same code for whatever lies between, and for
// each executor.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/01-first-program.md
#pragma once

#include "definitions.hpp"
#include "executors.hpp"

#include <coflux/coflux.hpp>

#include <cstdint>
#include <utility>

namespace lab {

template <typename On>
using sending = coflux::fork<void, On>;
template <typename On>
using receiving = coflux::fork<std::uint64_t, On>;
using watch_ref = coflux::borrowed<harness::stopwatch>;

// `to` and `from` are coflux::borrowed.
template <typename On>
sending<On> send_numbers(auto&&, auto to, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i <= last; ++i) {
        (void)co_await to->send(i);
    }
}

template <typename On>
receiving<On> receive_in_order(auto&&, auto from, std::uint64_t count) {
    harness::ordered_sum sum;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (const auto value = co_await from->receive()) {
            sum.add(*value);
        }
    }
    co_return sum.value();
}

template <typename On>
coflux::task<std::uint64_t, On> run_one_to_one(auto&&, auto to, auto from, std::uint64_t count, watch_ref watch) {
    auto&& here = co_await coflux::context();
    watch->start();
    auto producer = send_numbers<On>(here, to, 1, count);
    auto consumer = receive_in_order<On>(here, from, count);
    co_await std::move(producer);
    const std::uint64_t sum = co_await std::move(consumer);
    watch->stop();
    co_return sum;
}

}  // namespace lab
