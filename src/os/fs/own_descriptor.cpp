#include "own_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "os/system_call.hpp"

namespace coflux::detail::os {

int above_standard_streams(int opened) noexcept {
    constexpr int first = STDERR_FILENO + 1;
    if (opened < 0 || opened >= first) return opened;
    const int moved = result_of([&] { return fcntl(opened, F_DUPFD_CLOEXEC, first); });
    close(opened);
    return moved;
}

int open_own_pipe(int (&ends)[2], int flags) noexcept {
    int opened[2];
    if (const int e = result_of([&] { return pipe2(opened, flags | O_CLOEXEC); }); e < 0) return e;
    const int to_read = above_standard_streams(opened[0]);
    const int to_write = above_standard_streams(opened[1]);
    if (to_read >= 0 && to_write >= 0) {
        ends[0] = to_read;
        ends[1] = to_write;
        return 0;
    }
    if (to_read >= 0) close(to_read);
    if (to_write >= 0) close(to_write);
    return to_read < 0 ? to_read : to_write;
}

}  // namespace coflux::detail::os
