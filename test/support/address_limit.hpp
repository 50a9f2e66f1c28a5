// A process that cannot have another thread, because there are no addresses for its stack.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <sys/resource.h>

namespace coflux_test {

/// Lets the process have so many bytes of addresses more than it has. Not under a sanitizer, which needs them.
inline void limit_addresses_to(std::size_t more) {
    std::size_t pages = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
    std::fclose(file);
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0) std::abort();
    limit.rlim_cur = pages * 4096 + more;
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}
inline void lift_the_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0) std::abort();
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}
inline constexpr std::size_t less_than_a_stack = std::size_t{4} * 1024 * 1024;

}  // namespace coflux_test
