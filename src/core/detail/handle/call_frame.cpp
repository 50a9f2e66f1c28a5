#include <coflux/core/detail/handle/call_frame.hpp>

#include "core/detail/handle/fail_at.hpp"

namespace coflux::detail {

void fail_awaited_twice(promise_base& p) noexcept {
    fail_at(p.control().location(), "!done()", "a call was awaited twice");
}

}  // namespace coflux::detail
