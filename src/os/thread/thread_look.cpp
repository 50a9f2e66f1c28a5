#include "thread_look.hpp"

#if defined(__linux__)
#    include <cxxabi.h>
#    include <dlfcn.h>
#    include <execinfo.h>
#    include <fcntl.h>
#    include <sys/syscall.h>
#    include <unistd.h>

#    include <cerrno>
#    include <cstdio>
#    include <cstdlib>
#    include <ctime>
#    include <iterator>
#    include <memory>

#    include <coflux/base/atomic.hpp>

#    include "os/process/free_signal.hpp"
#    include "processor_clock.hpp"
#endif

namespace coflux::detail::os {

#if defined(__linux__)
namespace {

/// Reads a file of /proc/self/task/THREAD whole, with an end; false: it is not there.
template <std::size_t Size>
bool read_of_thread(std::uint64_t thread, const char* name, char (&text)[Size]) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%llu/%s", static_cast<unsigned long long>(thread), name);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t size = ::read(file, text, Size - 1);
    ::close(file);
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

std::uint64_t nanoseconds_of(const timespec& t) noexcept {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

struct named_call {
    long number;
    const char* name;
};
constexpr named_call blocking_calls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_futex, "futex"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_connect, "connect"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendfile, "sendfile"},
    {SYS_openat, "openat"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_fallocate, "fallocate"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_ioctl, "ioctl"},
    {SYS_msync, "msync"},
    {SYS_munmap, "munmap"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_getrandom, "getrandom"},
#    if defined(SYS_poll)
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_open, "open"},
#    endif
};

// --- the stack -------------------------------------------------------------------------------------------------------

/// One question at a time. 0 none, 1 asked, 2 the handler answers, 3 answered. The asker goes 0 -> 1 (release) and, by
/// CAS, 1 -> 0 where it gives up; the handler 1 -> 2 by CAS (acquire), and 2 -> 3 (release).
atomic<int> answer_state{0};
void* answer[64];
int answer_size = 0;

void answer_signal(int, siginfo_t*, void*) {
    const int kept = errno;
    int asked = 1;
    if (answer_state.compare_exchange_strong(asked, 2, memory_order_acquire)) {
        answer_size = ::backtrace(answer, static_cast<int>(std::size(answer)));
        answer_state.store(3, memory_order_release);
    }
    errno = kept;
}

/// The signal, whose handler stays for ever; 0: the program has handlers for all.
int find_signal() noexcept {
    void* first[1];
    (void)::backtrace(first, 1);  // loads the unwinder, which the handler may not
    return take_free_signal(&answer_signal);
}

std::string text_of_call(void* address) {
    char text[512];
    Dl_info found{};
    if (::dladdr(address, &found) == 0 || found.dli_fname == nullptr) {
        std::snprintf(text, sizeof text, "%p", address);
        return text;
    }
    const auto offset = static_cast<std::size_t>(static_cast<char*>(address) - static_cast<char*>(found.dli_fbase));
    std::string name;
    if (found.dli_sname != nullptr) {
        const std::unique_ptr<char, void (*)(void*)> readable(
            abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, nullptr), &std::free);
        name = ' ' + std::string(readable != nullptr ? readable.get() : found.dli_sname);
    }
    std::snprintf(text, sizeof text, "%s(+0x%zx)", found.dli_fname, offset);
    return text + name;
}

}  // namespace

bool look_at_thread(std::uint64_t thread, thread_times& to) noexcept {
    timespec wall{};
    timespec processor{};
    char delays[96];
    char state[256];
    ::clock_gettime(CLOCK_MONOTONIC, &wall);
    if (::clock_gettime(processor_clock_of(thread), &processor) != 0) return false;
    if (!read_of_thread(thread, "stat", state) || !read_of_thread(thread, "schedstat", delays)) return false;
    unsigned long long ran = 0;
    unsigned long long delayed = 0;
    if (std::sscanf(delays, "%llu %llu", &ran, &delayed) != 2) return false;
    const std::string_view fields = state;  // number (name) state …, where the name has what it likes
    const std::size_t behind = fields.rfind(')');
    if (behind == std::string_view::npos || behind + 2 >= fields.size()) return false;
    to = {nanoseconds_of(wall), nanoseconds_of(processor), delayed, fields[behind + 2] == 'R'};
    return true;
}

std::string system_call_of(std::uint64_t thread) {
    char text[256];
    long number = -1;
    // "running", or the number and the arguments; -1: it sleeps outside of a call, for a page of memory.
    if (!read_of_thread(thread, "syscall", text) || std::sscanf(text, "%ld", &number) != 1) return {};
    if (number < 0) return "a page fault";
    for (const named_call& c : blocking_calls) {
        if (c.number == number) return c.name;
    }
    return "system call " + std::to_string(number);
}

std::vector<std::string> back_trace_of(std::uint64_t thread) {
    static const int signal = find_signal();
    std::vector<std::string> lines;
    if (signal == 0) return lines;
    answer_state.store(1, memory_order_release);  // pairs with the handler
    if (::syscall(SYS_tgkill, ::getpid(), static_cast<int>(thread), signal) != 0) {
        answer_state.store(0, memory_order_relaxed);  // no handler comes
        return lines;
    }
    constexpr int most_looks = 20'000;
    constexpr timespec between{0, 100'000};
    for (int looks = 0; answer_state.load(memory_order_acquire) != 3; ++looks) {  // pairs with the handler
        int asked = 1;
        if (looks >= most_looks && answer_state.compare_exchange_strong(asked, 0, memory_order_relaxed)) return lines;
        ::nanosleep(&between, nullptr);
    }
    constexpr int of_the_signal = 2;  // the handler, and what the system calls it by
    for (int i = of_the_signal; i < answer_size; ++i) lines.push_back(text_of_call(answer[i]));
    answer_state.store(0, memory_order_relaxed);
    return lines;
}

#else

bool look_at_thread(std::uint64_t, thread_times&) noexcept {
    return false;
}
std::string system_call_of(std::uint64_t) {
    return {};
}
std::vector<std::string> back_trace_of(std::uint64_t) {
    return {};
}

#endif

}  // namespace coflux::detail::os
