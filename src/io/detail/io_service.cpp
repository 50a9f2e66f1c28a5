// The event source of coroutines whose thread has none: one thread for the process.
#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>

#include "event/look_portion.hpp"
#include "io_source.hpp"
#include "os/process/process.hpp"
#include "os/thread/thread.hpp"

namespace coflux::detail {
namespace {

/// Lifetime: the object is never destroyed; its thread ends when static objects die, and what waits then waits for
/// ever.
class io_service {
public:
    /// Errors: std::system_error; the next call tries again.
    static const io_service& shared() {
        struct owner {
            io_service& service;
            owner() : service(*new io_service) {}
            ~owner() { service.end(); }
        };
        static owner the_one;
        return the_one.service;
    }
    /// False in a child of fork(), where the thread is not.
    [[nodiscard]] bool is_here() const noexcept { return process_.is_here(); }
    [[nodiscard]] const std::shared_ptr<io_source>& source() const noexcept {
        COFLUX_VERIFY(is_here(),
                      "a coroutine without a worker waits for a descriptor in the child of a fork(), where the thread "
                      "that would look after it is not");
        return source_;
    }

private:
    io_service() : source_(io_source::make()), thread_([this] { serve(); }) {}

    void serve() noexcept {
        os::name_this_thread("coflux-io");
        this_thread.keeps_timers = true;
        for (;;) {
            (void)source_->look(most_in_a_look(0));        // takes wake-ups away, so it comes before the question
            if (ends_.load(memory_order_acquire)) return;  // pairs with end()
            source_->sleep_until(~std::uint64_t{0});
        }
    }
    void end() noexcept {
        if (!process_.is_here()) return;
        ends_.store(true, memory_order_release);  // pairs with serve()
        source_->wake();
        thread_.join();
    }

    const std::shared_ptr<io_source> source_;
    os::process_mark process_;
    atomic<bool> ends_{false};  // true: the thread leaves
    thread thread_;
};

/// The host on this thread whose executor runs `p`; nullptr: it waits with the service.
event_host* host_of(const promise_base& p) noexcept {
    return this_thread.serves(identity_of(p.runs_on())) ? this_thread.events : nullptr;
}

}  // namespace

std::shared_ptr<io_source> source_for(promise_base& p) {
    event_host* const host = host_of(p);
    if (host == nullptr) return io_service::shared().source();
    if (host->source() == nullptr) {
        host->adopt(host->is_shared() ? io_source::make_shared() : io_source::make(host->has_one_thread()));
    }
    // The source of a host was made here.
    return std::static_pointer_cast<io_source>(host->shared_source());
}

bool has_io_service() {
    return io_service::shared().is_here();
}

io_source* made_source_for(const promise_base& p) noexcept {
    event_host* const host = host_of(p);
    return host != nullptr ? static_cast<io_source*>(host->source()) : nullptr;
}

}  // namespace coflux::detail
