// The rings of all threads that were traced, and what their events say. The page docs/design/trace.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <coflux/inspect/trace.hpp>
#include <coflux/time/detail/cycles.hpp>

#include "inspect/trace/trace_ring.hpp"

namespace coflux::detail {

struct kept_ring;

/// A worker's ring, which no other one takes while this lives: the first worker of a pool may have ended before the
/// thread of the last one begins.
class reserved_ring {
public:
    /// `events`: how many are kept; 0: there is no ring.
    explicit reserved_ring(std::size_t events) noexcept;
    ~reserved_ring();
    reserved_ring(const reserved_ring&) = delete;
    reserved_ring& operator=(const reserved_ring&) = delete;

    /// nullptr: there is none, or there was no memory.
    [[nodiscard]] trace_ring* get() const noexcept;

private:
    kept_ring* kept_;
};

/// The calling thread writes to the ring while this lives.
class traced_thread {
public:
    /// `ring`: nullptr: it is not traced.
    traced_thread(trace_ring* ring, std::string_view name) noexcept;
    ~traced_thread();
    traced_thread(const traced_thread&) = delete;
    traced_thread& operator=(const traced_thread&) = delete;

private:
    trace_ring* ring_;
};

/// The address of the place of the last await of a coroutine that is queued; 0, or anything, if it is not one of the
/// library's: a reader checks it.
std::uint64_t trace_place(std::coroutine_handle<> h) noexcept;

/// Adds an event that is about a coroutine.
inline void trace_coroutine(trace_ring& to, trace_kind kind, void* frame, std::uint64_t argument = 0) noexcept {
    to.add(cycles_now(), kind, argument, reinterpret_cast<std::uint64_t>(frame),
           trace_place(std::coroutine_handle<>::from_address(frame)));
}

namespace tracing {

/// The events of one thread.
struct thread_events {
    trace_ring::owner owner;
    std::vector<trace_event> events;
};
/// All events of the process that are kept. Errors: std::bad_alloc.
std::vector<thread_events> copy_all();

/// Cycles of the processor as nanoseconds of the steady clock.
class cycle_clock {
public:
    cycle_clock() noexcept;

    [[nodiscard]] std::uint64_t now() const noexcept { return now_; }
    [[nodiscard]] std::uint64_t time_of(std::uint64_t cycles) const noexcept;

private:
    std::uint64_t from_cycles_;
    std::uint64_t from_;
    std::uint64_t now_;
    double nanoseconds_;  // of a cycle
};

}  // namespace tracing
}  // namespace coflux::detail
