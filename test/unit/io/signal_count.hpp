// Counts a signal that must not come.
#pragma once

#include <csignal>

namespace coflux_test {

inline volatile std::sig_atomic_t signals = 0;

/// SIGPIPE is counted while it lives, in `signals`.
class signal_count {
public:
    signal_count() {
        signals = 0;
        struct sigaction counted{};
        counted.sa_handler = [](int) { signals = signals + 1; };
        sigaction(SIGPIPE, &counted, &before_);
    }
    signal_count(const signal_count&) = delete;
    signal_count& operator=(const signal_count&) = delete;
    ~signal_count() { sigaction(SIGPIPE, &before_, nullptr); }

private:
    struct sigaction before_{};
};

}  // namespace coflux_test
