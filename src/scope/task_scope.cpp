#include <coflux/scope/task_scope.hpp>

namespace coflux {

void task_scope::check_open() const noexcept {
    // relaxed: 0 comes only after the last child has ended, and who adds in time is below one that has not, or is the one who
    // joins; for others it is a look, not a promise.
    COFLUX_VERIFY(
        remaining_.load(detail::memory_order_relaxed) != 0,
        "a child is added to a task_scope that has been joined: while join() waits, only its children may add");
}

}  // namespace coflux
