// Requests of an io_uring follow the rules as calls do. Just before they are submitted a short one gets less room, and
// one that fails becomes a request that does nothing and gives that error.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system_rules.hpp"

namespace coflux_test::behind_rules {

using six = std::array<long, 6>;

/// The system's answer, an error as a negative number.
inline long kernel(long number, const six& a) noexcept {
    long result = number;
    register long fourth asm("r10") = a[3];
    register long fifth asm("r8") = a[4];
    register long sixth asm("r9") = a[5];
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return result;
}
inline long as_call(long result) noexcept {
    if (result >= 0 || result < -4095) return result;
    errno = static_cast<int>(-result);
    return -1;
}

constexpr std::int32_t inject_result =
    1;  // IORING_NOP_INJECT_RESULT, of headers that are younger than a distribution's

inline void make_fail(io_uring_sqe& s, int error) noexcept {
    const std::uint64_t name = s.user_data;
    std::memset(&s, 0, sizeof s);
    s.opcode = IORING_OP_NOP;
    s.fd = -1;
    s.len = static_cast<std::uint32_t>(-error);
    s.rw_flags = inject_result;
    s.user_data = name;
}

/// The queue of requests of a ring, as its process sees it.
class requests {
public:
    requests() = default;
    requests(int ring, const io_uring_params& p) noexcept {
        const auto shared = [ring](std::size_t size, long what) {
            return reinterpret_cast<std::byte*>(kernel(
                SYS_mmap, {0, static_cast<long>(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what}));
        };
        std::byte* const queue =
            shared(p.sq_off.array + p.sq_entries * sizeof(std::uint32_t), static_cast<long>(IORING_OFF_SQ_RING));
        entries_ = reinterpret_cast<io_uring_sqe*>(
            shared(p.sq_entries * sizeof(io_uring_sqe), static_cast<long>(IORING_OFF_SQES)));
        tail_ = reinterpret_cast<std::uint32_t*>(queue + p.sq_off.tail);
        order_ = reinterpret_cast<std::uint32_t*>(queue + p.sq_off.array);
        mask_ = p.sq_entries - 1;
    }

    /// The eventfd of a poll that ends after its first event; -1: none.
    int watched = -1;

    /// Those that were added since the last time.
    template <typename F>
    void for_new(F each) noexcept {
        for (const std::uint32_t tail = std::atomic_ref(*tail_).load(std::memory_order_acquire); seen_ != tail; ++seen_)
            each(entries_[order_[seen_ & mask_]]);
    }
    void add(const io_uring_sqe& s) noexcept {
        entries_[0] = s;
        order_[seen_ & mask_] = 0;
        std::atomic_ref(*tail_).store(seen_ + 1, std::memory_order_release);
    }

private:
    io_uring_sqe* entries_ = nullptr;
    std::uint32_t* tail_ = nullptr;
    std::uint32_t* order_ = nullptr;
    std::uint32_t mask_ = 0;
    std::uint32_t seen_ = 0;
};

inline void follow_rule(io_uring_sqe& s, int& watched) {
    if (s.opcode == IORING_OP_POLL_ADD) {
        if ((s.len & IORING_POLL_ADD_MULTI) == 0) return;
        const bool ends = system_rules::next(system_call::watch, false, true) != nullptr;
        if (ends) s.len &= ~IORING_POLL_ADD_MULTI;
        watched = ends ? s.fd : -1;
        return;
    }
    system_call on{};
    switch (s.opcode) {
    case IORING_OP_RECV:
        on = (s.msg_flags & MSG_TRUNC) == 0 ? system_call::receive : system_call::receive_message;
        break;
    case IORING_OP_RECVMSG: on = system_call::receive_message; break;
    case IORING_OP_READ: on = system_call::pipe_read; break;
    case IORING_OP_SEND: on = system_call::send; break;
    case IORING_OP_ACCEPT: on = system_call::accept; break;
    case IORING_OP_CONNECT: on = system_call::connect; break;
    default: return;
    }
    const system_rule* const rule = system_rules::next(on, false, true);
    if (rule == nullptr) return;
    if (on == system_call::connect && (rule->error == EINTR || rule->error == ECANCELED))  // it goes on
        kernel(SYS_connect, {s.fd, static_cast<long>(s.addr), static_cast<long>(s.off)});
    if (rule->error != 0) make_fail(s, rule->error);
    if (rule->error == 0 && on != system_call::receive_message)
        s.len = static_cast<std::uint32_t>(std::min<std::size_t>(s.len, rule->moves));
}

/// The rings of this process, by their descriptors. One that was closed is forgotten when its number comes again.
class rings {
public:
    static rings& all() {
        static auto* const every = new rings;
        return *every;
    }
    void made(int ring, const io_uring_params& p) {
        const std::lock_guard<std::mutex> held(lock_);
        of_descriptor_[ring] = requests(ring, p);
    }
    void submits(int ring) {
        const std::lock_guard<std::mutex> held(lock_);
        const auto found = of_descriptor_.find(ring);
        if (found != of_descriptor_.end())
            found->second.for_new([&](io_uring_sqe& s) { follow_rule(s, found->second.watched); });
    }
    /// The next poll would end at once if the eventfd stayed readable. The thread of the ring is awake, and looks for
    /// what it was woken for before it sleeps again.
    void entered(int ring) {
        const std::lock_guard<std::mutex> held(lock_);
        const auto found = of_descriptor_.find(ring);
        std::uint64_t count = 0;
        if (found != of_descriptor_.end() && found->second.watched >= 0)
            kernel(SYS_read, {found->second.watched, reinterpret_cast<long>(&count), sizeof count});
    }

private:
    std::mutex lock_;
    std::map<int, requests> of_descriptor_;
};

/// There is io_uring, and its requests that do nothing can be told what to give: Linux 6.12.
inline bool kernel_injects() noexcept {
    io_uring_params p{};
    const int ring = static_cast<int>(kernel(SYS_io_uring_setup, {1, reinterpret_cast<long>(&p)}));
    if (ring < 0) return false;
    requests of(ring, p);
    io_uring_sqe s{};
    make_fail(s, EXDEV);
    of.add(s);
    std::int32_t given = 0;
    if (kernel(SYS_io_uring_enter, {ring, 1, 1, IORING_ENTER_GETEVENTS}) == 1) {
        const auto size = static_cast<long>(p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe));
        const long at = kernel(SYS_mmap, {0, size, PROT_READ, MAP_SHARED, ring, static_cast<long>(IORING_OFF_CQ_RING)});
        given = reinterpret_cast<const io_uring_cqe*>(at + static_cast<long>(p.cq_off.cqes))->res;
    }
    close(ring);
    return given == -EXDEV;
}

}  // namespace coflux_test::behind_rules
