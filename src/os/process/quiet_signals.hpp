// Signals that libraries of others must not bring into the program.
#pragma once

#include <csignal>

namespace coflux::detail::os {

/// Keeps what a write to a closed connection does, though a library changes it meanwhile.
class kept_sigpipe {
public:
    kept_sigpipe() noexcept;
    ~kept_sigpipe();
    kept_sigpipe(const kept_sigpipe&) = delete;
    kept_sigpipe& operator=(const kept_sigpipe&) = delete;

private:
    struct sigaction before_;
};

/// The calling thread, and those that it makes, run no handler of a signal, and SIGPIPE ends nothing there.
void block_signals_of_this_thread() noexcept;

}  // namespace coflux::detail::os
