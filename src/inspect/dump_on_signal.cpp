#include <coflux/inspect/dump_on_signal.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>

#include "os/process/caught_signals.hpp"
#include "os/process/process.hpp"
#include "os/thread/thread.hpp"
#include "os/thread/wake_descriptor.hpp"

namespace coflux::inspect {

namespace os = detail::os;

struct dump_on_signal::watcher {
    watcher(int number, int to, const dump_options& what) : signal(number), descriptor(to), options(what) {
        check(os::open_signal_pipe(read_end, write_end), "there is no pipe");
        wake.include(read_end);
        if (const int error = os::catch_signal(number, write_end); error < 0) {
            close();
            check(error, "signal " + std::to_string(number));
        }
    }

    static void check(int result, const std::string& what) {
        if (result < 0) throw std::system_error(-result, std::system_category(), "coflux: dump_on_signal: " + what);
    }
    void close() noexcept {
        os::close_signal_pipe(read_end);
        os::close_signal_pipe(write_end);
    }

    void watch() noexcept {
        os::name_this_thread("coflux-dump");
        while (!ended.load(detail::memory_order_acquire)) {  // pairs with the destructor
            wake.wait_until(~std::uint64_t{0});
            bool came = false;
            for (os::signal_record each{}; os::take_signal(read_end, ~std::uint64_t{0}, each) > 0;) came = true;
            if (came) (void)dump_to(descriptor, options);
        }
    }

    const int signal;
    const int descriptor;
    const dump_options options;
    int read_end = -1;
    int write_end = -1;
    os::wake_descriptor wake;
    detail::atomic<bool> ended{false};
    os::process_mark process;
    detail::thread thread;  // the last: it uses the others
};

dump_on_signal::dump_on_signal(int signal_number, int descriptor, const dump_options& options) {
    auto made = std::make_unique<watcher>(signal_number, descriptor, options);
    try {
        made->thread = detail::thread([w = made.get()] { w->watch(); });
    } catch (...) {
        os::release_signal(signal_number, made->write_end);
        os::wait_for_signal_handlers();
        made->close();
        throw;
    }
    watcher_ = made.release();
}

dump_on_signal::~dump_on_signal() {
    if (watcher_->process.is_here()) {
        os::release_signal(watcher_->signal, watcher_->write_end);
        os::wait_for_signal_handlers();
        watcher_->ended.store(true, detail::memory_order_release);  // pairs with watch()
        watcher_->wake.signal();
        watcher_->thread.join();
    } else {
        os::keep_thread_of_parent(std::move(watcher_->thread));
    }
    watcher_->close();
    delete watcher_;
}

}  // namespace coflux::inspect
