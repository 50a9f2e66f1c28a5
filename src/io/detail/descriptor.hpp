// A descriptor of the system, and its home. The page docs/design/io.md has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/io/endpoint.hpp>

#include "io_source.hpp"
#include "os/process/process.hpp"
#include "socket_calls.hpp"

namespace coflux::detail {

class alignas(cache_line) descriptor {
public:
    descriptor(int opened, const endpoint& of, socket_calls& by) noexcept;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor();
    // A few that are gone are kept: an accept in a loop calls no allocator.
    static void* operator new(std::size_t size);
    static void operator delete(void* at) noexcept;

    /// An operation of this direction is about to be armed, in the source that this gives. Each call is followed by
    /// end_wait().
    /// Errors: std::system_error, std::bad_alloc; then nothing has happened.
    io_source& begin_wait(promise_base& p, direction way);
    void end_wait(direction way) noexcept {
        home_of(way).waiting.fetch_sub(1, memory_order_release);  // pairs with is_idle()
    }
    [[nodiscard]] bool is_waited_for() const noexcept { return !in_.is_idle() || !out_.is_idle(); }
    [[nodiscard]] bool is_waited_for(direction way) noexcept { return !home_of(way).is_idle(); }

    void add_owner() noexcept {
        owners_.fetch_add(1, memory_order_relaxed);
    }  // the caller is one, which keeps it alive
    /// True for the last one, which destroys it.
    [[nodiscard]] bool drop_owner() noexcept {
        return !is_shared() || owners_.fetch_sub(1, memory_order_acq_rel) == 1;  // pairs with that of the other owner
    }
    [[nodiscard]] bool is_shared() const noexcept {
        return owners_.load(memory_order_acquire) != 1;  // pairs with drop_owner(): what the other owner has done
    }
    /// While an operation of this direction waits, or is about to.
    [[nodiscard]] io_slot slot(direction way) noexcept { return home_of(way).slot; }
    [[nodiscard]] io_source& source(direction way) noexcept { return *home_of(way).source; }

    /// The next operation of this direction would have to wait, and its thread's source makes the call itself.
    [[nodiscard]] bool is_submitted_at_once(direction way) noexcept {
        const void* const source = home_of(way).at_once.load(memory_order_relaxed);  // a hint
        return source != nullptr && this_thread.events != nullptr && this_thread.events->source() == source;
    }
    /// There is more for the next operation of this direction.
    void try_first(direction way) noexcept {
        home_of(way).at_once.store(nullptr, memory_order_relaxed);  // a hint
    }

    /// Before the first operation: a read gives a message, and more may be left.
    void gives_messages() noexcept { short_read_empties_ = false; }
    /// A read of this many bytes has given `got`, which is not negative.
    void note_read(std::size_t got, std::size_t wanted) noexcept {
        if (short_read_empties_) in_.empty.store(got != 0 && got < wanted, memory_order_relaxed);  // as take_empty()
    }
    /// True once after a read that left nothing in the socket.
    [[nodiscard]] bool take_empty(direction way) noexcept {
        // relaxed: it is of those that read, one after the other
        atomic<bool>& empty = home_of(way).empty;
        if (!empty.load(memory_order_relaxed)) return false;
        empty.store(false, memory_order_relaxed);
        return true;
    }

    /// Fetches what an operation touches into the cache.
    void prefetch() const noexcept {
        __builtin_prefetch(this);
        __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + cache_line);
    }

    const int number;     // -1: the system made none, and no operation waits
    socket_calls& calls;  // what opened it

private:
    struct home {
        atomic<std::uint32_t> waiting{0};   // operations between begin_wait() and end_wait(); counted up under lock_
        atomic<std::uint32_t> process{0};   // the forks_of_process that they wait in; set under lock_
        std::shared_ptr<io_source> source;  // nullptr until the first wait
        io_slot slot;
        atomic<const void*> at_once{nullptr};  // a source, which may be gone; see is_submitted_at_once()
        atomic<bool> empty{false};             // the last read left nothing, and no operation has begun since

        [[nodiscard]] bool is_idle() const noexcept {
            // acquire pairs with end_wait(): what waited has left.
            return waiting.load(memory_order_acquire) == 0 || !is_here();
        }
        /// True if the waiter waits in this process, and not in one that has forked it.
        [[nodiscard]] bool is_here() const noexcept {
            return process.load(memory_order_relaxed) == forks();  // pairs with nothing: a child has its own copy
        }
        [[nodiscard]] static std::uint32_t forks() noexcept {
            return os::forks_of_process.load(memory_order_relaxed);  // pairs with nothing: see there
        }
    };
    [[nodiscard]] home& home_of(direction way) noexcept { return way == direction::in ? in_ : out_; }
    io_source& count_up(home& mine, direction way) noexcept;

    bool short_read_empties_;          // it is of TCP: what it gave was all that was there
    atomic<std::uint32_t> owners_{1};  // handles: one, or one for each direction, each of which drops itself once

    // Guards a change of a home, which only happens while none waits there. A call of the system is made under it only
    // when a direction waits in another source than before.
    adaptive_lock lock_;
    home in_;
    home out_;  // where both have one source, they have one slot

public:
    endpoint peer;  // of a listener its own name; last: what an operation touches is two cache lines before it
};

}  // namespace coflux::detail
