#include "free_signal.hpp"

#include <coflux/base/thread.hpp>

namespace coflux::detail::os {

int take_free_signal(signal_function handler) noexcept {
#if defined(__linux__)
    static mutex choosing;
    const lock_guard<mutex> held(choosing);
    for (int s = SIGRTMAX - 1; s > SIGRTMIN; --s) {
        struct sigaction before{};
        if (::sigaction(s, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
        struct sigaction ours{};
        ours.sa_sigaction = handler;
        ours.sa_flags = SA_RESTART | SA_SIGINFO;
        sigfillset(&ours.sa_mask);
        if (::sigaction(s, &ours, nullptr) == 0) return s;
    }
#else
    (void)handler;
#endif
    return 0;
}

}  // namespace coflux::detail::os
