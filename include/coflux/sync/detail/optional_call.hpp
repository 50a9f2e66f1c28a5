// A call that an await makes only if what it is for is not there yet.
#pragma once

#include <coroutine>
#include <new>

#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>

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

    /// What await_suspend returns. Errors: what `make` throws, as it makes the call.
    template <typename P, typename Make>
    std::coroutine_handle<> begin(std::coroutine_handle<P> h, Make make) {
        ::new (static_cast<void*>(&call_)) call<void>(make());
        made_ = true;
        return await_access::begin_for(call_, h.promise());
    }
    /// First thing of await_resume. Errors: that of the call.
    void resumed() {
        if (made_) await_access::take(call_);
    }

private:
    bool made_ = false;
    union {
        call<void> call_;
    };
};

}  // namespace coflux::detail
