// A delay_queue but for the type of its values, and the wait for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <coflux/base/intrusive_list.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/delay_heap.hpp>
#include <coflux/time/detail/timed_wait.hpp>

namespace coflux::detail {

class delay_wait;

/// The place of a value. It is one as long as the queue lives, so that an old key finds out that it is old.
///
///     free  --put_in-->  in the heap  --take_due, served-->  taken  --free-->  free
///                                    <--put_back--------------
struct delay_item : delay_node {
    delay_item* next = nullptr;  // among the free
    std::uint64_t id = 0;        // of the value; 0: none that a key may name
};

/// Threads: any.
class delay_state : protected timed_wait_list {
protected:
    delay_state() noexcept : timed_wait_list(how_it_serves) {}
    ~delay_state() = default;

    /// A place that is free; nullptr if there is none.
    [[nodiscard]] delay_item* take_free() noexcept;
    /// The values that are left at the end.
    [[nodiscard]] delay_item* take_left() noexcept;
    /// `n` has a value: puts it in. Returns the value's number; 0 if the queue is closed.
    [[nodiscard]] std::uint64_t put_in(delay_item& n, steady_time when) noexcept;
    /// `n` has a value no more, which was never put in.
    void free_unused(delay_item& n) noexcept;
    /// The value in `n` was taken, and has been moved out.
    void free(delay_item& n) noexcept;
    /// The value in `n` was taken, and stays.
    void put_back(delay_item& n) noexcept;
    [[nodiscard]] delay_item* take_due() noexcept;
    /// `n` and `id` are what a key has: nullptr, or false, if that value is in the heap no more.
    [[nodiscard]] delay_item* take_named(delay_item* n, std::uint64_t id) noexcept;
    bool move_named(delay_item* n, std::uint64_t id, steady_time when) noexcept;
    void close() noexcept;
    [[nodiscard]] bool closed() const noexcept;
    [[nodiscard]] std::size_t size() const noexcept;

private:
    friend class delay_wait;

    [[nodiscard]] bool has_named(const delay_item* n, std::uint64_t id) const noexcept;
    [[nodiscard]] delay_item& take(delay_item& n) noexcept;
    [[nodiscard]] delay_item* take_due_at(clock_tick now) noexcept;
    void insert(delay_item& n) noexcept;
    static bool serve(timed_wait_list& of, timed_wait& w, clock_tick now) noexcept;
    static clock_tick due(timed_wait_list& of, const timed_wait& w) noexcept;
    static const timed_kind how_it_serves;

    // Guarded by the lock.
    delay_heap heap_;
    intrusive_stack<delay_item> free_;
    std::size_t size_ = 0;       // in the heap
    std::size_t taken_ = 0;      // out of it, and neither free nor put back
    std::uint64_t numbers_ = 0;  // given to values, and for their order
    bool closed_ = false;
};

/// Waits for the next value of a delay_queue.
class delay_wait : public timed_wait {
public:
    delay_wait(promise_base& p, delay_state& of) noexcept;
    ~delay_wait() {
        if (is_unresumed() && item_ != nullptr) of_.put_back(*item_);
    }

protected:
    /// First thing of await_resume: the value's place; nullptr if the queue is closed.
    [[nodiscard]] delay_item* received() noexcept {
        resumed();
        return item_;
    }
    [[nodiscard]] delay_state& queue() const noexcept { return of_; }

private:
    friend class delay_state;
    static const wait_kind how_it_stops;

    delay_state& of_;
    delay_item* item_ = nullptr;
};

}  // namespace coflux::detail
