// Child processes. Each function returns what it gives, or the negative error number.
#pragma once

namespace coflux::detail::os {

/// In place of a standard stream's descriptor.
inline constexpr int inherited_stream = -1;
inline constexpr int null_stream = -2;
inline constexpr int no_stream = -3;  // an error

struct child_plan {
    const char* const* arguments;    ///< the first is the program, which is looked for in PATH; ends with nullptr
    const char* const* environment;  ///< nullptr: this process's
    const char* directory;           ///< nullptr: this process's
    int streams[3];                  ///< descriptors, or one of the above
    bool leads_group = false;        ///< it has a process group of its own, with its number
};
struct child {
    int pid = 0;
    int descriptor = -1;  ///< readable once it has ended
};
/// The step of a plan that failed.
enum class spawn_step : unsigned char { pidfd, directory, stream, program };

/// Starts it. It has its standard streams, of those that are inherited what is not closed on exec, and no other
/// descriptor. It blocks no signals, and has the default effect of SIGPIPE. Waits until the program has been loaded:
/// what that meets is the error.
int spawn_child(const child_plan& plan, child& made, spawn_step& failed) noexcept;

struct child_end {
    int code;  ///< what it returned, or the number of the signal
    bool is_signal;
};
/// Takes its end, once; the system then forgets it. -EAGAIN: it runs. -ECHILD: the end was taken by others.
int take_child_end(int descriptor, child_end& end) noexcept;
/// It has ended, and that was not taken.
[[nodiscard]] bool has_end_to_take(int descriptor) noexcept;
/// gone(): it has ended, and that was taken.
int signal_child(int descriptor, int number) noexcept;
/// To all of the group of a child that leads one, and whose end was not taken, so that the number is its own. gone():
/// there is none in it.
int signal_group(int pid, int number) noexcept;
[[nodiscard]] int gone() noexcept;
/// True if the system does not have the call.
[[nodiscard]] bool is_not_supported(int result) noexcept;
/// Takes the end of a child of which that was not taken, so that the number is its own: false if it runs.
[[nodiscard]] bool has_child_ended(int pid) noexcept;
/// Kills one that was just made, and waits for that.
void end_child(int pid) noexcept;
[[nodiscard]] int out_of_memory() noexcept;

/// The child's end blocks and the other one does not; neither is inherited.
int open_child_pipe(int& child_end, int& own_end, bool child_reads) noexcept;

}  // namespace coflux::detail::os
