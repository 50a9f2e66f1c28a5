// Signals of the process as records in a pipe. Functions that can fail return the negative error number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux::detail::os {

/// The facts of a signal that came.
struct signal_record {
    std::int32_t number;
    std::int32_t code;     // si_code
    std::int32_t pid;      // of its sender; 0: it has none
    std::uint32_t uid;     // of that
    std::int32_t value;    // of sigqueue(), of a timer, of a queue of messages
    std::int32_t padding;  // 0
};

/// Both ends are not inherited and do not block.
int open_signal_pipe(int& read_end, int& write_end) noexcept;
/// From now on `number` becomes a record in `write_end`, whichever thread it comes to. EBUSY if it does so already,
/// EINVAL for what cannot be caught, or comes from a fault of the program.
int catch_signal(int number, int write_end) noexcept;
/// It has the effect again that it had before, unless the program has given it another one since. Nothing, where it
/// does not go to `write_end` in this process: a set that fork() has copied has caught nothing here.
void release_signal(int number, int write_end) noexcept;
/// After release_signal(): no handler writes any more to the pipe that it found before.
void wait_for_signal_handlers() noexcept;
/// The next record of a pipe. `wanted`: a bit for each signal in it, the lowest for number 1. -EAGAIN: there is none.
std::ptrdiff_t take_signal(int read_end, std::uint64_t wanted, signal_record& into) noexcept;
/// take_signal() gives `record` again, before all others. Nothing, where its signal was released meanwhile.
/// Pre: no take_signal() of that pipe at the same time, and no other record of that signal is given back.
void give_back_signal(const signal_record& record) noexcept;
void close_signal_pipe(int end) noexcept;

}  // namespace coflux::detail::os
