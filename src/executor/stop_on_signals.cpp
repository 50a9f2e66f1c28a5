#include <coflux/executor/stop_on_signals.hpp>

#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/thread.hpp>

#include "os/process/process.hpp"
#include "os/process/signals.hpp"
#include "os/thread/thread.hpp"

namespace coflux {

struct stop_on_signals::watcher {
    detail::thread thread;
    detail::os::process_mark process;
};

stop_on_signals::stop_on_signals(environment& target, std::chrono::nanoseconds second_after) : target_(target) {
    const bool taken = detail::os::take_end_signals(second_after.count());
    COFLUX_VERIFY(taken, "two stop_on_signals at the same time: a signal goes to one of them");
    try {
        watcher_ = new watcher{detail::thread([this] { watch(); }), {}};
    } catch (...) {
        detail::os::give_back_end_signals();
        detail::os::close_end_signals();
        throw;
    }
}

stop_on_signals::~stop_on_signals() {
    if (watcher_->process.is_here()) {
        detail::os::give_back_end_signals();
        watcher_->thread.join();
        detail::os::close_end_signals();
    } else {
        detail::os::keep_thread_of_parent(std::move(watcher_->thread));
    }
    delete watcher_;
}

void stop_on_signals::watch() noexcept {
    detail::os::name_this_thread("coflux-signals");
    while (const int number = detail::os::wait_for_end_signal()) {
        received_.store(number, detail::memory_order_release);  // pairs with received()
        target_.request_stop();
    }
}

}  // namespace coflux
