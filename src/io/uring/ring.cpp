#include "ring.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace coflux::detail {
namespace {

constexpr unsigned requests = 256;      // that are submitted with one call
constexpr unsigned completions = 2048;  // beyond them the kernel keeps what it has in a list of its own
// CQE_SKIP 5.17, the youngest of them: an older kernel refuses a cancel that has that flag.
constexpr unsigned features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;

unsigned flags_of(ring_rung rung) noexcept {
    constexpr unsigned all = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    switch (rung) {
    case ring_rung::deferred:
        return all | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
               IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED;
    case ring_rung::cooperative:
        return all | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
    case ring_rung::plain: break;
    }
    return all;
}

int error_or(long result) noexcept {
    return result < 0 ? -errno : static_cast<int>(result);
}

}  // namespace

const char* name_of(ring_rung rung) noexcept {
    switch (rung) {
    case ring_rung::deferred: return "SINGLE_ISSUER|DEFER_TASKRUN";
    case ring_rung::cooperative: return "COOP_TASKRUN";
    case ring_rung::plain: break;
    }
    return "none";
}

ring::~ring() {
    if (sqes_ != nullptr) munmap(sqes_, sqes_size_);
    if (queues_ != nullptr) munmap(queues_, queues_size_);
    if (fd_ >= 0) close(fd_);
}

ring_outcome ring::open(ring_rung rung) noexcept {
    io_uring_params p{};
    p.flags = flags_of(rung);
    p.cq_entries = completions;
    fd_ = error_or(syscall(SYS_io_uring_setup, requests, &p));
    if (fd_ < 0) return {fd_, "io_uring_setup", rung};
    if ((p.features & features) != features) return {-ENOSYS, "io_uring_setup, whose kernel is older than 5.17,", rung};
    waits_for_enable_ = (p.flags & IORING_SETUP_R_DISABLED) != 0;
    return {map(p), "mmap of an io_uring", rung};
}

int ring::map(const io_uring_params& p) noexcept {
    const std::size_t sq_bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
    const std::size_t cq_bytes = p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe);
    const auto shared = [this](std::size_t size, unsigned long long what) -> void* {
        void* const at =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, static_cast<off_t>(what));
        return at == MAP_FAILED ? nullptr : at;
    };
    queues_size_ = std::max(sq_bytes, cq_bytes);
    queues_ = shared(queues_size_, IORING_OFF_SQ_RING);
    if (queues_ == nullptr) return -errno;
    sqes_size_ = p.sq_entries * sizeof(io_uring_sqe);
    sqes_ = static_cast<io_uring_sqe*>(shared(sqes_size_, IORING_OFF_SQES));
    if (sqes_ == nullptr) return -errno;

    const auto word = [this](std::size_t offset) {
        return reinterpret_cast<unsigned*>(static_cast<std::byte*>(queues_) + offset);
    };
    sq_head_ = word(p.sq_off.head);
    sq_tail_ = word(p.sq_off.tail);
    sq_flags_ = word(p.sq_off.flags);
    sq_size_ = p.sq_entries;
    unsigned* const order = word(p.sq_off.array);
    for (unsigned i = 0; i < sq_size_; ++i) order[i] = i;  // always: requests are submitted as they are filled in
    cq_head_ = word(p.cq_off.head);
    cq_tail_ = word(p.cq_off.tail);
    cq_mask_ = p.cq_entries - 1;
    cqes_ = reinterpret_cast<io_uring_cqe*>(static_cast<std::byte*>(queues_) + p.cq_off.cqes);
    return 0;
}

int ring::enable() noexcept {
    if (!waits_for_enable_) return 0;
    waits_for_enable_ = false;
    return error_or(syscall(SYS_io_uring_register, fd_, IORING_REGISTER_ENABLE_RINGS, nullptr, 0));
}

io_uring_sqe& ring::next() noexcept {
    io_uring_sqe& s = sqes_[filled_++ & (sq_size_ - 1)];
    std::memset(&s, 0, sizeof s);
    return s;
}

int ring::enter(std::uint64_t nanoseconds) noexcept {
    at(sq_tail_).store(filled_, memory_order_release);  // pairs with the kernel, which reads what is before it
    const unsigned least = nanoseconds == 0 ? 0 : 1;
    const unsigned n = unsubmitted();
    if (least == 0 || nanoseconds == for_ever)
        return error_or(syscall(SYS_io_uring_enter, fd_, n, least, IORING_ENTER_GETEVENTS, nullptr, 0));
    __kernel_timespec time{};
    time.tv_sec = static_cast<std::int64_t>(nanoseconds / 1'000'000'000);
    time.tv_nsec = static_cast<long long>(nanoseconds % 1'000'000'000);
    io_uring_getevents_arg with{};
    with.sigmask_sz = _NSIG / 8;
    with.ts = reinterpret_cast<std::uint64_t>(&time);
    constexpr unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    return error_or(syscall(SYS_io_uring_enter, fd_, n, least, flags, &with, sizeof with));
}

ring_outcome ring::probe(ring_rung first) noexcept {
    for (auto rung = first;; rung = static_cast<ring_rung>(static_cast<int>(rung) + 1)) {
        ring tried;
        ring_outcome how = tried.open(rung);
        if (how.error == -EINVAL && rung != ring_rung::plain) continue;
        if (how.error != 0) return how;
        how.step = "io_uring_register";
        how.error = tried.enable();
        if (how.error != 0) return how;
        how.step = "io_uring_enter";
        tried.next().opcode = IORING_OP_NOP;
        for (int i = 0; i < 100 && tried.completed() == 0; ++i) {
            const int e = tried.enter(1'000'000);
            if (e < 0 && e != -EINTR && e != -ETIME) how.error = e;
            if (how.error != 0) return how;
        }
        how.error = tried.completed() != 0 ? tried.completion(0).res : -ETIME;
        return how;
    }
}

}  // namespace coflux::detail
