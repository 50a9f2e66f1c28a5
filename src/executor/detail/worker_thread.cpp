// The page docs/design/serial_executors.md has the protocol.
#include "worker_thread.hpp"

#include <utility>

#include <coflux/base/assert.hpp>

#include "core/detail/thread/registered_thread.hpp"
#include "os/thread/thread.hpp"
#include "os/thread/thread_number.hpp"

namespace coflux::detail {

worker_thread::worker_thread(worker_options options, const char* what)
    : serial_loop(what, options.spin, options.timer_spin, options.keep_memory),
      options_(std::move(options)) {}

void worker_thread::start() {
    metrics_.enter(options_.name, static_cast<serial_loop&>(*this));
    thread_ = thread([this] { serve(); });
}

worker_thread::~worker_thread() {
    end();
}

void worker_thread::end() noexcept {
    if (ends_.load(memory_order_relaxed)) return;  // written by this thread
    metrics_.leave();
    const bool is_here = is_in_its_process();
    COFLUX_VERIFY(!is_here || of_thread_for(identity()) == nullptr, "%s is destroyed on its own thread", what());
    ends_.store(true, memory_order_release);                             // pairs with serve()
    if (!is_here) return os::keep_thread_of_parent(std::move(thread_));  // what it would have left stays as it is
    wake();
    if (thread_.joinable()) thread_.join();
    close();
}

void worker_thread::serve() noexcept {
    os::name_this_thread(options_.name.c_str());
    if (options_.pin) os::pin_this_thread(*options_.pin);
    os::expect_precise_wake_ups();
    enter();
    const registered_thread registered(os::this_thread_number());
    const on_this_thread here(*this);
    busy_.begin(tick_now());
    for (;;) {
        begin_turn();
        if (const std::size_t resumed = run_round(this_thread); resumed != 0) {
            count_resumed(resumed);
            continue;
        }
        // acquire pairs with end(): what came before it is in sight.
        if (!ends_.load(memory_order_acquire)) {
            wait(timing_wheel::never);
        } else if (!has_something()) {
            break;
        }
    }
}

}  // namespace coflux::detail
