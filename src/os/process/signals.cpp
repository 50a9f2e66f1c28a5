#include "signals.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <iterator>
#include <limits>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include <coflux/base/atomic.hpp>

#include "os/fs/own_descriptor.hpp"
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
    // 0: no signal has come since they were taken; else when the first came, in nanoseconds of the monotonic clock.
    // seq_cst, by CAS.
    atomic<std::int64_t> first{0};
    atomic<std::int64_t> same_request{0};  // written before `target`, which a handler reads first
    // They were given back so soon after the first that another one is the same request until then. Written before
    // `target`.
    atomic<std::int64_t> over_at{0};
    atomic<pid_t> over_in{0};
    static_assert(atomic<std::int64_t>::is_always_lock_free, "a handler uses them");
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

std::int64_t monotonic_now() noexcept {
    timespec t{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &t);  // a handler may call it
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// The first signal, or one that is the same request: false for a second one, and for one that is not for this process.
bool is_taken(int number) noexcept {
    if (state.target.load().process != ::getpid()) return false;
    state.running.enter();
    const handler_target at = state.target.load();
    bool is = false;
    if (at.descriptor >= 0) {
        const std::int64_t came = monotonic_now();
        std::int64_t first = 0;
        if (state.first.compare_exchange_strong(first, came)) {
            write_number(at.descriptor, number);
            is = true;
        } else {
            is = came - first < state.same_request.load();
        }
    }
    state.running.leave();
    return is;
}

/// The same request as the first signal of those that were given back.
bool is_late() noexcept {
    return state.over_in.load() == ::getpid() && monotonic_now() < state.over_at.load();
}

/// From now on the signal does what it did before; a second one, and one in a child of fork(): its default effect.
void end_handling(int number) noexcept {
    const bool given_back = state.over_in.load() == ::getpid();
    for (std::size_t i = 0; given_back && i != std::size(end_signals); ++i) {
        if (end_signals[i] == number) return static_cast<void>(::sigaction(number, &state.before[i], nullptr));
    }
    (void)std::signal(number, SIG_DFL);
}

extern "C" void coflux_on_end_signal(int number) {
    const int error = errno;
    if (!is_taken(number) && !is_late()) {
        // Where they were given back meanwhile, it has the effect of before.
        struct sigaction now = {};
        (void)::sigaction(number, nullptr, &now);
        // Where they were taken anew meanwhile, it is the first of those.
        const bool is_taken_anew = now.sa_handler == &coflux_on_end_signal && is_taken(number);
        if (now.sa_handler == &coflux_on_end_signal && !is_taken_anew) end_handling(number);
        if (!is_taken_anew)
            (void)std::raise(number);  // takes effect when this handler returns: until then the signal is blocked
    }
    errno = error;
}

}  // namespace

bool take_end_signals(std::int64_t same_request) {
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
    state.same_request.store(same_request);
    const bool left_over = state.over_in.load() == here;
    state.target.store({here, state.pipe[1]});
    state.over_in.store(0);  // now that the target takes what a handler that is left over hears
    struct sigaction handled = {};
    handled.sa_handler = &coflux_on_end_signal;
    handled.sa_flags = SA_RESTART;
    sigemptyset(&handled.sa_mask);
    for (std::size_t i = 0; i != std::size(end_signals); ++i) {
        struct sigaction now = {};
        (void)::sigaction(end_signals[i], &handled, &now);
        // Our own is left over from an earlier time, before which it was what `before` says.
        if (!left_over || now.sa_handler != &coflux_on_end_signal) state.before[i] = now;
    }
    return true;
}

int wait_for_end_signal() noexcept {
    unsigned char number = 0;
    while (::read(state.pipe[0], &number, 1) < 0 && errno == EINTR) {}
    return number;
}

void give_back_end_signals() noexcept {
    const std::int64_t first = state.first.load();
    const std::int64_t same_request = state.same_request.load();
    if (first != 0 && monotonic_now() - first < same_request) {
        constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
        state.over_at.store(first < never - same_request ? first + same_request : never);
        state.over_in.store(::getpid());
    } else {
        for (std::size_t i = 0; i != std::size(end_signals); ++i)
            (void)::sigaction(end_signals[i], &state.before[i], nullptr);
    }
    state.target.store({::getpid(), -1});
    state.running.wait_until_none();  // what a handler has to write is in the pipe before the 0
    write_number(state.pipe[1], 0);
}

void close_end_signals() noexcept {
    close_pipe();
    state.target.store({});
}

}  // namespace coflux::detail::os
