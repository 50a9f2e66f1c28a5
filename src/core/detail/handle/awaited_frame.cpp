#include <coflux/core/detail/handle/awaited_frame.hpp>

#include <coflux/core/detail/promise/promise_base.hpp>

#include "core/detail/handle/fail_at.hpp"

namespace coflux::detail {

void fail_copied(promise_base& p, std::source_location where) noexcept {
    p.set_await_location(where);
    fail_at(
        where, "the handle is where it was made",
        "a handle in a conditional expression: g++ evaluates both branches of c ? a : b in a statement that awaits, copies one bit by "
        "bit and destroys the original too: write if and else, or choose in a statement before");
}

}  // namespace coflux::detail
