#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace coflux::detail::os {

unsigned columns_of(std::FILE* out) noexcept {
    constexpr unsigned usual = 80;  // of a terminal that does not say its width
    const int descriptor = fileno(out);
    if (descriptor < 0 || isatty(descriptor) != 1) return 0;
    winsize size{};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : usual;
}

}  // namespace coflux::detail::os
