// A call that an await makes only if what it is for is not there yet.
#pragma once

#include <coroutine>
#include <new>

#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/detail/wait/turn.hpp>

namespace coflux::detail {

/// Base of an awaiter that is ready, or makes a call and awaits that.
class optional_call {
public:
    optional_call(const optional_call&) = delete;
    optional_call& operator=(const optional_call&) = delete;

protected:
    optional_call() noexcept {}  // NOLINT(modernize-use-equals-default): the union has no value yet
    ~optional_call() {
        if (made_) call_.~call();
    }

    /// The result for await_ready; `is_there`: no call is made.
    [[nodiscard]] COFLUX_INLINE bool ready_if(bool is_there) noexcept {
        if (!is_there) return false;
        if (goes_on()) [[likely]]
            return true;
        lets_others_run_ = true;
        return false;
    }
    /// The result for await_suspend. Errors: what `make` throws, as it makes the call.
    template <typename P, typename Make>
    std::coroutine_handle<> begin(std::coroutine_handle<P> h, Make make) {
        if (lets_others_run_) [[unlikely]] {
            coroutine_ = &h.promise();
            return let_others_run(h.promise());
        }
        ::new (static_cast<void*>(&call_)) call<void>(make());
        made_ = true;
        return await_access::begin_for(call_, h.promise());
    }
    /// First thing of await_resume. Errors: that of the call.
    void resumed() {
        if (made_) return await_access::take(call_);
        if (lets_others_run_) [[unlikely]]
            this_thread.current = coroutine_;
    }

private:
    bool made_ = false;
    bool lets_others_run_ = false;
    union {
        call<void> call_;
        promise_base* coroutine_;  // that lets others run
    };
};

}  // namespace coflux::detail
