// One io_uring of the system: its two queues, and the three system calls. Without liburing: what it needs is small, and
// the library of a stable distribution is older than the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <linux/io_uring.h>

#include <coflux/base/atomic.hpp>

namespace coflux::detail {

/// The ladder of set-ups: a kernel that does not know one is asked for the next.
enum class ring_rung : std::uint8_t {
    deferred,     ///< completions are worked on when the one thread that submits enters (6.1)
    cooperative,  ///< ... when it enters the kernel for whatever reason (5.19)
    plain         ///< the kernel interrupts the thread that submitted; any thread may submit
};
[[nodiscard]] const char* name_of(ring_rung rung) noexcept;

/// The result of an attempt to have a ring: 0, or the negative error number of a `step`.
struct ring_outcome {
    int error = 0;
    const char* step = "";
    ring_rung rung = ring_rung::plain;
};

/// Threads: the one of its host, but for the members that say otherwise.
class ring {
public:
    ring() noexcept = default;
    ~ring();
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;

    /// Any thread, once. It is enabled by the thread that will submit.
    [[nodiscard]] ring_outcome open(ring_rung rung) noexcept;
    /// 0, or the negative error number. From now on the calling thread is the one that submits.
    [[nodiscard]] int enable() noexcept;
    /// Whether such rings work here: from `first` down the ladder, with one request each.
    [[nodiscard]] static ring_outcome probe(ring_rung first) noexcept;

    [[nodiscard]] int descriptor() const noexcept { return fd_; }

    [[nodiscard]] bool is_full() const noexcept { return unsubmitted() == sq_size_; }
    /// A request without content, to be filled in. Pre: not full.
    [[nodiscard]] io_uring_sqe& next() noexcept;
    [[nodiscard]] unsigned unsubmitted() const noexcept {
        return filled_ - at(sq_head_).load(memory_order_acquire);  // pairs with the kernel, which has read them
    }
    /// There is work that the kernel does, or completions that it shows, only when it is entered.
    [[nodiscard]] bool must_enter() const noexcept {
        return (at(sq_flags_).load(memory_order_relaxed) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;  // a hint
    }

    static constexpr std::uint64_t for_ever = ~std::uint64_t{0};
    /// Submits what was filled in, and waits for a completion for `nanoseconds`; 0: it does not wait.
    /// Returns the negative error number, or not.
    int enter(std::uint64_t nanoseconds) noexcept;

    [[nodiscard]] unsigned completed() const noexcept {
        return at(cq_tail_).load(memory_order_acquire) - taken_;  // pairs with the kernel, which has written them
    }
    /// Pre: i < completed().
    [[nodiscard]] const io_uring_cqe& completion(unsigned i) const noexcept { return cqes_[(taken_ + i) & cq_mask_]; }
    void take(unsigned n) noexcept {
        taken_ += n;
        at(cq_head_).store(taken_, memory_order_release);  // pairs with the kernel, which writes there again
    }

private:
    [[nodiscard]] static atomic_ref<unsigned> at(unsigned* shared) noexcept { return atomic_ref<unsigned>(*shared); }
    [[nodiscard]] int map(const io_uring_params& p) noexcept;

    int fd_ = -1;
    bool waits_for_enable_ = false;
    void* queues_ = nullptr;  // shared with the kernel, as all that points into it
    std::size_t queues_size_ = 0;
    io_uring_sqe* sqes_ = nullptr;
    std::size_t sqes_size_ = 0;
    unsigned* sq_head_ = nullptr;  // the kernel's
    unsigned* sq_tail_ = nullptr;
    unsigned* sq_flags_ = nullptr;  // the kernel's
    unsigned sq_size_ = 0;
    unsigned filled_ = 0;  // the tail that is told to the kernel when it is entered
    unsigned* cq_head_ = nullptr;
    unsigned* cq_tail_ = nullptr;  // the kernel's
    io_uring_cqe* cqes_ = nullptr;
    unsigned cq_mask_ = 0;
    unsigned taken_ = 0;
};

}  // namespace coflux::detail
