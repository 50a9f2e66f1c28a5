// The system's side of an io_uring, in place of src/io/uring/ring.cpp, and of the eventfd that wakes its host. For one
// file of a program, which includes the source of uring_source behind it.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <sys/types.h>

#include <coflux/base/thread.hpp>

#include "../../support/model.hpp"
#include "io/uring/ring.hpp"

namespace coflux::model {

/// A system with one ring, in which reads of one byte wait for what arrives. It serves a cancel at once, or later, or
/// too late, and does not always take what it is given. Its own state is under its lock.
class ring_system {
public:
    ring_system() {
        present() = this;
        for (unsigned* const shared : {&sq_head, &sq_tail, &sq_flags, &cq_head, &cq_tail})
            (void)at(*shared).load(detail::memory_order_relaxed);  // it begins
    }
    static ring_system*& present() noexcept {
        static ring_system* one = nullptr;
        return one;
    }

    /// A byte has come, on another thread than the host's.
    void arrive() noexcept {
        const std::lock_guard held(lock_);
        ++arrived_;
        give();
    }
    /// The system may write there.
    [[nodiscard]] bool writes_to(const void* at) const noexcept {
        for (const read& r : reads_) {
            if (r.waits && r.into == at) return true;
        }
        return false;
    }
    /// Bytes that were given to a read.
    [[nodiscard]] int given() const noexcept { return given_; }

    /// write() to the eventfd.
    void wake() noexcept {
        const std::lock_guard held(lock_);
        is_woken_ = true;
        if (polls_waker_) post(waker_, 1, IORING_CQE_F_MORE);
    }
    /// io_uring_enter().
    int enter(std::uint64_t nanoseconds) noexcept {
        if (rl::rand(4) == 0) return -EBUSY;
        unsigned seen = 0;
        {
            const std::lock_guard held(lock_);
            for (read& r : reads_) {
                if (r.waits && r.is_cancelled) end(r, -ECANCELED);
            }
            const unsigned filled = at(sq_tail).load(detail::memory_order_acquire);
            for (; sq_taken_ != filled; ++sq_taken_) take(sqes[sq_taken_ % sqes.size()]);
            at(sq_head).store(sq_taken_, detail::memory_order_release);
            give();
            seen = at(cq_head).load(detail::memory_order_acquire);
        }
        // Not atomic: random numbers that choose what a load gives would be in step with those that choose a thread.
        while (nanoseconds != 0 && cq_filled_ == seen) detail::cpu_pause();
        const std::lock_guard held(lock_);  // so that the host sees what has come
        return 0;
    }

    // The common part of the two sides.
    std::array<io_uring_sqe, 4> sqes{};
    std::array<io_uring_cqe, 16> cqes{};
    unsigned sq_head = 0;
    unsigned sq_tail = 0;
    unsigned sq_flags = 0;
    unsigned cq_head = 0;
    unsigned cq_tail = 0;

private:
    struct read {
        std::uint64_t name = 0;
        void* into = nullptr;
        bool waits = false;
        bool is_cancelled = false;  // and has not ended
    };
    [[nodiscard]] static detail::atomic_ref<unsigned> at(unsigned& shared) noexcept {
        return detail::atomic_ref<unsigned>(shared);
    }
    void post(std::uint64_t name, int result, unsigned flags = 0) noexcept {
        cqes[cq_filled_ % cqes.size()] = {name, result, flags};
        at(cq_tail).store(++cq_filled_, detail::memory_order_release);
        MODEL_CHECK(cq_filled_ - at(cq_head).load(detail::memory_order_relaxed) <= cqes.size());  // a large scenario
    }
    void end(read& r, int result) noexcept {
        r.waits = r.is_cancelled = false;
        post(r.name, result);
    }
    /// To a read that waits, if there is one.
    void give() noexcept {
        for (read& r : reads_) {
            if (!r.waits || given_ == arrived_) continue;
            ++given_;
            static_cast<plain<int>*>(r.into)->set(given_);
            end(r, 1);
        }
    }
    void take(const io_uring_sqe& s) noexcept {
        switch (s.opcode) {
        case IORING_OP_POLL_ADD:
            polls_waker_ = true;
            waker_ = s.user_data;
            if (is_woken_) post(waker_, 1, IORING_CQE_F_MORE);
            return;
        case IORING_OP_RECV: {
            read& r = reads_[begun_++ % reads_.size()];
            MODEL_CHECK(!r.waits);
            r = {s.user_data, reinterpret_cast<void*>(s.addr), true, false};
            return;
        }
        case IORING_OP_ASYNC_CANCEL: return cancel(s.addr, s.user_data);
        default: fail_here("a request that this system does not know");
        }
    }
    void cancel(std::uint64_t target, std::uint64_t name) noexcept {
        for (read& r : reads_) {
            if (!r.waits || r.name != target) continue;
            r.is_cancelled = true;
            // It may be under way on another processor, and a byte that comes before it has ended is given to it.
            if (rl::rand(2) == 0) return post(name, -EALREADY);
            return end(r, -ECANCELED);
        }
        post(name, -ENOENT);
    }

    detail::mutex lock_;
    std::array<read, 2> reads_{};
    unsigned begun_ = 0;
    unsigned sq_taken_ = 0;
    unsigned cq_filled_ = 0;
    int arrived_ = 0;
    int given_ = 0;
    std::uint64_t waker_ = 0;
    bool polls_waker_ = false;
    bool is_woken_ = false;
};

}  // namespace coflux::model

namespace coflux::detail {

const char* name_of(ring_rung) noexcept {
    return "a model's";
}
ring::~ring() = default;
ring_outcome ring::open(ring_rung rung) noexcept {
    model::ring_system& s = *model::ring_system::present();
    sqes_ = s.sqes.data();
    sq_head_ = &s.sq_head;
    sq_tail_ = &s.sq_tail;
    sq_flags_ = &s.sq_flags;
    sq_size_ = static_cast<unsigned>(s.sqes.size());
    cq_head_ = &s.cq_head;
    cq_tail_ = &s.cq_tail;
    cqes_ = s.cqes.data();
    cq_mask_ = static_cast<unsigned>(s.cqes.size() - 1);
    return {0, "", rung};
}
int ring::enable() noexcept {
    return 0;
}
io_uring_sqe& ring::next() noexcept {
    return sqes_[filled_++ & (sq_size_ - 1)] = {};
}
int ring::enter(std::uint64_t nanoseconds) noexcept {
    at(sq_tail_).store(filled_, memory_order_release);  // pairs with the system's
    return model::ring_system::present()->enter(nanoseconds);
}

// The functions of the C library that the source calls.
inline int eventfd(unsigned, int) noexcept {
    return 3;
}
inline int close(int) noexcept {
    return 0;
}
inline ssize_t write(int, const void*, std::size_t size) noexcept {
    model::ring_system::present()->wake();
    return static_cast<ssize_t>(size);
}

}  // namespace coflux::detail
