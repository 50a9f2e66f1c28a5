#include "caught_signals.hpp"

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

#include "os/fs/own_descriptor.hpp"
#include "signal_handlers.hpp"

namespace coflux::detail::os {
namespace {

constexpr int signal_numbers = 65;  // of Linux, from 1 on

/// The words that a handler finds. All orders are seq_cst: release_signal() and a handler each write their word before
/// they read the other's.
struct {
    // target | changed by
    // -------|----------------------------------------------------------------------------------------------------
    // 0      | of no set. -> (p, -1): catch_signal() in the process p, by CAS
    // (p, -1)| as (p, d) soon will be. -> (p, d): the same
    // (p, d) | its records go to d; guards `before`. -> 0: release_signal()
    // A child of fork() has the words of its parent: there signals have their default effect, and its own sets go on
    // from whatever they find.
    handler_target_word target[signal_numbers] = {};
    atomic<bool> missed[signal_numbers] = {};  // true: it came while its pipe was full, and counts as one record
    atomic<std::uint64_t> given_back{0};       // a bit for each signal that has a record in `back`, the lowest for 1
    signal_record back[signal_numbers] = {};   // of the one taker of each
    running_handlers running;                  // that may use what they found in `target`
    struct sigaction before[signal_numbers] = {};
} caught;
static_assert(atomic<bool>::is_always_lock_free, "a handler uses it");

bool write_signal(int to, const signal_record& r) noexcept {
    for (;;) {
        if (::write(to, &r, sizeof r) == static_cast<ssize_t>(sizeof r)) return true;
        if (errno != EINTR) return false;
    }
}

signal_record record_of(int number, const siginfo_t& info) noexcept {
    signal_record r{number, info.si_code, 0, 0, 0, 0};
    // Others have something else in the place of these: a timer its number, for instance.
    switch (info.si_code) {
    case SI_USER:
    case SI_TKILL:
    case SI_QUEUE:
    case SI_MESGQ:
        r.pid = info.si_pid;
        r.uid = info.si_uid;
        break;
    default:
        if (number == SIGCHLD && info.si_code > 0) {
            r.pid = info.si_pid;
            r.uid = info.si_uid;
        }
    }
    if (info.si_code == SI_QUEUE || info.si_code == SI_TIMER || info.si_code == SI_MESGQ)
        r.value = info.si_value.sival_int;
    return r;
}

extern "C" void coflux_on_caught_signal(int number, siginfo_t* info, void*) {
    const int error = errno;
    const handler_target of = caught.target[number].load();
    if (of.process != ::getpid() || of.descriptor < 0) {
        if (of.process != 0) {  // else it was released meanwhile
            (void)std::signal(number, SIG_DFL);
            (void)std::raise(number);  // takes effect when this handler returns: until then it is blocked
        }
        errno = error;
        return;
    }
    caught.running.enter();
    if (const int to = caught.target[number].load().descriptor; to >= 0) {
        if (!write_signal(to, record_of(number, *info))) {
            // A taker that finds the pipe empty looks here then. The second record wakes one that has looked before.
            caught.missed[number].store(true);
            (void)write_signal(to, signal_record{0, 0, 0, 0, 0, 0});
        }
    }
    caught.running.leave();
    errno = error;
}

constexpr std::uint64_t bit_of(int number) noexcept {
    return std::uint64_t{1} << (number - 1);
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
    if (const int e = open_own_pipe(ends, O_NONBLOCK); e < 0) return e;
    read_end = ends[0];
    write_end = ends[1];
    return 0;
}
void close_signal_pipe(int end) noexcept {
    ::close(end);
}

int catch_signal(int number, int write_end) noexcept {
    if (!can_be_caught(number)) return -EINVAL;
    const pid_t here = ::getpid();
    if (!caught.target[number].take(here)) return -EBUSY;
    caught.missed[number].store(false);
    caught.given_back.fetch_and(~bit_of(number));
    caught.target[number].store({here, write_end});
    struct sigaction handled = {};
    handled.sa_sigaction = &coflux_on_caught_signal;
    handled.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
    sigfillset(&handled.sa_mask);
    if (struct sigaction& before = caught.before[number]; ::sigaction(number, &handled, &before) == 0) {
        if (before.sa_sigaction == &coflux_on_caught_signal) before = {};  // the parent's: the default, in a child
        return 0;
    }
    const int error = -errno;
    caught.target[number].store({});
    return error;
}

void release_signal(int number, int write_end) noexcept {
    if (caught.target[number].load() != handler_target{::getpid(), write_end}) return;
    struct sigaction now = {};
    (void)::sigaction(number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &coflux_on_caught_signal)
        (void)::sigaction(number, &caught.before[number], nullptr);
    caught.target[number].store({});
}

void wait_for_signal_handlers() noexcept {
    caught.running.wait_until_none();
}

void give_back_signal(const signal_record& record) noexcept {
    const handler_target of = caught.target[record.number].load();
    if (of.process != ::getpid() || of.descriptor < 0) return;
    caught.back[record.number] = record;
    caught.given_back.fetch_or(bit_of(record.number));
    (void)write_signal(of.descriptor, signal_record{0, 0, 0, 0, 0, 0});  // so that it can be read
}

std::ptrdiff_t take_signal(int read_end, std::uint64_t wanted, signal_record& into) noexcept {
    if (const std::uint64_t back = caught.given_back.load() & wanted; back != 0) {
        const int number = std::countr_zero(back) + 1;
        into = caught.back[number];
        caught.given_back.fetch_and(~bit_of(number));
        return 1;
    }
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
        if ((wanted & bit_of(number)) == 0 || !caught.missed[number].load()) continue;
        if (!caught.missed[number].exchange(false)) continue;
        into = signal_record{number, 0, 0, 0, 0, 0};
        return 1;
    }
    return -EAGAIN;
}

}  // namespace coflux::detail::os
