// A dump of all coroutines when a signal comes.
#pragma once

#include <coflux/inspect/dump.hpp>

namespace coflux::inspect {

/// While it lives, a signal writes a dump(): `coflux::inspect::dump_on_signal on_quit(SIGQUIT);`, and `kill -QUIT PID`
/// or Ctrl-\ says on stderr where each coroutine waits.
///
/// The handler only writes to a pipe; a thread of the object's own writes the dump, also while all others are stuck.
/// Signals that come while it does are one dump more.
///
/// Errors: std::system_error, if the system has no thread or pipe, if something else of this library takes the signal,
/// or if it is one that a program cannot take.
/// Threads: the signal may arrive at any thread.
/// Costs: that thread, which is blocked until a signal comes.
/// Lifetime: at its end the signal does what it did before. A child of POSIX fork() has none of it.
class dump_on_signal {
public:
    /// `descriptor` is written to, and stays open.
    explicit dump_on_signal(int signal_number, int descriptor = 2, const dump_options& options = {});
    dump_on_signal(const dump_on_signal&) = delete;
    dump_on_signal& operator=(const dump_on_signal&) = delete;
    ~dump_on_signal();

private:
    struct watcher;  // a thread: <thread> is not for each program that includes this

    watcher* watcher_;
};

}  // namespace coflux::inspect
