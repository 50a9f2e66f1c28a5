// Replaces src/os/thread/stack.cpp in the model programs, whose threads run on stacks of Relacy's: nothing is known
// of them.
#include <coflux/base/stack.hpp>

namespace coflux::detail {

stack_bounds bounds_of_this_stack() noexcept {
    return {};
}

}  // namespace coflux::detail
