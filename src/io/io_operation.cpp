// The page docs/design/io.md has the states.
#include <coflux/io/detail/io_operation.hpp>

#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/detail/thread/worker.hpp>

#include "descriptor.hpp"

namespace coflux::detail {

bool io_operation::try_now() noexcept {
    worker* const w = this_thread.queues;
    if (w != nullptr && !w->spend_tick()) [[unlikely]] {
        is_late_ = true;
        return false;
    }
    return attempt();
}

std::coroutine_handle<> io_operation::suspend() {
    promise_base& p = coroutine();
    if (p.begin_suspend() == detail::suspension::stop) [[unlikely]]
        return p.stop_here();
    io_source& home = on_.begin_wait(p);
    counted_ = true;
    begin();
    waited_ = true;
    const io_slot at = on_.slot();
    switch (is_late_ ? home.arm_for_next_look(*this, at) : home.arm(*this, at)) {
    case io_source::armed::waits: return suspended();  // this object may be gone
    case io_source::armed::ended: return transfer(p.handle());
    case io_source::armed::stops: break;
    }
    end();
    return p.stop_here();
}

void io_operation::leave() noexcept {
    counted_ = false;
    on_.end_wait();
}

/// It is counted, so its descriptor is there, and stays in its home.
bool io_operation::claim(wait_operation& waiting) noexcept {
    auto& op = static_cast<io_operation&>(waiting);
    return op.on_.home().claim(op, op.on_.slot());
}

}  // namespace coflux::detail
