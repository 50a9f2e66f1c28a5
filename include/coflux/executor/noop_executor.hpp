// noop_executor: the executor that does not schedule.
#pragma once

#include <coflux/core/executor.hpp>

namespace coflux {

/// A coroutine on it starts inside the call that makes it, on the calling thread. If it suspends, it resumes on the
/// nearest real executor above it: that of its parent's, or the first of the environment that schedules. Where there is
/// none, it is resumed by the thread that ends what it waits for. Where the thread's stack is nearly used up (a
/// recursion of noop forks), it starts when its maker waits or ends, on the same thread, and not in the call.
class noop_executor {
public:
    static constexpr bool starts_inline = true;
};
static_assert(executor<noop_executor>);

/// The name in other libraries.
using inline_executor = noop_executor;

}  // namespace coflux
