#include "signals.hpp"

#include <cerrno>
#include <csignal>
#include <iterator>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

#include "own_descriptor.hpp"
#include "signal_handlers.hpp"

namespace coflux::detail::os {
namespace {

constexpr int end_signals[] = {SIGINT, SIGTERM};

struct {
    // target   | changed by
    // ---------|----------------------------------------------------------------------------------------------------
    // 0        | signals are not taken. -> (p, -1): take_end_signals() of the process p, by CAS
    // (p, -1)  | they have the effect of before. -> (p, d), when there is a pipe; -> 0, by close_end_signals()
    // (p, d)   | the first one goes to the pipe. -> (p, -1): give_back_end_signals()
    // A child of fork() has the words of its parent: there signals have their default effect, and its own take goes on
    // from whatever it finds.
    handler_target_word target;
    // 0: no signal has come since they were taken; else the number of the first. seq_cst, by exchange.
    atomic<int> first{0};
    static_assert(atomic<int>::is_always_lock_free, "a handler uses it");
    running_handlers running;
    int pipe[2] = {-1, -1};  // what a handler can write to; of the process in `target`, or of one that it comes from
    ino_t pipe_number = 0;   // of both ends
    struct sigaction before[std::size(end_signals)] = {};
} state;

void write_number(int to, int number) noexcept {
    const auto byte = static_cast<unsigned char>(number);
    while (::write(to, &byte, 1) < 0 && errno == EINTR) {}
}

ino_t number_of_pipe(int end) noexcept {
    struct stat of = {};
    return ::fstat(end, &of) == 0 && S_ISFIFO(of.st_mode) ? of.st_ino : 0;
}
void close_pipe() noexcept {
    for (int& end : state.pipe) {
        (void)::close(end);
        end = -1;
    }
}
/// In a child of fork(), which has ends of its parent's pipe; unless it has closed them, and opened other things.
void close_pipe_of_parent() noexcept {
    for (int& end : state.pipe) {
        if (end >= 0 && state.pipe_number != 0 && number_of_pipe(end) == state.pipe_number) (void)::close(end);
        end = -1;
    }
}

/// Of a first signal: false if this is none, or is not for this process.
bool is_first(int number) noexcept {
    if (state.target.load().process != ::getpid()) return false;
    state.running.enter();
    const handler_target at = state.target.load();
    const bool is = at.descriptor >= 0 && state.first.exchange(number) == 0;
    if (is) write_number(at.descriptor, number);
    state.running.leave();
    return is;
}

extern "C" void coflux_on_end_signal(int number) {
    const int error = errno;
    if (!is_first(number)) {
        // Where they were given back meanwhile, it has the effect of before.
        struct sigaction now = {};
        (void)::sigaction(number, nullptr, &now);
        // Where they were taken anew meanwhile, it is the first of those.
        const bool is_taken = now.sa_handler == &coflux_on_end_signal && is_first(number);
        if (now.sa_handler == &coflux_on_end_signal && !is_taken) (void)std::signal(number, SIG_DFL);
        if (!is_taken)
            (void)std::raise(number);  // takes effect when this handler returns: until then the signal is blocked
    }
    errno = error;
}

}  // namespace

bool take_end_signals() {
    const pid_t here = ::getpid();
    if (!state.target.take(here)) return false;
    close_pipe_of_parent();
    if (const int e = open_own_pipe(state.pipe, 0); e < 0) {
        state.pipe[0] = state.pipe[1] = -1;
        state.target.store({});
        throw std::system_error(-e, std::generic_category(), "a pipe for signals");
    }
    state.pipe_number = number_of_pipe(state.pipe[0]);
    state.first.store(0);
    state.target.store({here, state.pipe[1]});
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
    return number;
}

void give_back_end_signals() noexcept {
    for (std::size_t i = 0; i != std::size(end_signals); ++i)
        (void)::sigaction(end_signals[i], &state.before[i], nullptr);
    state.target.store({::getpid(), -1});
    state.running.wait_until_none();  // what a handler has to write is in the pipe before the 0
    write_number(state.pipe[1], 0);
}

void close_end_signals() noexcept {
    close_pipe();
    state.target.store({});
}

}  // namespace coflux::detail::os
