// A process that ends by abort() or _exit() writes no counts of what ran: this one does, so that a death test, and a
// test whose child has to end at once, count as what they are.
#include <csignal>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

extern "C" void __gcov_dump();

namespace {

extern "C" void write_counts(int) {
    __gcov_dump();  // abort() raises the signal in the calling thread; when the handler returns, it ends the process
}

[[maybe_unused]] const auto installed = std::signal(SIGABRT, write_counts);

[[noreturn]] void end(int status) {
    __gcov_dump();
    for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

// In place of the C library's.
extern "C" [[noreturn]] void _exit(int status) {
    end(status);
}
extern "C" [[noreturn]] void _Exit(int status) noexcept {
    end(status);
}
