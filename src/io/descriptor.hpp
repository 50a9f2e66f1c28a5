// A descriptor of the system, and its home. The page docs/design/io.md has the protocol.
#pragma once

#include <cstdint>
#include <memory>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/io/endpoint.hpp>

#include "io_source.hpp"

namespace coflux::detail {

class descriptor {
public:
    descriptor(int opened, const endpoint& of) noexcept : number(opened), peer(of) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor();

    /// An operation is about to be armed, in the source that this gives. Each call is followed by end_wait().
    /// Errors: std::system_error, std::bad_alloc; then nothing has happened.
    io_source& begin_wait(promise_base& p);
    void end_wait() noexcept { waiting_.fetch_sub(1, memory_order_release); }  // pairs with is_waited_for()
    [[nodiscard]] bool is_waited_for() const noexcept {
        return waiting_.load(memory_order_acquire) != 0;  // pairs with end_wait()
    }
    /// While an operation waits, or is about to.
    [[nodiscard]] io_slot slot() const noexcept { return slot_; }
    [[nodiscard]] io_source& home() const noexcept { return *home_; }

    const int number;
    const endpoint peer;

private:
    mutex lock_;                        // guards a change of the home, which only happens while none waits
    atomic<std::uint32_t> waiting_{0};  // operations between begin_wait() and end_wait(); counted up under lock_
    std::shared_ptr<io_source> home_;   // nullptr until the first wait
    io_slot slot_;
};

}  // namespace coflux::detail
