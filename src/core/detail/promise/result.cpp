#include <coflux/core/detail/promise/result.hpp>

namespace coflux::detail {

void consume_error(frame_control& c) {
    failure* const f = c.error;
    f->retain();
    promise_base::consumed(c);
    f->rethrow();
}

}  // namespace coflux::detail
