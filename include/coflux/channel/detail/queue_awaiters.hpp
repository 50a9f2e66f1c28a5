// What the receivers of spsc and mpsc make of a value that is there.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>

namespace coflux::detail {

/// Receives one value. Shapes: `Wait` is an awaiter without await_resume(), has resumed() and the queue's `state_`.
template <typename Wait>
class [[nodiscard]] receive_awaiter : public Wait {
public:
    using Wait::Wait;
    COFLUX_INLINE auto await_resume() noexcept {
        this->resumed();
        return this->state_.receive_one();
    }
};

/// Receives up to `max` values, each by `use(T&&)`. Shapes: `Wait` as for receive_awaiter.
template <typename Wait, typename Use>
class [[nodiscard]] batch_awaiter : public Wait {
public:
    template <typename State>
    batch_awaiter(promise_base& p, State& s, std::size_t max, Use use) noexcept
        : Wait(p, s),
          max_(max),
          use_(std::move(use)) {}
    COFLUX_INLINE std::size_t await_resume() {
        this->resumed();
        return this->state_.receive(max_, use_);
    }

private:
    std::size_t max_;
    Use use_;
};

}  // namespace coflux::detail
