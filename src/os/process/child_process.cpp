#include "child_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fs/own_descriptor.hpp"
#include "os/system_call.hpp"

extern "C" char** environ;

namespace coflux::detail::os {
namespace {

#if !defined(P_PIDFD)
constexpr auto P_PIDFD = static_cast<idtype_t>(3);
#endif

/// A descriptor of this function's own.
class held_descriptor {
public:
    explicit held_descriptor(int number = -1) noexcept : number_(number) {}
    held_descriptor(const held_descriptor&) = delete;
    held_descriptor& operator=(const held_descriptor&) = delete;
    ~held_descriptor() { reset(-1); }
    void reset(int number) noexcept {
        if (number_ >= 0) close(number_);
        number_ = number;
    }
    [[nodiscard]] int get() const noexcept { return number_; }

private:
    int number_;
};

int open_pid(int pid) noexcept {
    return above_standard_streams(result_of([&] { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }));
}

/// Where the child's streams come from: above them, so that no copy overwrites a later one's source.
int place_stream(int from, held_descriptor& to) noexcept {
    int source = from;
    held_descriptor opened;
    if (from == null_stream) {
        source = result_of([] { return open("/dev/null", O_RDWR | O_CLOEXEC); });
        if (source < 0) return source;
        opened.reset(source);
    }
    to.reset(result_of([&] { return fcntl(source, F_DUPFD_CLOEXEC, 3); }));
    return to.get();
}

/// posix_spawn's own objects.
struct spawn_setup {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error;
    spawn_setup() noexcept : error(posix_spawn_file_actions_init(&actions)) {
        if (error == 0 && (error = posix_spawnattr_init(&attributes)) != 0) posix_spawn_file_actions_destroy(&actions);
        is_made_ = error == 0;
    }
    spawn_setup(const spawn_setup&) = delete;
    spawn_setup& operator=(const spawn_setup&) = delete;
    ~spawn_setup() {
        if (!is_made_) return;
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    void add(int result) noexcept {
        if (error == 0) error = result;
    }

private:
    bool is_made_;
};

int end_of_child(int descriptor, int flags, child_end& end) noexcept {
    siginfo_t info{};
    const int e = result_of(
        [&] { return waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(descriptor), &info, WEXITED | flags); });
    if (e < 0) return e;
    if (info.si_pid == 0) return -EAGAIN;
    end = {info.si_status, info.si_code != CLD_EXITED};
    return 0;
}

/// Whether the system can wait for what a pidfd names; Linux 5.3 can only open one. 0 or a negative error number.
int check_waits(int own_pidfd) noexcept {
    child_end none{};
    return end_of_child(own_pidfd, WNOHANG, none) == -EINVAL ? -ENOSYS : 0;  // else ECHILD: this process is no child
}

}  // namespace

int spawn_child(const child_plan& plan, child& made, spawn_step& failed) noexcept {
    failed = spawn_step::stream;
    // Before others take the number of one that is closed.
    for (const int from : plan.streams) {
        if (from < 0 && from != no_stream) continue;
        if (const int e = result_of([&] { return fcntl(from, F_GETFD); }); e < 0) return e;
    }

    failed = spawn_step::pidfd;
    // Before there is a child that could not be waited for.
    held_descriptor probe(open_pid(getpid()));
    if (probe.get() < 0) return probe.get();
    if (const int e = check_waits(probe.get()); e < 0) return e;

    failed = spawn_step::directory;
    held_descriptor directory;
    if (plan.directory != nullptr) {
        // Below, the child's streams would take its place.
        directory.reset(
            above_standard_streams(result_of([&] { return open(plan.directory, O_PATH | O_DIRECTORY | O_CLOEXEC); })));
        if (directory.get() < 0) return directory.get();
    }

    failed = spawn_step::stream;
    std::array<held_descriptor, 3> streams;
    for (std::size_t i = 0; i != 3; ++i) {
        if (plan.streams[i] == inherited_stream) continue;
        if (const int e = place_stream(plan.streams[i], streams[i]); e < 0) return e;
    }

    failed = spawn_step::program;
    spawn_setup setup;
    for (int i = 0; i != 3; ++i) {
        const int from = streams[static_cast<std::size_t>(i)].get();
        // One that is inherited is left as it is. Where it is closed, what has its number is closed on exec.
        if (from >= 0) setup.add(posix_spawn_file_actions_adddup2(&setup.actions, from, i));
    }
    if (directory.get() >= 0) setup.add(posix_spawn_file_actions_addfchdir_np(&setup.actions, directory.get()));
    setup.add(posix_spawn_file_actions_addclosefrom_np(&setup.actions, 3));
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    setup.add(posix_spawnattr_setsigmask(&setup.attributes, &none));
    setup.add(posix_spawnattr_setsigdefault(&setup.attributes, &defaults));
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (plan.leads_group) {
        setup.add(posix_spawnattr_setpgroup(&setup.attributes, 0));
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    setup.add(posix_spawnattr_setflags(&setup.attributes, flags));
    if (setup.error != 0) return -setup.error;

    auto* const arguments = const_cast<char* const*>(plan.arguments);
    auto* const environment = plan.environment == nullptr ? environ : const_cast<char* const*>(plan.environment);
    pid_t pid = 0;
    if (const int e = posix_spawnp(&pid, arguments[0], &setup.actions, &setup.attributes, arguments, environment);
        e != 0)
        return -e;
    probe.reset(-1);  // leaves its number to the next
    made.pid = pid;
    made.descriptor = open_pid(pid);
    if (made.descriptor >= 0) return 0;
    failed = spawn_step::pidfd;
    end_child(pid);
    return made.descriptor;
}

int take_child_end(int descriptor, child_end& end) noexcept {
    return end_of_child(descriptor, WNOHANG, end);
}
bool has_end_to_take(int descriptor) noexcept {
    child_end end{};
    return end_of_child(descriptor, WNOHANG | WNOWAIT, end) >= 0;
}
int signal_child(int descriptor, int number) noexcept {
    return result_of([&] { return static_cast<int>(syscall(SYS_pidfd_send_signal, descriptor, number, nullptr, 0)); });
}
int signal_group(int pid, int number) noexcept {
    return result_of([&] { return kill(-pid, number); });
}

bool is_not_supported(int result) noexcept {
    return result == -ENOSYS;
}
int gone() noexcept {
    return -ESRCH;
}
bool has_child_ended(int pid) noexcept {
    return result_of([&] { return waitpid(pid, nullptr, WNOHANG); }) != 0;  // ECHILD: it was taken elsewhere
}
void end_child(int pid) noexcept {
    (void)kill(pid, SIGKILL);
    (void)result_of([&] { return waitpid(pid, nullptr, 0); });
}
int out_of_memory() noexcept {
    return -ENOMEM;
}

int open_child_pipe(int& child_end, int& own_end, bool child_reads) noexcept {
    int ends[2];
    if (const int e = open_own_pipe(ends, 0); e < 0) return e;
    child_end = ends[child_reads ? 0 : 1];
    own_end = ends[child_reads ? 1 : 0];
    return result_of([&] { return fcntl(own_end, F_SETFL, O_NONBLOCK); });
}

}  // namespace coflux::detail::os
