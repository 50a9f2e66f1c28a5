#include <coflux/scope/task_scope.hpp>

namespace coflux {

void task_scope::check_open() const noexcept {
    // Joined comes only after the last child has ended. A caller that adds in time is below a child that has not
    // ended, or is the joining coroutine. For any other caller it is a look, not a promise.
    COFLUX_VERIFY(
        !own_.children.is_joined(),
        "a child is added to a task_scope that has been joined: while join() waits, only its children may add");
}

}  // namespace coflux
