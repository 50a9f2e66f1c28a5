// For death tests: system calls that fail, as those of an older system do, and one that is held up.
#pragma once

#include <cstddef>
#include <cstdint>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace coflux_test {

/// Calls by a thread: all of one kind, or those in which some bits of an argument are as said.
struct forbidden_call {
    long number;  ///< SYS_…
    int error;    ///< what it gives
    unsigned argument = 0;
    std::uint32_t bits = 0;
    std::uint32_t are = 0;
};

namespace detail {

/// Each such call of the thread, and of the threads that it makes, ends as `action` says. There is no way back.
inline long filter_calls(const forbidden_call& c, std::uint32_t action, unsigned flags) noexcept {
    const auto argument = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + c.argument * sizeof(std::uint64_t));
    sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(c.number), 0, 4),
                             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
                             BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c.bits),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c.are, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, action),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{sizeof program / sizeof program[0], program};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

}  // namespace detail

/// Each such call of the thread, and of the threads that it makes, fails from here on. There is no way back.
inline void forbid(const forbidden_call& c) noexcept {
    (void)detail::filter_calls(c, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(c.error), 0);
}

/// Holds up calls of the thread that makes it, until another thread lets them go on.
class held_calls {
public:
    explicit held_calls(const forbidden_call& c) noexcept
        : listener_(
              static_cast<int>(detail::filter_calls(c, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER))) {}
    [[nodiscard]] bool is_supported() const noexcept { return listener_ >= 0; }
    /// Until there is one.
    void await_one() noexcept {
        held_ = {};
        (void)::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &held_);
    }
    void let_go() noexcept {
        seccomp_notif_resp goes_on{};
        goes_on.id = held_.id;
        goes_on.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        (void)::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &goes_on);
    }

private:
    int listener_;  // until the process ends
    seccomp_notif held_{};
};

}  // namespace coflux_test
