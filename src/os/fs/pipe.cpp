#include "pipe.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

#include "os/system_call.hpp"

namespace coflux::detail::os {
namespace {

static_assert(sizeof(buffer) == sizeof(iovec) && offsetof(buffer, size) == offsetof(iovec, iov_len));

const iovec* as_iovec(const buffer* buffers) noexcept {
    return reinterpret_cast<const iovec*>(buffers);
}

#ifndef RWF_NOSIGNAL
constexpr int no_signal = 0x100;  // <linux/fs.h> of 6.18
#else
constexpr int no_signal = RWF_NOSIGNAL;
#endif

/// Whether the system takes no_signal. false once it has refused: any thread may find that out, and all find the same.
atomic<bool> knows_no_signal{true};

/// A call that may raise SIGPIPE, see write_with_signal_blocked().
template <typename Call>
std::ptrdiff_t with_signal_blocked(Call call) noexcept {
    sigset_t broken_pipe;
    sigset_t before;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    // One that no thread blocks does not wait: it has been delivered.
    bool waited = false;
    if (sigismember(&before, SIGPIPE) == 1) {
        sigset_t pending;
        sigpending(&pending);
        waited = sigismember(&pending, SIGPIPE) == 1;
    }
    const std::ptrdiff_t written = result_of(call);
    if (written == -EPIPE && !waited) {
        const timespec now{};
        (void)result_of([&] { return sigtimedwait(&broken_pipe, nullptr, &now); });  // EAGAIN: it is ignored
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return written;
}

}  // namespace

int open_pipe(int (&ends)[2]) noexcept {
    return result_of([&] { return pipe2(ends, O_NONBLOCK | O_CLOEXEC); });
}

int check_pipe(int descriptor, bool to_write) noexcept {
    struct stat status{};
    if (const int e = result_of([&] { return fstat(descriptor, &status); }); e < 0) return e;
    const bool is_one = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || isatty(descriptor) == 1;
    if (!is_one) return -EINVAL;
    const int flags = result_of([&] { return fcntl(descriptor, F_GETFL); });
    if (flags < 0) return flags;
    return (flags & O_ACCMODE) == (to_write ? O_RDONLY : O_WRONLY) ? -EBADF : 0;
}

std::ptrdiff_t read_some(int descriptor, const buffer* into, std::size_t buffers) noexcept {
    if (buffers == 1) return result_of([&] { return read(descriptor, into->data, into->size); });  // 0.05 us less
    return result_of([&] { return readv(descriptor, as_iovec(into), static_cast<int>(buffers)); });
}

std::ptrdiff_t write_some(int descriptor, const buffer* from, std::size_t buffers) noexcept {
    if (knows_no_signal.load(memory_order_relaxed)) {  // relaxed: a hint, which costs one call where it is old
        // Not pwritev2(), which is a point of cancellation. The offset is -1, in one register or in two.
        const std::ptrdiff_t written = result_of([&] {
            return syscall(SYS_pwritev2, descriptor, as_iovec(from), static_cast<long>(buffers), -1L, -1L, no_signal);
        });
        if (written != -EOPNOTSUPP && written != -EINVAL && written != -ENOSYS) return written;
        knows_no_signal.store(false, memory_order_relaxed);
    }
    return write_with_signal_blocked(descriptor, from, buffers);
}

std::ptrdiff_t write_with_signal_blocked(int descriptor, const buffer* from, std::size_t buffers) noexcept {
    return with_signal_blocked([&] { return writev(descriptor, as_iovec(from), static_cast<int>(buffers)); });
}

int room_of_pipe(int descriptor) noexcept {
    return result_of([&] { return fcntl(descriptor, F_GETPIPE_SZ); });
}

bool is_scarce(int descriptor) noexcept {
    rlimit most{};
    if (getrlimit(RLIMIT_NOFILE, &most) != 0) return true;
    return static_cast<rlim_t>(descriptor) >= most.rlim_cur / 2;  // the lowest free number is what a call gives
}

std::ptrdiff_t splice_into_pipe(int socket, int pipe, std::size_t size) noexcept {
    return result_of([&] { return splice(socket, nullptr, pipe, nullptr, size, SPLICE_F_NONBLOCK | SPLICE_F_MOVE); });
}

std::ptrdiff_t splice_from_pipe(int pipe, int socket, std::size_t size) noexcept {
    return with_signal_blocked(
        [&] { return splice(pipe, nullptr, socket, nullptr, size, SPLICE_F_NONBLOCK | SPLICE_F_MOVE); });
}

}  // namespace coflux::detail::os
