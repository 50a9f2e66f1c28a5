#include "caught_signals.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {
namespace {

constexpr int signal_numbers = 65;  // of Linux, from 1 on

/// What a handler finds. All orders are seq_cst: release_signal() and a handler each write their word before they read
/// the other's.
struct {
    atomic<bool> taken[signal_numbers] = {};   // true: of a set; guards `before`
    atomic<int> pipe[signal_numbers] = {};     // where its records go; only looked at while a handler counts as running
    atomic<bool> missed[signal_numbers] = {};  // true: it came while its pipe was full, and stands for one record
    atomic<int> running{0};                    // handlers that may use what they found in `pipe`
    atomic<pid_t> process{0};                  // whose handlers they are: children of fork() have them, too
    struct sigaction before[signal_numbers] = {};
} caught;
static_assert(atomic<int>::is_always_lock_free && atomic<bool>::is_always_lock_free &&
                  atomic<pid_t>::is_always_lock_free,
              "a handler uses them");

bool write_signal(int to, const signal_record& r) noexcept {
    for (;;) {
        if (::write(to, &r, sizeof r) == static_cast<ssize_t>(sizeof r)) return true;
        if (errno != EINTR) return false;
    }
}

extern "C" void coflux_on_caught_signal(int number, siginfo_t* info, void*) {
    const int error = errno;
    if (::getpid() != caught.process.load()) {
        // The pipe is the parent's.
        (void)std::signal(number, SIG_DFL);
        (void)std::raise(number);  // takes effect when this handler returns: until then it is blocked
        errno = error;
        return;
    }
    caught.running.fetch_add(1);
    if (const int to = caught.pipe[number].load(); to >= 0) {
        const bool is_sent = info->si_code <= 0;  // by a process, with its ids
        signal_record r{number, info->si_code, 0, 0, 0, 0};
        if (is_sent || number == SIGCHLD) {
            r.pid = info->si_pid;
            r.uid = info->si_uid;
        }
        if (info->si_code == SI_QUEUE) r.value = info->si_value.sival_int;
        if (!write_signal(to, r)) {
            // A taker that finds the pipe empty looks here then. The second record wakes one that has looked before.
            caught.missed[number].store(true);
            (void)write_signal(to, signal_record{0, 0, 0, 0, 0, 0});
        }
    }
    caught.running.fetch_sub(1);
    errno = error;
}

bool can_be_caught(int number) noexcept {
    switch (number) {
    case SIGKILL:
    case SIGSTOP:
    // The thread would fault again and again.
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL: return false;
    default: return number > 0 && number < signal_numbers;
    }
}

}  // namespace

int open_signal_pipe(int& read_end, int& write_end) noexcept {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
    read_end = ends[0];
    write_end = ends[1];
    return 0;
}
void close_signal_pipe(int end) noexcept {
    ::close(end);
}

int catch_signal(int number, int write_end) noexcept {
    if (!can_be_caught(number)) return -EINVAL;
    if (caught.taken[number].exchange(true)) return -EBUSY;
    caught.process.store(::getpid());
    caught.missed[number].store(false);
    caught.pipe[number].store(write_end);
    struct sigaction handled = {};
    handled.sa_sigaction = &coflux_on_caught_signal;
    handled.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
    sigfillset(&handled.sa_mask);
    if (::sigaction(number, &handled, &caught.before[number]) == 0) return 0;
    const int error = -errno;
    caught.pipe[number].store(-1);
    caught.taken[number].store(false);
    return error;
}

void release_signal(int number) noexcept {
    struct sigaction now = {};
    (void)::sigaction(number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &coflux_on_caught_signal)
        (void)::sigaction(number, &caught.before[number], nullptr);
    caught.pipe[number].store(-1);
    caught.taken[number].store(false);
}

void wait_for_signal_handlers() noexcept {
    while (caught.running.load() != 0) sched_yield();
}

std::ptrdiff_t take_signal(int read_end, std::uint64_t wanted, signal_record& into) noexcept {
    for (;;) {
        const ssize_t got = ::read(read_end, &into, sizeof into);
        if (got == static_cast<ssize_t>(sizeof into)) {
            if (into.number != 0) return 1;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    for (int number = 1; number != signal_numbers; ++number) {
        if ((wanted >> (number - 1) & 1) == 0 || !caught.missed[number].load()) continue;
        if (!caught.missed[number].exchange(false)) continue;
        into = signal_record{number, 0, 0, 0, 0, 0};
        return 1;
    }
    return -EAGAIN;
}

}  // namespace coflux::detail::os
