// A run_loop behind its handle. The page docs/design/serial_executors.md has the protocol.
#pragma once

#include <cstddef>
#include <memory>

#include <coflux/base/atomic.hpp>

#include "os/thread/wake_descriptor.hpp"
#include "serial_loop.hpp"

namespace coflux::detail {

class run_loop_state final : public serial_loop {
public:
    run_loop_state();
    ~run_loop_state();

    /// Runs until something of this ends it.
    struct limits {
        std::size_t most = ~std::size_t{0};
        clock_tick deadline = timing_wheel::never;
        bool waits = true;       // else it ends where nothing is ready
        bool heeds_stop = true;  // stop() ends it
        bool (*goes_on)(const void*) noexcept = nullptr;
        const void* root = nullptr;
    };
    /// Returns how many it resumed.
    std::size_t run(const limits& l);
    void stop() noexcept;
    /// Any thread: limits::goes_on may say something else now.
    void look_again() noexcept { wake(); }
    int descriptor();
    /// 0: something is queued.
    [[nodiscard]] clock_tick wants_to_run_at() noexcept;

    static constexpr clock_tick at_once = 0;

private:
    void wake() noexcept override;
    [[nodiscard]] bool has_one_thread() const noexcept override { return false; }  // any may run it next
    bool must_give_way() noexcept override { return true; }                        // to a limit, or a stop
    bool take_stop() noexcept;
    /// Nothing runs from now on: the next post, and the next timer, make the descriptor readable.
    void leave() noexcept;

    // Set by any thread, taken by the one that runs. acquire and release: it sees what was done before the stop().
    atomic<bool> stop_asked_{false};
    atomic<bool> runs_{false};  // for the check that one thread runs it
    // nullptr until it is asked for; then it stays. release and acquire: a thread that posts sees a whole one.
    atomic<os::wake_descriptor*> published_{nullptr};
    std::unique_ptr<os::wake_descriptor> descriptor_;
};

}  // namespace coflux::detail
