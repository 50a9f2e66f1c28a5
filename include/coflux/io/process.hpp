// process: children of this process.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/io/detail/process_operations.hpp>
#include <coflux/io/pipe.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class blocking_pool;

/// How a process ended.
class exit_status {
public:
    [[nodiscard]] static exit_status of_exit(int code) noexcept { return exit_status(code, false); }
    [[nodiscard]] static exit_status of_signal(int number) noexcept { return exit_status(number, true); }

    /// It returned, or called exit().
    [[nodiscard]] bool has_exited() const noexcept { return !is_signal_; }
    /// Its exit status, 0 to 255; -1 if a signal ended it.
    [[nodiscard]] int code() const noexcept { return is_signal_ ? -1 : number_; }
    /// The signal that ended it; 0 if it returned.
    [[nodiscard]] int signal() const noexcept { return is_signal_ ? number_ : 0; }
    /// It returned 0.
    [[nodiscard]] bool is_success() const noexcept { return !is_signal_ && number_ == 0; }
    /// `exited with 1`, `was ended by signal 9`.
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] bool operator==(const exit_status&) const noexcept = default;

private:
    exit_status(int number, bool is_signal) noexcept : number_(number), is_signal_(is_signal) {}

    int number_;
    bool is_signal_;
};

/// A program and its arguments: `{"sort", "-r"}`. No shell reads it.
///
/// Shapes: owns copies of the words.
class command_line {
public:
    command_line() = default;
    template <std::convertible_to<std::string_view>... Words>
        requires(sizeof...(Words) != 0)
    command_line(const Words&... words) {  // NOLINT(google-explicit-constructor): a list of them
        words_.reserve(sizeof...(Words));
        (words_.emplace_back(std::string_view(words)), ...);
    }
    // NOLINTNEXTLINE(google-explicit-constructor): a list of them
    command_line(std::vector<std::string> words) noexcept : words_(std::move(words)) {}

    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

private:
    std::vector<std::string> words_;
};

/// The standard input, output or error of a child.
class standard_stream {
public:
    /// That of this process; nothing where it has closed its own. A descriptor in the place of a closed one that is
    /// closed on exec, as all that Coflux opens, is not inherited.
    [[nodiscard]] static standard_stream inherit() noexcept { return standard_stream(kind::inherit, -1); }
    /// Nothing to read; what is written is dropped.
    [[nodiscard]] static standard_stream null() noexcept { return standard_stream(kind::null, -1); }
    /// A pipe, whose other end the `process` has.
    [[nodiscard]] static standard_stream pipe() noexcept { return standard_stream(kind::pipe, -1); }
    /// A copy of an open descriptor of the system, which stays the caller's and open until spawn() has ended.
    [[nodiscard]] static standard_stream descriptor(int number) noexcept {
        return standard_stream(kind::descriptor, number);
    }

private:
    friend class detail::spawn_awaiter;
    enum class kind : unsigned char { inherit, null, pipe, descriptor };
    standard_stream(kind what, int number) noexcept : kind_(what), number_(number) {}

    kind kind_;
    int number_;
};

/// The fate of a child whose `process` dies before it has ended.
enum class when_dropped : unsigned char {
    kill,  ///< it is ended by SIGKILL: a child is owned, as a fork is
    leave  ///< it runs on by itself
};

/// The environment variables of a child: `{"LANG=C", "PATH=/usr/bin"}`, and no others, or nothing said.
///
/// Shapes: owns copies. An empty vector is a child without variables.
class child_environment {
public:
    child_environment() noexcept = default;
    template <std::convertible_to<std::string_view>... Entries>
        requires(sizeof...(Entries) != 0)
    child_environment(const Entries&... entries)  // NOLINT(google-explicit-constructor): a list of them
        : entries_(command_line(entries...).words()) {}
    // NOLINTNEXTLINE(google-explicit-constructor): a list of them
    child_environment(std::vector<std::string> entries) noexcept : entries_(std::move(entries)) {}
    /// nullopt: those of this process.
    [[nodiscard]] const std::optional<std::vector<std::string>>& entries() const noexcept { return entries_; }

private:
    std::optional<std::vector<std::string>> entries_;
};

/// How a child is started.
struct process_options {
    standard_stream input = standard_stream::inherit();
    standard_stream output = standard_stream::inherit();
    standard_stream error = standard_stream::inherit();
    child_environment environment{};  ///< by default that of this process
    std::string directory{};          ///< in which it begins; empty: that of this process
    when_dropped dropped = when_dropped::kill;
    /// The child leads a process group of its own, with its number. Then signals of `process` go to all of that group:
    /// those of kill(), of terminate(), and of the destructor. A group of its own is in the background of a terminal:
    /// Ctrl-C does not reach it, and where it reads from the terminal, it is halted.
    bool leads_group = false;
    blocking_pool* pool = nullptr;  ///< whose threads start it; nullptr: blocking_pool::shared()
};

/// The pipe that a child writes to. Reads 0, the end, once no process has the other end any more.
using child_reader = pipe_reader;
/// The pipe that a child reads from. To close it is the end of what the child reads: a child that reads to the end
/// waits for that.
using child_writer = pipe_writer;

/// A child of this process.
///
/// It has the standard streams that it was given, and no other descriptor. It blocks no signals, and has the default
/// effect of SIGPIPE; a signal that this process ignores is ignored there, too.
///
/// Shapes: owns the child; movable, also while wait() waits, and while its pipes are used, if they were moved out.
/// Errors: std::system_error with the program in its text, unless as_result() asks for a value. A process that dies
/// while wait() waits is a checked error. The kernel waits by pidfds from 5.4 on: where it does not, spawn() fails with
/// std::errc::function_not_supported.
/// Threads: of any executor.
/// Costs: a wait is one of the thread's source of events: no thread waits for a child.
/// Lifetime: the destructor sends SIGKILL to the child if it has not ended, and never waits. With when_dropped::leave
/// it runs on. In both cases the reaper takes its end, so that it is no zombie: some 0.1 ms after SIGKILL, later where
/// the kernel keeps it, in a drive that hangs for instance. To know that it is gone: `p.kill(SIGKILL)` and `co_await
/// p.wait()`, or terminate(). Where SIGKILL is refused, by a program that has become another user's or a filter of
/// system calls, the child runs on, and the error goes to the handler of the environment that it was started in, or is
/// printed. A process that a stop unwinds ends its child in the same way. Children of the child are killed only where
/// it leads a group (process_options::leads_group). The reaper is a wait in the event source that the process has for
/// coroutines without an executor, and holds a descriptor while the child runs; where that source is not to be had, the
/// next spawn(), and the next process that dies, look whether the child has ended. The end of the program waits for no
/// child.
/// Example: examples/48_process.cpp
class process {
public:
    process() noexcept = default;
    process(process&&) noexcept = default;
    process& operator=(process&& other) noexcept {
        if (this != &other) {
            child_ = std::move(other.child_);  // first, as in the destructor
            input_ = std::move(other.input_);
            output_ = std::move(other.output_);
            error_ = std::move(other.error_);
        }
        return *this;
    }
    ~process() = default;

    /// `co_await process::spawn({"sort", "-r"}, {.input = standard_stream::pipe()})`: starts a program, on a thread of
    /// a blocking pool.
    ///
    /// Shapes: a program without a slash in its name is looked for in PATH, that of this process. Words and variables
    /// have no zero bytes.
    /// Errors: std::invalid_argument for a command without a program, or with zero bytes. std::system_error where there
    /// is no such program (std::errc::no_such_file_or_directory) or directory, it may not be run (permission_denied),
    /// or the process has no descriptors left; the text says which. Where the pool has no thread, and cannot have one:
    /// the error of that, also by as_result(). There is no child then.
    /// Stops: a stop point until a thread of the pool has begun it: then there is no child. Later the child is given,
    /// and the coroutine stops at its next stop point.
    [[nodiscard("nothing is started until this is awaited: co_await it")]] static detail::spawn_request
    spawn(command_line command, process_options options = {}) {
        return {std::move(command), std::move(options)};
    }

    /// Until it has ended; then again at once.
    /// Returns: how it ended.
    /// Errors: std::errc::no_child_process where the end was taken elsewhere: by a program that ignores SIGCHLD, or
    /// waits for any child.
    /// Stops: a stop point where it waits; loses nothing: the end is given to the next call.
    [[nodiscard("nothing is waited for until this is awaited: co_await it")]] detail::wait_process_request
    wait() noexcept {
        return detail::wait_process_request(child_);
    }
    /// Sends it a signal, SIGTERM for instance; to its group if it leads one. Never to another process, even if its
    /// number is used again, unless others take its end (wait()).
    /// Returns: false if it has ended, as far as is known.
    /// Errors: std::system_error for what is no signal (std::errc::invalid_argument), or may not be sent.
    /// Threads: one at a time, also beside a coroutine that waits.
    bool kill(int signal);
    /// `co_await child.terminate(here, 5s)`: asks it to end by SIGTERM, and ends it by SIGKILL if it runs on for
    /// `grace`.
    ///
    /// Shapes: with process_options::leads_group both go to its group, and what is left of that when the child has
    /// ended is killed: a child that waits for its own gives them the grace, too. A grace that is not positive leaves
    /// no time between the two signals.
    /// Returns: how it ended; at once if it has been waited for, and then no signal is sent.
    /// Errors: those of kill() and wait(); std::bad_alloc.
    /// Stops: a stop point where it waits; the child has got SIGTERM.
    /// Costs: two frames.
    /// Lifetime: the process is not moved until the await ends.
    /// Example: examples/48_process.cpp
    [[nodiscard("nothing is sent until this is awaited: co_await it")]] call<exit_status>
    terminate(environment& here, std::chrono::nanoseconds grace);
    // Not a number.
    template <typename N>
        requires std::is_arithmetic_v<N>
    call<exit_status> terminate(environment& here, N) {
        static_assert(detail::never<N>, "coflux: a number has no unit: write terminate(here, 5s), with "
                                        "`using namespace std::chrono_literals;`");
        return terminate(here, std::chrono::nanoseconds());
    }

    [[nodiscard]] bool has_child() const noexcept { return child_.state() != nullptr; }
    /// Its number; it is another process's once it has ended. 0: there is none.
    [[nodiscard]] int id() const noexcept { return has_child() ? child_.state()->pid : 0; }

    /// The other ends of its pipes. They may be moved out.
    [[nodiscard]] child_writer& standard_input() noexcept { return input_; }
    [[nodiscard]] child_reader& standard_output() noexcept { return output_; }
    [[nodiscard]] child_reader& standard_error() noexcept { return error_; }

private:
    friend class detail::spawn_awaiter;

    // The child dies before its pipes are closed: it sees neither an end nor an error that a program did not make.
    child_writer input_;
    child_reader output_;
    child_reader error_;
    detail::child_handle child_;
};

namespace detail {

inline exit_status end_of(const child_state& s) noexcept {
    return s.is_signal ? exit_status::of_signal(s.code) : exit_status::of_exit(s.code);
}

}  // namespace detail
}  // namespace coflux
