// What a thread sleeps in while its coroutines wait for the world outside: the seam that I/O fills. The page
// docs/design/io.md has the protocol.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "os/parker.hpp"

namespace coflux::detail {

class left_behind;

/// Where operations of descriptors wait.
class event_source : public os::sleeping_place {
public:
    event_source() = default;
    event_source(const event_source&) = delete;
    event_source& operator=(const event_source&) = delete;
    virtual ~event_source() = default;

    /// Carries on what has become ready, a portion at most. Returns how many operations ended. Resumes no coroutine in
    /// place.
    /// Threads: that of its host.
    virtual std::size_t look() noexcept = 0;
    // sleep_until() also ends when something is ready; on the host's thread.
    /// Operations wait here: the host sleeps here, too. A hint to other threads.
    [[nodiscard]] virtual bool has_pending() const noexcept = 0;
    /// look() would find something that descriptor() does not show.
    /// Threads: that of its host.
    [[nodiscard]] virtual bool has_found() const noexcept = 0;
    /// For poll(2) and its like: readable when look() would find something. -1: there is none.
    [[nodiscard]] virtual int descriptor() const noexcept = 0;
    /// What waits here, for a message. No thread looks at it any more.
    virtual void add_left(left_behind& to) noexcept = 0;
};

/// A thread that looks at an event source of its own: this_thread.events.
class event_host {
public:
    event_host(const event_host&) = delete;
    event_host& operator=(const event_host&) = delete;

    [[nodiscard]] event_source* source() const noexcept { return source_.get(); }
    /// On the host's thread. It keeps the source alive; so do the descriptors that have their home there.
    void adopt(std::shared_ptr<event_source> source) noexcept { source_ = std::move(source); }
    [[nodiscard]] const std::shared_ptr<event_source>& shared_source() const noexcept { return source_; }

protected:
    event_host() = default;
    ~event_host() = default;

    void drop_source() noexcept { source_.reset(); }

private:
    std::shared_ptr<event_source> source_;  // the host's thread's; nullptr until the first operation waits there
};

}  // namespace coflux::detail
