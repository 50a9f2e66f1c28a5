#include "os/process/quiet_signals.hpp"

#include <initializer_list>

namespace coflux::detail::os {

kept_sigpipe::kept_sigpipe() noexcept : before_{} {
    (void)::sigaction(SIGPIPE, nullptr, &before_);
}

kept_sigpipe::~kept_sigpipe() {
    (void)::sigaction(SIGPIPE, &before_, nullptr);
}

void block_signals_of_this_thread() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace coflux::detail::os
