// signal_set: signals of the system as something to await.
#pragma once

#include <coroutine>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/detail/io_operation.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

/// A signal that came.
struct received_signal {
    int number = 0;
    int sender_pid = 0;       ///< the process that sent it, for SIGCHLD the child; 0: a timer, the system, or unknown
    unsigned sender_uid = 0;  ///< its user; where sender_pid is 0, nothing
    int value = 0;            ///< what sigqueue(3), a timer of timer_create(2), or mq_notify(3) carried
};

namespace detail {

/// A signal that a select has taken. It is given back to its set, as the first to come, unless it is kept.
class taken_signal {
public:
    explicit taken_signal(const received_signal& signal) noexcept : signal_(signal) {}
    taken_signal(taken_signal&& from) noexcept : signal_(std::exchange(from.signal_, {})) {}
    taken_signal& operator=(taken_signal&&) = delete;
    ~taken_signal() {
        if (signal_.number != 0) give_back(signal_);
    }
    received_signal keep() noexcept { return std::exchange(signal_, {}); }

private:
    static void give_back(const received_signal& signal) noexcept;

    received_signal signal_;  // without a number: none
};

class next_signal_awaiter : public io_operation {
public:
    next_signal_awaiter(promise_base& p, descriptor_handle& on, std::uint64_t caught) noexcept
        : io_operation(p, on.get(), kind),
          caught_(caught) {}
    [[nodiscard]] bool await_ready() noexcept { return try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    received_signal await_resume();
    io_result<received_signal> resume_with_result() noexcept;

private:
    static bool take(io_operation& op) noexcept;
    static const io_kind kind;

    std::uint64_t caught_;  // a bit for each signal, the lowest for number 1
    std::ptrdiff_t error_ = 0;
    received_signal got_;

public:
    // In a select a signal that was taken is given back, if another case has won.
    class claim_awaiter;
    using has_two_steps = next_signal_awaiter;
    static request<claim_awaiter, descriptor_handle&, std::uint64_t> claim(descriptor_handle& on,
                                                                           std::uint64_t caught) noexcept {
        return {on, caught};
    }
    static received_signal finish(taken_signal signal, descriptor_handle&, std::uint64_t) noexcept {
        return signal.keep();
    }
};
class [[nodiscard]] next_signal_awaiter::claim_awaiter : public next_signal_awaiter {
public:
    using next_signal_awaiter::next_signal_awaiter;
    taken_signal await_resume() { return taken_signal(next_signal_awaiter::await_resume()); }
};
using next_signal_request = io_request<next_signal_awaiter, descriptor_handle&, std::uint64_t>;

}  // namespace detail

/// While it lives, signals are taken by a coroutine: `coflux::signal_set signals{SIGHUP, SIGUSR1};`, then
/// `co_await signals.next()`.
///
/// It catches the signals of the whole process, whichever thread they come to, threads that were made before it and
/// threads of other libraries among them. No thread needs to block anything, and children are started as ever. It uses
/// a handler and not a signalfd, which sees only signals that all threads of the process block.
///
/// Shapes: owns two descriptors; movable. One coroutine at a time waits. A signal is in one set at a time.
/// Errors: std::system_error from the constructor, and then no signal is caught: std::errc::device_or_resource_busy for
/// a signal that is in another set; std::errc::invalid_argument for what cannot be caught (SIGKILL, SIGSTOP), or comes
/// from a fault of the program (SIGSEGV, SIGBUS, SIGFPE, SIGILL); and where the system has no descriptors. A set that
/// dies while next() waits is a checked error.
/// Threads: of any executor. System calls that a handler interrupts are restarted where the system restarts any
/// (SA_RESTART).
/// Costs: a wait is one of the thread's source of events; nothing is allocated once it has waited.
/// Lifetime: when it dies, the signals have the effect again that they had before it, unless the program has given them
/// another one meanwhile. Signals that came and were not taken go with it. A set of SIGINT or SIGTERM that is made
/// while a stop_on_signals lives, inside coflux::run for instance, takes them in its stead, and gives them back; it
/// must not outlive that. In a child of POSIX fork() the signals have their default effect, a set of the parent's does
/// nothing when it dies, and the child may make sets of the same signals.
/// Example: examples/47_signals.cpp
class signal_set {
public:
    explicit signal_set(std::span<const int> numbers);
    signal_set(std::initializer_list<int> numbers)
        : signal_set(std::span<const int>(numbers.begin(), numbers.size())) {}
    signal_set(signal_set&& other) noexcept
        : pipe_(std::move(other.pipe_)),
          write_end_(std::exchange(other.write_end_, -1)),
          caught_(std::exchange(other.caught_, 0)) {}
    /// Its own signals are let go first.
    signal_set& operator=(signal_set&& other) noexcept;
    ~signal_set() { release(); }

    /// The next signal, in the order in which the handler ran.
    ///
    /// Signals that the system gives to several threads at once may change places, real-time signals, too. A program
    /// that needs their order blocks them in all threads but one.
    /// A signal that comes again before it is taken comes twice; where more than 2 700 wait, those of one number become
    /// one, whose sender is unknown, and more than one if some are taken meanwhile.
    /// Stops: a stop point where it waits; loses nothing: what comes is given to the next call, and so is what has come
    /// where the case of next() loses in a select(). A losing case of when_any() or race() drops its signal.
    [[nodiscard("no signal is taken until this is awaited: co_await it")]] detail::next_signal_request next() noexcept {
        return {pipe_, caught_};
    }

private:
    void release() noexcept;

    detail::descriptor_handle pipe_;  // its end to read
    int write_end_ = -1;
    std::uint64_t caught_ = 0;  // a bit for each signal, the lowest for number 1
};

}  // namespace coflux
