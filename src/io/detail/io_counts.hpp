// How much I/O a process has done. The page docs/design/metrics.md says where each is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/io/detail/io_operation.hpp>

namespace coflux::detail {

/// Each thread has its own, so that a count has one writer. It stays when its thread ends, and the next new thread goes
/// on with it: the sum over all is that of the process.
class alignas(cache_line) io_counts {
public:
    enum class what : unsigned {
        bytes_in,
        bytes_out,
        transfers_in,
        transfers_out,
        datagrams_in,
        datagrams_out,
        accepted,
        connected,
        waits,
        how_many
    };

    /// Those of the calling thread. Where no memory is left, or a thread is about to end, several threads share one,
    /// and may miss some.
    [[nodiscard]] static io_counts& here() noexcept { return of_this_thread != nullptr ? *of_this_thread : take_one(); }
    void add(what kind, std::uint64_t n = 1) noexcept {
        atomic<std::uint64_t>& to = counts_[static_cast<unsigned>(kind)];
        to.store(to.load(memory_order_relaxed) + n, memory_order_relaxed);
    }
    /// The result of a read or write of bytes.
    static void count_bytes(direction way, std::ptrdiff_t moved) noexcept {
        if (moved < 0) return;
        io_counts& own = here();
        const bool in = way == direction::in;
        own.add(in ? what::transfers_in : what::transfers_out);
        own.add(in ? what::bytes_in : what::bytes_out, static_cast<std::uint64_t>(moved));
    }
    /// An operation had to wait. Models have one that counts nothing.
    static void count_wait() noexcept;
    /// Adds up those of all threads.
    [[nodiscard]] static std::uint64_t sum(what kind) noexcept;

private:
    friend struct io_counts_owner;

    COFLUX_NOINLINE static io_counts& take_one() noexcept;

    static constinit thread_local io_counts* of_this_thread;  // nullptr: it has none yet

    std::array<atomic<std::uint64_t>, static_cast<std::size_t>(what::how_many)>
        counts_{};  // relaxed, pairs with nothing
    // false: the next thread takes it. acquire and release: its writers are one after the other.
    atomic<bool> taken_{true};
    io_counts* next_ = nullptr;
};

}  // namespace coflux::detail
