#include <coflux/testing/conformance/detail/subject.hpp>

#include <coflux/base/config.hpp>
#include <coflux/base/thread.hpp>

namespace coflux::testing::detail {

COFLUX_NOINLINE on_this_stack& on_this_stack::here() noexcept {
    thread_local on_this_stack notes;
    return notes;
}

void marked_frame::run(void* frame) noexcept {
    marked_frame& self = *static_cast<marked_frame*>(frame);
    on_this_stack& here = on_this_stack::here();
    if (here.in_execute != 0) self.inside_execute.store(true, std::memory_order_relaxed);
    if (here.resumed != 0) self.on_a_coroutine.store(true, std::memory_order_relaxed);
    ++here.resumed;
    if (self.body != nullptr) self.body(self);
    --here.resumed;
    self.resumed.fetch_add(1, std::memory_order_release);  // last: the thread that counts may destroy this
}

void keep_for_ever(std::shared_ptr<void> what) {
    static coflux::detail::mutex lock;
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    const coflux::detail::lock_guard<coflux::detail::mutex> guard(lock);
    kept.push_back(std::move(what));
}

}  // namespace coflux::testing::detail
