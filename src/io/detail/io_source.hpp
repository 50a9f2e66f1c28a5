// An event source as descriptors see it.
#pragma once

#include <cstdint>
#include <memory>

#include <coflux/io/detail/io_operation.hpp>

#include "event/event_source.hpp"

namespace coflux::detail {

/// Where a descriptor is in its source.
struct io_slot {
    std::uint32_t number = 0;
    std::uint32_t generation = 0;
};

class io_source : public event_source {
public:
    /// From now on operations of this descriptor of the system can wait here.
    /// Errors: std::system_error, std::bad_alloc.
    virtual io_slot attach(int number) = 0;
    /// Pre: no operation waits.
    virtual void detach(io_slot at, int number) noexcept = 0;

    /// The operation enters its place. stop: it must_end(). ready: it has ended.
    /// Threads: the coroutine's.
    virtual wait_attempt arm(io_operation& op, io_slot at) noexcept = 0;
    /// As arm(), of an operation that has not been tried: at the next look().
    virtual wait_attempt arm_for_next_look(io_operation& op, io_slot at) noexcept = 0;
    /// A stop takes it out: false if it is not there.
    /// Threads: any.
    virtual bool claim(io_operation& op, io_slot at) noexcept = 0;

    /// Operations of this direction that have to wait are better submitted here at once than tried before.
    [[nodiscard]] virtual bool submits(direction) const noexcept { return false; }

    /// A source of the kind that the process uses; src/io/backend.cpp chooses it. `one_thread`: all looks and sleeps
    /// are of the same one.
    /// Errors: std::system_error; std::invalid_argument for a choice of the user that there is not.
    static std::shared_ptr<io_source> make(bool one_thread = true);
    /// The same for several threads, that look by turns and arm at any time: of epoll.
    static std::shared_ptr<io_source> make_shared();
};

/// The source that coroutines of this thread wait in.
/// Errors: std::system_error, std::bad_alloc.
[[nodiscard]] std::shared_ptr<io_source> source_for(promise_base& p);
/// Coroutines whose thread has no source can wait: not in a child of fork() whose parent had such coroutines.
/// Errors: as source_for().
[[nodiscard]] bool has_io_service();
/// The source that source_for() gives, if it belongs to this thread's host and is there already; else nullptr.
[[nodiscard]] io_source* made_source_for(const promise_base& p) noexcept;

}  // namespace coflux::detail
