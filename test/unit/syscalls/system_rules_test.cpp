// The system calls of sockets, pipes and files, in place of the C library's; and that they follow the rules.
#include "system_rules.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "ring_rules.hpp"

namespace coflux_test {
namespace behind_rules {

inline const bool on_a_ring = [] {
    const char* const asked = std::getenv("COFLUX_IO");
    if (asked != nullptr && std::string_view(asked) == "uring" && kernel_injects()) return true;
    setenv("COFLUX_IO", "epoll", 1);
    return false;
}();

inline std::atomic<system_rules*> now{nullptr};
inline std::atomic<std::uint32_t> refused_set_ups{0};
inline std::atomic<std::uint32_t> set_up{0};
inline std::atomic<std::size_t> in_batches{0};

struct registration {
    int number;
    epoll_event event;
};
/// Registered with epoll, by the number of the epoll.
struct registrations {
    std::mutex lock;
    std::multimap<int, registration> of_descriptor;
};
inline registrations& known() {
    static auto* const all = new registrations;
    return *all;
}
/// The descriptor is ready again, if it is: for operations that wait for its edge.
inline void make_edge(int descriptor) {
    registrations& all = known();
    const std::lock_guard<std::mutex> held(all.lock);
    const auto [first, last] = all.of_descriptor.equal_range(descriptor);
    for (auto r = first; r != last; ++r)
        syscall(SYS_epoll_ctl, r->second.number, EPOLL_CTL_MOD, descriptor, &r->second.event);
}

/// True if the call fails, and is not made.
inline bool fails(const system_rule* rule, int descriptor) {
    if (rule == nullptr || rule->error == 0) return false;
    if (rule->error == EAGAIN) make_edge(descriptor);
    errno = rule->error;
    return true;
}
inline std::size_t moved(const system_rule* rule, std::size_t size) {
    return rule == nullptr ? size : std::min(size, rule->moves);
}
/// It gave less than is there, as if the rest came just after it.
inline ssize_t received(const system_rule* rule, int descriptor, ssize_t got) {
    if (rule != nullptr && got >= 0 && static_cast<std::size_t>(got) == rule->moves) make_edge(descriptor);
    return got;
}

/// The parts with fewer bytes.
inline std::vector<iovec> shortened(const iovec* of, std::size_t count, std::size_t most) {
    std::vector<iovec> parts(of, of + count);
    for (iovec& part : parts) {
        part.iov_len = std::min(part.iov_len, most);
        most -= part.iov_len;
    }
    return parts;
}
/// A header with fewer bytes.
struct shorter {
    shorter(const msghdr& of, std::size_t most) : parts(shortened(of.msg_iov, of.msg_iovlen, most)), header(of) {
        header.msg_iov = parts.data();
    }
    std::vector<iovec> parts;
    msghdr header;
};

/// Not an eventfd, nor what the test itself reads from a file.
inline bool is_pipe(int descriptor) {
    struct stat of{};
    return fstat(descriptor, &of) == 0 && S_ISFIFO(of.st_mode);
}
/// A call that moves these parts through a pipe.
inline ssize_t moved_in_pipe(system_call on, long number, int pipe, const iovec* parts, std::size_t count, six rest) {
    const auto* const rule = system_rules::next(on);
    if (fails(rule, pipe)) return -1;
    const std::vector<iovec> some = shortened(parts, count, moved(rule, SIZE_MAX));
    rest[0] = pipe;
    rest[1] = reinterpret_cast<long>(some.data());
    rest[2] = static_cast<long>(count);
    return as_call(kernel(number, rest));
}
inline int synced(long number, int descriptor) {
    if (fails(system_rules::next(system_call::sync), -1)) return -1;
    return static_cast<int>(as_call(kernel(number, {descriptor})));
}

}  // namespace behind_rules

void refuse_set_ups(std::uint32_t flags) {
    behind_rules::refused_set_ups = flags;
}
std::uint32_t last_set_up() {
    return behind_rules::set_up;
}
std::size_t messages_of_batches() {
    return behind_rules::in_batches;
}

system_rules::system_rules(std::initializer_list<system_rule> rules) : rules_(rules) {
    behind_rules::now = this;
}
system_rules::~system_rules() {
    behind_rules::now = nullptr;
}
bool system_rules::are_on_a_ring() {
    return behind_rules::on_a_ring;
}
std::size_t system_rules::calls(system_call on) const {
    const std::lock_guard<std::mutex> held(lock_);
    return calls_[static_cast<std::size_t>(on)];
}
std::size_t system_rules::followed() const {
    const std::lock_guard<std::mutex> held(lock_);
    return followed_;
}
const system_rule* system_rules::next(system_call on, bool at_once, bool requested) {
    system_rules* const rules = behind_rules::now;
    if (rules == nullptr) return nullptr;
    const std::lock_guard<std::mutex> held(rules->lock_);
    const std::size_t call = ++rules->calls_[static_cast<std::size_t>(on)];
    for (const system_rule& r : rules->rules_) {
        if (r.on != on || call < r.from || call - r.from >= r.times) continue;
        if ((r.at_once && !at_once) || (r.requested && !requested)) continue;
        ++rules->followed_;
        return &r;
    }
    return nullptr;
}

}  // namespace coflux_test

using coflux_test::system_call;
using coflux_test::system_rules;

extern "C" {

ssize_t recv(int descriptor, void* into, std::size_t size, int flags) {
    const auto* const rule = system_rules::next(system_call::receive);
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    const std::size_t most = coflux_test::behind_rules::moved(rule, size);
    return coflux_test::behind_rules::received(rule, descriptor,
                                               syscall(SYS_recvfrom, descriptor, into, most, flags, nullptr, nullptr));
}
ssize_t send(int descriptor, const void* from, std::size_t size, int flags) {
    const auto* const rule = system_rules::next(system_call::send);
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    return syscall(SYS_sendto, descriptor, from, coflux_test::behind_rules::moved(rule, size), flags, nullptr, 0);
}
ssize_t recvfrom(int descriptor, void* into, std::size_t size, int flags, sockaddr* peer, socklen_t* name) {
    if (coflux_test::behind_rules::fails(system_rules::next(system_call::receive_message), descriptor)) return -1;
    return syscall(SYS_recvfrom, descriptor, into, size, flags, peer, name);
}
ssize_t sendto(int descriptor, const void* from, std::size_t size, int flags, const sockaddr* to, socklen_t name) {
    if (coflux_test::behind_rules::fails(system_rules::next(system_call::send_message), descriptor)) return -1;
    return syscall(SYS_sendto, descriptor, from, size, flags, to, name);
}
ssize_t recvmsg(int descriptor, msghdr* into, int flags) {
    const auto* const rule = system_rules::next(system_call::receive_message);
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    coflux_test::behind_rules::shorter some(*into, coflux_test::behind_rules::moved(rule, SIZE_MAX));
    const ssize_t got = syscall(SYS_recvmsg, descriptor, &some.header, flags);
    some.header.msg_iov = into->msg_iov;
    *into = some.header;
    return coflux_test::behind_rules::received(rule, descriptor, got);
}
ssize_t sendmsg(int descriptor, const msghdr* from, int flags) {
    const auto* const rule = system_rules::next(system_call::send_message);
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    const coflux_test::behind_rules::shorter some(*from, coflux_test::behind_rules::moved(rule, SIZE_MAX));
    return syscall(SYS_sendmsg, descriptor, &some.header, flags);
}
int recvmmsg(int descriptor, mmsghdr* into, unsigned count, int flags, timespec* limit) {
    const auto* const rule = system_rules::next(system_call::receive_batch);
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    const std::size_t most = coflux_test::behind_rules::moved(rule, count);
    return static_cast<int>(coflux_test::behind_rules::received(
        rule, descriptor, syscall(SYS_recvmmsg, descriptor, into, most, flags, limit)));
}
int sendmmsg(int descriptor, mmsghdr* from, unsigned count, int flags) {
    const auto* const rule = system_rules::next(system_call::send_batch);
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    const int sent =
        static_cast<int>(syscall(SYS_sendmmsg, descriptor, from, coflux_test::behind_rules::moved(rule, count), flags));
    if (sent > 0) coflux_test::behind_rules::in_batches += static_cast<std::size_t>(sent);
    return sent;
}
int accept4(int descriptor, sockaddr* peer, socklen_t* size, int flags) {
    if (coflux_test::behind_rules::fails(system_rules::next(system_call::accept), descriptor)) return -1;
    return static_cast<int>(syscall(SYS_accept4, descriptor, peer, size, flags));
}
int connect(int descriptor, const sockaddr* to, socklen_t size) {
    const auto* const rule = system_rules::next(system_call::connect);
    const bool interrupted = rule != nullptr && rule->error == EINTR;
    if (!interrupted && coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    const int result = static_cast<int>(syscall(SYS_connect, descriptor, to, size));
    if (!interrupted || (result < 0 && errno != EINPROGRESS)) return result;
    errno = EINTR;
    return -1;
}
/// The result of a connect that was begun.
int getsockopt(int descriptor, int level, int name, void* value, socklen_t* size) noexcept {
    if (level == SOL_SOCKET && name == SO_ERROR) {
        const auto* const rule = system_rules::next(system_call::connect_result);
        if (rule != nullptr) {
            *static_cast<int*>(value) = rule->error;
            return 0;
        }
    }
    return static_cast<int>(syscall(SYS_getsockopt, descriptor, level, name, value, size));
}
ssize_t read(int descriptor, void* into, std::size_t size) {
    const bool by_rules = coflux_test::behind_rules::is_pipe(descriptor);
    const auto* const rule = by_rules ? system_rules::next(system_call::pipe_read) : nullptr;
    if (coflux_test::behind_rules::fails(rule, descriptor)) return -1;
    return syscall(SYS_read, descriptor, into, coflux_test::behind_rules::moved(rule, size));
}
ssize_t readv(int descriptor, const iovec* parts, int count) {
    if (!coflux_test::behind_rules::is_pipe(descriptor)) return syscall(SYS_readv, descriptor, parts, count);
    return coflux_test::behind_rules::moved_in_pipe(system_call::pipe_read, SYS_readv, descriptor, parts,
                                                    static_cast<std::size_t>(count), {});
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
    if (!coflux_test::behind_rules::is_pipe(descriptor)) return syscall(SYS_writev, descriptor, parts, count);
    return coflux_test::behind_rules::moved_in_pipe(system_call::pipe_write, SYS_writev, descriptor, parts,
                                                    static_cast<std::size_t>(count), {});
}
int fsync(int descriptor) {
    return coflux_test::behind_rules::synced(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) {
    return coflux_test::behind_rules::synced(SYS_fdatasync, descriptor);
}
ssize_t pread(int descriptor, void* into, std::size_t size, off_t offset) {
    const auto* const rule = system_rules::next(system_call::read);
    if (coflux_test::behind_rules::fails(rule, -1)) return -1;
    return syscall(SYS_pread64, descriptor, into, coflux_test::behind_rules::moved(rule, size), offset);
}
ssize_t pwrite(int descriptor, const void* from, std::size_t size, off_t offset) {
    const auto* const rule = system_rules::next(system_call::write);
    if (coflux_test::behind_rules::fails(rule, -1)) return -1;
    return syscall(SYS_pwrite64, descriptor, from, coflux_test::behind_rules::moved(rule, size), offset);
}
/// Writes one part.
ssize_t pwritev2(int descriptor, const iovec* parts, int, off_t offset, int flags) {
    const auto* const rule = system_rules::next(system_call::write, (flags & RWF_NOWAIT) != 0);
    if (coflux_test::behind_rules::fails(rule, -1)) return -1;
    const iovec part{parts->iov_base, coflux_test::behind_rules::moved(rule, parts->iov_len)};
    // Not every file system writes at once: where a rule says so, this one does.
    const int how = rule != nullptr && rule->at_once ? flags & ~RWF_NOWAIT : flags;
    using namespace coflux_test::behind_rules;
    return as_call(kernel(SYS_pwritev2, {descriptor, reinterpret_cast<long>(&part), 1L, offset, 0L, how}));
}
int epoll_ctl(int epoll, int what, int descriptor, epoll_event* event) noexcept {
    auto& all = coflux_test::behind_rules::known();
    const std::lock_guard<std::mutex> held(all.lock);
    const int result = static_cast<int>(syscall(SYS_epoll_ctl, epoll, what, descriptor, event));
    if (result < 0) return result;
    const auto [first, last] = all.of_descriptor.equal_range(descriptor);
    const auto own = std::find_if(first, last, [&](const auto& r) { return r.second.number == epoll; });
    if (own != last) all.of_descriptor.erase(own);
    if (what != EPOLL_CTL_DEL)
        all.of_descriptor.emplace(descriptor, coflux_test::behind_rules::registration{epoll, *event});
    return result;
}

/// Some calls have no function of the C library, or one that costs more. It reads six parameters, whatever was given.
__attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept {
    using namespace coflux_test::behind_rules;
    six a{};
    va_list given;
    va_start(given, number);
    for (long& each : a) each = va_arg(given, long);
    va_end(given);
    iovec part{};
    if (number == SYS_preadv2 && a[2] == 1) {
        const auto* const rule = system_rules::next(system_call::read, (a[5] & RWF_NOWAIT) != 0);
        if (fails(rule, -1)) return -1;
        part = *reinterpret_cast<const iovec*>(a[1]);
        part.iov_len = moved(rule, part.iov_len);
        a[1] = reinterpret_cast<long>(&part);
        if (rule != nullptr && rule->at_once) a[5] &= ~RWF_NOWAIT;  // as where pwritev2 is told so
    }
    // Files are written to by the function.
    if (number == SYS_pwritev2)
        return moved_in_pipe(system_call::pipe_write, number, static_cast<int>(a[0]),
                             reinterpret_cast<const iovec*>(a[1]), static_cast<std::size_t>(a[2]), a);
    if (number == SYS_io_uring_enter) {
        if (fails(system_rules::next(system_call::enter), -1)) return -1;
        if (static_cast<std::uint32_t>(a[1]) != 0) rings::all().submits(static_cast<int>(a[0]));
    }
    const std::uint32_t flags =
        number == SYS_io_uring_setup ? reinterpret_cast<const io_uring_params*>(a[1])->flags : 0;
    if ((flags & refused_set_ups) != 0) return as_call(-EINVAL);
    const long result = kernel(number, a);
    if (number == SYS_io_uring_enter) rings::all().entered(static_cast<int>(a[0]));
    if (number == SYS_io_uring_setup && result >= 0) {
        set_up = flags;
        rings::all().made(static_cast<int>(result), *reinterpret_cast<const io_uring_params*>(a[1]));
    }
    return as_call(result);
}

}  // extern "C"

namespace {

struct local_pair {
    local_pair() {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    }
    ~local_pair() {
        close(ends[0]);
        close(ends[1]);
    }
    int ends[2] = {-1, -1};
};

TEST(system_rules, are_for_the_calls_that_they_name) {
    const local_pair p;
    const system_rules rules{{.on = system_call::send, .from = 2, .moves = 7},
                             {.on = system_call::receive, .times = 2, .error = EINTR}};
    char text[16] = "0123456789abcde";
    EXPECT_EQ(send(p.ends[0], text, 10, 0), 10);
    EXPECT_EQ(send(p.ends[0], text, 10, 0), 7);
    EXPECT_EQ(send(p.ends[0], text, 10, 0), 10);
    for (int i = 0; i < 2; ++i) {
        errno = 0;
        EXPECT_EQ(recv(p.ends[1], text, 16, 0), -1);
        EXPECT_EQ(errno, EINTR);
    }
    EXPECT_EQ(recv(p.ends[1], text, 16, 0), 16);
    EXPECT_EQ(rules.calls(system_call::send), 3U);
    EXPECT_EQ(rules.calls(system_call::receive), 3U);
    EXPECT_EQ(rules.followed(), 3U);
}

TEST(system_rules, end_with_their_object) {
    const local_pair p;
    { const system_rules rules{{.on = system_call::send, .times = coflux_test::always, .error = ENOBUFS}}; }
    EXPECT_EQ(send(p.ends[0], "x", 1, 0), 1);
}

TEST(system_rules, are_for_reads_and_writes_of_pipes_alone) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const int event = eventfd(0, EFD_CLOEXEC);
    const system_rules rules{{.on = system_call::pipe_read, .moves = 3}, {.on = system_call::pipe_write, .moves = 7}};
    std::uint64_t count = 1;
    EXPECT_EQ(write(event, &count, sizeof count), 8);
    EXPECT_EQ(read(event, &count, sizeof count), 8);
    char text[16] = "0123456789abcde";
    const iovec parts[2] = {{text, 5}, {text + 5, 5}};
    EXPECT_EQ(writev(ends[1], parts, 2), 7);
    EXPECT_EQ(read(ends[0], text, 16), 3);
    EXPECT_EQ(readv(ends[0], parts, 2), 4);
    EXPECT_EQ(rules.calls(system_call::pipe_read), 2U);
    EXPECT_EQ(rules.followed(), 2U);
    for (const int each : {ends[0], ends[1], event}) close(each);
}

TEST(system_rules, let_epoll_report_what_would_have_blocked) {
    const local_pair p;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event both{};
    both.events = EPOLLIN | EPOLLET;
    ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, p.ends[1], &both), 0);
    EXPECT_EQ(send(p.ends[0], "x", 1, 0), 1);
    epoll_event found{};
    EXPECT_EQ(epoll_wait(epoll, &found, 1, 0), 1);
    EXPECT_EQ(epoll_wait(epoll, &found, 1, 0), 0);  // its edge is gone
    const system_rules rules{{.on = system_call::receive, .error = EAGAIN}};
    char one = ' ';
    EXPECT_EQ(recv(p.ends[1], &one, 1, 0), -1);
    EXPECT_EQ(epoll_wait(epoll, &found, 1, 0), 1);
    EXPECT_EQ(recv(p.ends[1], &one, 1, 0), 1);
    close(epoll);
}

}  // namespace
