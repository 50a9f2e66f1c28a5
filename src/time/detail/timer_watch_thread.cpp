// The watcher of the process: a thread for a timer_watch.
#include <exception>

#include <coflux/base/atomic.hpp>

#include "os/process/process.hpp"
#include "os/thread/thread.hpp"
#include "time/detail/timer_watch.hpp"

namespace coflux::detail {
namespace {

/// Never destroyed: pools that die later than static objects still name it, and in the child of a fork() the thread is
/// not there.
class watch_of_process : public timer_watch {
public:
    explicit watch_of_process(watch_of_process* before) noexcept : timer_watch(&begin, &tick_now), before_(before) {}

    [[nodiscard]] bool is_here() const noexcept { return process_.is_here(); }
    void end_and_join() noexcept {
        if (is_here() && end()) thread_.join();
    }

private:
    static bool begin(timer_watch& self) noexcept {
        try {
            static_cast<watch_of_process&>(self).thread_ = thread([&self] {
                os::name_this_thread("coflux-watch");
                os::expect_precise_wake_ups();
                self.serve();
            });
            return true;
        } catch (const std::exception&) {
            return false;  // no thread, or no memory for one: what is due waits for its owner
        }
    }

    os::process_mark process_;
    thread thread_;
    // That of the parent process, whose locks may be held for ever. It is kept, so that what looks for lost memory
    // finds it.
    [[maybe_unused]] watch_of_process* const before_;
};

constinit atomic<watch_of_process*> newest{nullptr};

}  // namespace

timer_watch& timer_watch::shared() {
    struct owner {
        ~owner() {
            if (watch_of_process* const w = newest.load(memory_order_acquire)) w->end_and_join();
        }
    };
    static owner the_one;
    watch_of_process* known = newest.load(memory_order_acquire);  // pairs with the CAS
    while (known == nullptr || !known->is_here()) {
        auto* const made = new watch_of_process(known);
        if (newest.compare_exchange_strong(known, made, memory_order_acq_rel, memory_order_acquire)) return *made;
        delete made;
    }
    return *known;
}

}  // namespace coflux::detail
