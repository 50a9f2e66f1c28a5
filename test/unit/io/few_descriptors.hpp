// A process that runs out of descriptors.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace coflux_test {

/// Leaves the process so many descriptors while it lives.
class few_descriptors {
public:
    explicit few_descriptors(int left) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const int next = dup(0);
        close(next);
        rlimit tight = before_;
        tight.rlim_cur = static_cast<rlim_t>(next + left);
        setrlimit(RLIMIT_NOFILE, &tight);
    }
    few_descriptors(const few_descriptors&) = delete;
    few_descriptors& operator=(const few_descriptors&) = delete;
    ~few_descriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

}  // namespace coflux_test
