// output_of: runs a program to its end, and gives what it wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/io/process.hpp>

namespace coflux {

/// How output_of() runs a program.
struct output_options {
    std::string_view input{};                ///< what it reads, and then the end; lives until the await ends
    std::size_t output_limit = 1024 * 1024;  ///< how many bytes it writes to its standard output at most
    std::size_t error_limit = 64 * 1024;     ///< the same of its standard error
    child_environment environment{};         ///< by default that of this process
    std::string directory{};                 ///< in which it begins; empty: that of this process
    bool leads_group = false;                ///< as in process_options: SIGKILL goes to its children, too
    blocking_pool* pool = nullptr;           ///< whose threads start it; nullptr: blocking_pool::shared()
};

/// The output and the end of a program.
struct process_output {
    exit_status status;
    std::string output;
    std::string error;
};

/// `const auto made = co_await coflux::output_of(here, {"git", "describe"}); if (made.status.is_success()) …`
///
/// Starts a program, gives it `input`, collects what it writes to its standard output and its standard error at the
/// same time, and waits for its end: it never stands still because a pipe is full.
/// Returns: how it ended, and both texts. A program that fails is no error: look at `status`. A program that ends, or
/// closes its standard input, before it has read all of `input` is none either. The texts end where all have closed the
/// pipe, children of the program included: one that it leaves in the background is waited for.
/// Errors: those of process::spawn(). limit_exceeded, which names the stream, the program and both numbers, where it
/// writes more than a limit; the program is ended then. Those of reads and writes of pipes, and of process::wait();
/// std::bad_alloc. After an error the program is ended by SIGKILL, as by the destructor of process.
/// Stops: until a thread of the pool has begun to start it, there is no program. Later a stop point where it waits; the
/// program is ended by SIGKILL, and what it wrote is lost. So timeout() is the limit for the whole.
/// Threads: of any executor. No simulation has processes: the program is a real one there, too.
/// Costs: those of a process and its pipes; eight frames, and the texts, which grow by doubling.
/// Lifetime: `input` lives until the await ends.
/// Example: examples/48_process.cpp
[[nodiscard("nothing is started until this is awaited: co_await it")]] call<process_output>
output_of(environment&, command_line command, output_options options = {});

}  // namespace coflux
