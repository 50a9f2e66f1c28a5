// First in, first out: the waits at one primitive.
#pragma once

#include <coflux/base/intrusive_list.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

/// Guarded by the primitive's lock.
using wait_queue = intrusive_queue<wait_operation>;

/// Wakes a chain that take_all() gave, in order. Without the primitive's lock.
inline void wake_all(wait_operation* chain) noexcept {
    while (chain != nullptr) {
        wait_operation* const w = chain;
        chain = w->next;  // before it is woken: then it may be gone
        w->wake();
    }
}

}  // namespace coflux::detail
