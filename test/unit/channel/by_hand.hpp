// The surroundings of the tests of channels: everything on the test's own thread, one coroutine at a time, first in,
// first out.
#pragma once

#include <optional>
#include <utility>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"

namespace coflux_test {

struct by_hand {
    template <typename T>
    using task = coflux::task<T, manual_executor>;

    manual_executor executor;
    decltype(coflux::make_environment(std::declval<manual_executor&>())) env = coflux::make_environment(executor);

    std::size_t drive() { return executor.run_all(); }
    /// Runs a root to its end and gives its result.
    template <typename T>
    T run(task<T> t) {
        drive();
        return t.get();
    }
};

template <typename Channel>
by_hand::task<bool> sends(coflux::environment&, coflux::borrowed<Channel> ch, typename Channel::value_type value) {
    co_return co_await ch->send(std::move(value));
}
/// Sends what another coroutine owns.
template <typename Channel>
by_hand::task<bool> sends_from(coflux::environment&, coflux::borrowed<Channel> ch,
                               coflux::borrowed<typename Channel::value_type> value) {
    co_return co_await ch->send(std::move(*value));
}
template <typename Channel>
by_hand::task<std::optional<typename Channel::value_type>> receives(coflux::environment&,
                                                                    coflux::borrowed<Channel> ch) {
    co_return co_await ch->receive();
}

}  // namespace coflux_test
