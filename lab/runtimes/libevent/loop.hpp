// libevent's objects with an owner, and a loop whose callbacks may throw.
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace lab {

template <auto Free>
struct freed_by {
    template <typename T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

using event_base_ptr = std::unique_ptr<event_base, freed_by<event_base_free>>;
using event_ptr = std::unique_ptr<event, freed_by<event_free>>;
using bufferevent_ptr = std::unique_ptr<bufferevent, freed_by<bufferevent_free>>;
using listener_ptr = std::unique_ptr<evconnlistener, freed_by<evconnlistener_free>>;

template <typename Owner, typename T>
Owner owned(T* made) {
    if (made == nullptr) {
        throw std::bad_alloc{};
    }
    return Owner{made};
}

// One thread's loop.
class loop {
public:
    [[nodiscard]] event_base* get() const noexcept { return base_.get(); }

    // Until stop(), or until a callback throws: that comes out here.
    void run() {
        event_base_loop(base_.get(), EVLOOP_NO_EXIT_ON_EMPTY);
        if (failure_) {
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

    // From a callback: when that has returned, no other is called.
    void stop() noexcept { event_base_loopbreak(base_.get()); }

    // The body of a callback: an exception must not go through libevent, which is C.
    template <typename F>
    void call(const F& what) noexcept {
        try {
            what();
        } catch (...) {
            failure_ = std::current_exception();
            stop();
        }
    }

private:
    event_base_ptr base_ = owned<event_base_ptr>(event_base_new());
    std::exception_ptr failure_;
};

}  // namespace lab
