// How threads that are not of the pool start what they do not wait for.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/04-waiting.md
#pragma once

#include <coflux/coflux.hpp>

#include <future>

namespace lab {

using pool = coflux::thread_pool_executor;

// Where the threads outside find the scope that they spawn into, and how they say that they are done.
struct door {
    std::promise<coflux::borrowed<coflux::task_scope>> opened{};
    coflux::manual_reset_event closing{};
};

inline coflux::task<void, pool> keep_open(coflux::environment&, coflux::borrowed<door> at) {
    auto&& here = co_await coflux::context();
    coflux::task_scope scope(here);
    at->opened.set_value(coflux::borrowed(scope));
    co_await at->closing.wait();
    co_await scope.join();
}

// A scope on the pool for threads outside, joined at the end.
class open_scope {
public:
    explicit open_scope(coflux::environment_object& env) : keeper_{keep_open(env, coflux::borrowed(door_))} {}
    ~open_scope() {
        door_.closing.set();
        keeper_.join();
    }
    open_scope(const open_scope&) = delete;
    open_scope& operator=(const open_scope&) = delete;

    [[nodiscard]] coflux::task_scope& get() const noexcept { return *scope_; }

private:
    door door_{};
    coflux::task<void, pool> keeper_;
    coflux::borrowed<coflux::task_scope> scope_ = door_.opened.get_future().get();
};

}  // namespace lab
