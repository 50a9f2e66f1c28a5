// io_uring by its three system calls, as one thread uses it: no library.
#pragma once

#include "raw_sockets.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <linux/io_uring.h>

namespace bare {

class ring {
public:
    // Throws unsupported_params where the system refuses it. The thread that makes it is the one that uses it.
    ring();
    ~ring();
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;

    // An entry that is submitted by the next wait, empty but for these.
    io_uring_sqe& add(std::uint8_t operation, int fd, std::uint64_t tag);

    // Submits all and calls `each(tag, result, flags)` for what has completed, at least one.
    template <typename F>
    void wait(F each) {
        enter(1, IORING_ENTER_GETEVENTS);
        // Acquire pairs with the kernel's release of the entries; release lets it use their places again.
        std::uint32_t head = *cq_head_;
        const std::uint32_t tail = std::atomic_ref{*cq_tail_}.load(std::memory_order_acquire);
        for (; head != tail; ++head) {
            const io_uring_cqe done = cqes_[head & cq_mask_];
            std::atomic_ref{*cq_head_}.store(head + 1, std::memory_order_release);
            each(done.user_data, done.res, done.flags);
        }
    }

private:
    void enter(unsigned least, unsigned flags);

    struct mapping {
        void* at = nullptr;
        std::size_t size = 0;
    };
    [[nodiscard]] mapping map(std::size_t size, std::uint64_t what) const;

    harness::descriptor fd_;
    mapping rings_;
    mapping entries_;
    unsigned sq_size_ = 0;
    unsigned pending_ = 0;  // added, and not submitted
    std::uint32_t* sq_tail_ = nullptr;
    std::uint32_t sq_mask_ = 0;
    std::uint32_t* cq_head_ = nullptr;
    std::uint32_t* cq_tail_ = nullptr;
    std::uint32_t cq_mask_ = 0;
    io_uring_cqe* cqes_ = nullptr;
};

}  // namespace bare
