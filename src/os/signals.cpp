#include "signals.hpp"

#include <cerrno>
#include <csignal>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {
namespace {

constexpr int end_signals[] = {SIGINT, SIGTERM};

struct {
    // 0: no signal has come since they were taken; else the number of the first. The handler is a function of the whole
    // process.
    atomic<int> first{0};
    static_assert(atomic<int>::is_always_lock_free, "a handler uses it");
    atomic<bool> taken{false};
    // The handler can write to a pipe and do little else. Made once and kept: a handler may still run when the signals'
    // former handlers are set again.
    int pipe[2] = {-1, -1};
    struct sigaction before[std::size(end_signals)] = {};
} state;

void write_number(int number) noexcept {
    const auto byte = static_cast<unsigned char>(number);
    while (::write(state.pipe[1], &byte, 1) < 0 && errno == EINTR) {}
}

extern "C" void coflux_on_end_signal(int number) {
    const int error = errno;
    if (state.first.exchange(number) == 0) {
        write_number(number);
    } else {
        (void)std::signal(number, SIG_DFL);
        (void)std::raise(number);  // takes effect when this handler returns: until then the signal is blocked
    }
    errno = error;
}

void make_pipe() {
    if (state.pipe[0] >= 0) return;
    if (::pipe(state.pipe) != 0) throw std::system_error(errno, std::generic_category(), "a pipe for signals");
    for (const int end : state.pipe) (void)::fcntl(end, F_SETFD, FD_CLOEXEC);
}

}  // namespace

bool take_end_signals() {
    if (state.taken.exchange(true)) return false;
    try {
        make_pipe();
    } catch (...) {
        state.taken.store(false);
        throw;
    }
    state.first.store(0);
    struct sigaction handled = {};
    handled.sa_handler = &coflux_on_end_signal;
    handled.sa_flags = SA_RESTART;
    sigemptyset(&handled.sa_mask);
    for (std::size_t i = 0; i != std::size(end_signals); ++i)
        (void)::sigaction(end_signals[i], &handled, &state.before[i]);
    return true;
}

int wait_for_end_signal() noexcept {
    unsigned char number = 0;
    while (::read(state.pipe[0], &number, 1) < 0 && errno == EINTR) {}
    if (number == 0) state.taken.store(false);
    return number;
}

void give_back_end_signals() noexcept {
    for (std::size_t i = 0; i != std::size(end_signals); ++i)
        (void)::sigaction(end_signals[i], &state.before[i], nullptr);
    write_number(0);
}

}  // namespace coflux::detail::os
