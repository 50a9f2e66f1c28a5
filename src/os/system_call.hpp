// How a system call gives its result.
#pragma once

#include <cerrno>

namespace coflux::detail::os {

/// The result of a call, or the negative error number; it is repeated where a signal has interrupted it.
template <typename Call>
auto result_of(Call call) noexcept -> decltype(call()) {
    for (;;) {
        const auto result = call();
        if (result >= 0) return result;
        if (errno != EINTR) return -errno;
    }
}

}  // namespace coflux::detail::os
