// A party that waits for a coroutine's end in another way than a plain await.
#pragma once

#include <coroutine>

namespace coflux {
class environment;
}  // namespace coflux

namespace coflux::detail {

class promise_base;
struct frame_control;

/// The target of a frame's join word. The first to see the end calls `ended` exactly once, on the thread that ran the
/// coroutine, which is on executor `here`; it returns the coroutine that this thread goes on with, or the noop
/// coroutine. Aligned so that the join word has four bits to spare.
struct alignas(16) waiter {
    std::coroutine_handle<> (*ended)(waiter& self, frame_control& child, const void* here) noexcept = nullptr;
    waiter* next = nullptr;             ///< in a list of waiters
    promise_base* coroutine = nullptr;  ///< the one suspended until `ended` is called, if it is a coroutine
    environment* scope = nullptr;       ///< set before a callback is called: the scope that the coroutine belongs to
    bool first = false;                 ///< a callback: called before the waiters are woken
};

}  // namespace coflux::detail
