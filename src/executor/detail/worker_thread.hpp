// A thread that runs the coroutines of one serial executor. The page docs/design/serial_executors.md has the protocol.
#pragma once

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/executor/worker.hpp>

#include "serial_loop.hpp"

namespace coflux::detail {

class worker_thread : public serial_loop {
public:
    /// Its thread begins in start().
    explicit worker_thread(worker_options options, const char* what = "a worker");
    /// Ends the thread when it has run what is queued.
    virtual ~worker_thread();

    void start();

protected:
    /// Called by the destructors of classes that override something: as ~worker_thread(), which does it where it was
    /// not done.
    void end() noexcept;
    /// On the thread, before it runs anything.
    virtual void enter() noexcept {}

private:
    void serve() noexcept;

    const worker_options options_;
    atomic<bool> ends_{false};  // true: the thread leaves when nothing is queued; set once, before a wake
    thread thread_;
};

}  // namespace coflux::detail
