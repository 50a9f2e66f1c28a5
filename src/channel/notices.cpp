#include <coflux/channel/detail/notices.hpp>

#include <coflux/core/promise_base.hpp>
#include <coflux/core/transfer.hpp>

namespace coflux::detail {

std::coroutine_handle<> notice_wait::wait() {
    promise_base& p = coroutine();
    if (p.suspends()) [[unlikely]]
        return p.stop_here();
    begin();
    of_.lock();
    if (is_there()) {
        of_.unlock();
        end();
        return transfer(p.handle());
    }
    if (must_stop()) [[unlikely]] {
        of_.unlock();
        end();
        return p.stop_here();
    }
    waited_ = true;
    of_.waiters_.push_back(*this);
    of_.unlock();
    return suspended();
}

bool notice_wait::claim(wait_operation& op) noexcept {
    notices& of = static_cast<notice_wait&>(op).of_;
    of.lock();
    const bool waited = of.waiters_.remove(op);
    of.unlock();
    return waited;
}

}  // namespace coflux::detail
