// A thread sleeps in it while its coroutines wait for the world outside: the seam that I/O fills. The page
// docs/design/io.md has the protocol.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <coflux/base/atomic.hpp>

#include "os/thread/parker.hpp"

namespace coflux::detail {

class left_behind;

/// Where operations of descriptors wait.
class event_source : public os::sleeping_place {
public:
    event_source() = default;
    event_source(const event_source&) = delete;
    event_source& operator=(const event_source&) = delete;
    virtual ~event_source() = default;

    /// Carries on what has become ready, `most` at a time. Returns how many operations ended. Resumes no coroutine in
    /// place.
    /// Threads: that of its host; of a pool, one worker at a time.
    virtual std::size_t look(std::size_t most) noexcept = 0;
    // sleep_until() also ends when something is ready; on the same thread.
    /// The part of look() that any worker of a pool may do: tries what was to be tried at the next look.
    virtual std::size_t try_late() noexcept = 0;
    /// try_late() would find something. A hint to threads that have not made it so.
    [[nodiscard]] virtual bool has_late() const noexcept = 0;
    /// Operations wait here: the host sleeps here, too. A hint to other threads.
    [[nodiscard]] virtual bool has_pending() const noexcept = 0;
    /// look() would find something that descriptor() does not show.
    /// Threads: as look().
    [[nodiscard]] virtual bool has_found() const noexcept = 0;
    /// For poll(2) and its like: readable when look() would find something. -1: there is none.
    [[nodiscard]] virtual int descriptor() const noexcept = 0;
    /// The coroutines that wait here, for a message. No thread looks at it any more.
    virtual void add_left(left_behind& to) noexcept = 0;
};

/// A thread that looks at an event source of its own, or the workers of a pool, which share one: this_thread.events.
class event_host {
public:
    event_host(const event_host&) = delete;
    event_host& operator=(const event_host&) = delete;

    [[nodiscard]] event_source* source() const noexcept {
        return source_.load(memory_order_acquire);  // pairs with adopt()
    }
    /// Pre: there is a source.
    [[nodiscard]] const std::shared_ptr<event_source>& shared_source() const noexcept { return owned_; }

    /// Several threads look at it by turns, and arm there at any time.
    [[nodiscard]] virtual bool is_shared() const noexcept { return false; }
    /// It is always the same thread that looks, and sleeps.
    [[nodiscard]] virtual bool has_one_thread() const noexcept { return !is_shared(); }
    /// Takes `source`, unless it has one already. It keeps it alive; so do the descriptors that have their home there.
    /// Errors: std::system_error, of what a shared host needs besides.
    /// Threads: those of the host.
    virtual void adopt(std::shared_ptr<event_source> source) { publish(std::move(source)); }

protected:
    event_host() = default;
    ~event_host() = default;

    void publish(std::shared_ptr<event_source> source) noexcept {
        owned_ = std::move(source);
        source_.store(owned_.get(), memory_order_release);  // pairs with source()
    }

private:
    std::shared_ptr<event_source> owned_;    // set once, before source_
    atomic<event_source*> source_{nullptr};  // nullptr until the first operation waits there; set once
};

}  // namespace coflux::detail
