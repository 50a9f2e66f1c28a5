// epoll, level-triggered, as an event loop by hand has it.
#pragma once

#include "raw_sockets.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <sched.h>
#include <span>
#include <sys/epoll.h>

namespace bare {

// Whether a thread that has nothing ready sleeps, or looks again.
enum class idle { sleeps, spins };

class poller {
public:
    explicit poller(idle when = idle::sleeps) : timeout_ms_{when == idle::sleeps ? -1 : 0} {}

    void add(int fd, std::uint64_t tag) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = tag;
        harness::checked(epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
    }

    // The events that are ready, at least one.
    std::span<const epoll_event> wait() {
        int count = 0;
        for (int looks = 0;; ++looks) {
            count = epoll_wait(poll_.get(), events_.data(), static_cast<int>(events_.size()), timeout_ms_);
            if (count > 0 || (count < 0 && errno != EINTR)) {
                break;
            }
            // The other side may have no CPU but this one.
            if (looks > looks_before_a_yield) {
                sched_yield();
            }
        }
        return std::span{events_}.first(static_cast<std::size_t>(harness::checked(count, "epoll_wait")));
    }

private:
    static constexpr int looks_before_a_yield = 100;

    int timeout_ms_;
    harness::descriptor poll_{harness::checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")};
    std::array<epoll_event, 256> events_;
};

}  // namespace bare
