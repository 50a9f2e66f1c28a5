// A fence whose cost lies on one side: nothing for the thread that passes it often, all for the thread that passes it
// seldom.
//
// Source: P1202R5, "Asymmetric fences"; Linux membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED. A heavy fence makes each
// running thread of the process pass a full fence; a thread that does not run passes one when it is switched. So a
// light fence, which only the compiler sees, pairs with a heavy one as two full fences pair with each other:
//
//     often:  store x;  light_fence();  load y          seldom:  store y, or read it;  heavy();  load x
//
// Not both threads can miss what the other one wrote.
#pragma once

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

namespace coflux::detail {

/// The seldom side calls it; the operating system has it. nullptr: there is none, and the often side needs a locked
/// instruction.
using heavy_fence = void (*)() noexcept;

COFLUX_INLINE void light_fence() noexcept {
    light_thread_fence();
}

}  // namespace coflux::detail
