#include "isolated.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include <coflux/base/config.hpp>

#if COFLUX_ASAN
#    include <sanitizer/lsan_interface.h>
#endif

namespace coflux_simulations {
namespace {

/// In the child.
[[noreturn]] void run_and_exit(const std::function<int()>& run) {
    (void)std::signal(SIGABRT, SIG_DFL);
    (void)::alarm(60);  // a hang ends the child, and that ends the test
    int status = run();
#if COFLUX_ASAN
    if (__lsan_do_recoverable_leak_check() != 0) status = -1;
#endif
    (void)std::fflush(nullptr);
    if (status == -1) (void)std::raise(SIGKILL);
    ::_exit(status);
}

}  // namespace

ending isolated(const std::function<int()>& run) {
    int ends[2];
    (void)std::fflush(nullptr);
    if (::pipe(ends) != 0) return {-1, "no pipe"};
    const pid_t child = ::fork();
    if (child < 0) return {-1, "no process"};
    if (child == 0) {
        (void)::dup2(ends[1], STDERR_FILENO);
        (void)::close(ends[0]);
        (void)::close(ends[1]);
        run_and_exit(run);
    }
    (void)::close(ends[1]);
    ending result;
    char some[4096];
    for (;;) {
        const ssize_t got = ::read(ends[0], some, sizeof some);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        result.written.append(some, static_cast<std::size_t>(got));
    }
    (void)::close(ends[0]);
    int how = 0;
    while (::waitpid(child, &how, 0) < 0 && errno == EINTR) {}
    result.status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM) result.written += "no end within a minute\n";
    if (WIFSIGNALED(how)) result.written += std::string("ended by ") + strsignal(WTERMSIG(how)) + "\n";
    return result;
}

}  // namespace coflux_simulations
