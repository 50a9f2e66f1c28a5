#include "ring.hpp"

#include "harness.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bare {
namespace {

constexpr unsigned submissions = 1'024;
constexpr unsigned completions = 32'768;

template <typename T>
T* at(void* base, std::size_t offset) {
    return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
}

}  // namespace

ring::ring() {
    io_uring_params p{};
    p.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    p.cq_entries = completions;
    fd_ = harness::descriptor{static_cast<int>(syscall(SYS_io_uring_setup, submissions, &p))};
    if (fd_.get() < 0) {
        throw harness::unsupported_params{std::string{"the system refuses io_uring, or is older than Linux 6.1: "} +
                                          std::strerror(errno)};
    }
    rings_ = map(std::max(p.sq_off.array + p.sq_entries * sizeof(std::uint32_t),
                          p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe)),
                 IORING_OFF_SQ_RING);
    entries_ = map(p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
    sq_size_ = p.sq_entries;
    sq_tail_ = at<std::uint32_t>(rings_.at, p.sq_off.tail);
    sq_mask_ = *at<std::uint32_t>(rings_.at, p.sq_off.ring_mask);
    cq_head_ = at<std::uint32_t>(rings_.at, p.cq_off.head);
    cq_tail_ = at<std::uint32_t>(rings_.at, p.cq_off.tail);
    cq_mask_ = *at<std::uint32_t>(rings_.at, p.cq_off.ring_mask);
    cqes_ = at<io_uring_cqe>(rings_.at, p.cq_off.cqes);
    // Each place of the ring has the entry of its number.
    auto* const order = at<std::uint32_t>(rings_.at, p.sq_off.array);
    for (std::uint32_t i = 0; i < p.sq_entries; ++i) {
        order[i] = i;
    }
}

ring::~ring() {
    munmap(entries_.at, entries_.size);
    munmap(rings_.at, rings_.size);
}

ring::mapping ring::map(std::size_t size, std::uint64_t what) const {
    void* const found =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_.get(), static_cast<off_t>(what));
    if (found == MAP_FAILED) {
        harness::fail("mmap");
    }
    return {found, size};
}

io_uring_sqe& ring::add(std::uint8_t operation, int fd, std::uint64_t tag) {
    if (pending_ == sq_size_) {
        enter(0, 0);
    }
    const std::uint32_t tail = *sq_tail_;
    io_uring_sqe& entry = static_cast<io_uring_sqe*>(entries_.at)[tail & sq_mask_];
    std::memset(&entry, 0, sizeof entry);
    entry.opcode = operation;
    entry.fd = fd;
    entry.user_data = tag;
    ++pending_;
    // No thread reads it before enter(), which this thread calls: there is no thread of the kernel that polls.
    std::atomic_ref{*sq_tail_}.store(tail + 1, std::memory_order_release);
    return entry;
}

void ring::enter(unsigned least, unsigned flags) {
    for (;;) {
        const auto taken = syscall(SYS_io_uring_enter, fd_.get(), pending_, least, flags, nullptr, 0);
        if (taken >= 0) {
            pending_ -= static_cast<unsigned>(taken);
            return;
        }
        if (errno != EINTR) {
            harness::fail("io_uring_enter");
        }
    }
}

}  // namespace bare
