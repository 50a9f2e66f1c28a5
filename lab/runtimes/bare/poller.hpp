// epoll, level-triggered, as an event loop by hand has it.
#pragma once

#include "raw_sockets.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <sys/epoll.h>

namespace bare {

class poller {
public:
    void add(int fd, std::uint64_t tag) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = tag;
        harness::checked(epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
    }

    // The events that are ready, at least one.
    std::span<const epoll_event> wait() {
        int count = 0;
        do {
            count = epoll_wait(poll_.get(), events_.data(), static_cast<int>(events_.size()), -1);
        } while (count < 0 && errno == EINTR);
        return std::span{events_}.first(static_cast<std::size_t>(harness::checked(count, "epoll_wait")));
    }

private:
    harness::descriptor poll_{harness::checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")};
    std::array<epoll_event, 256> events_;
};

}  // namespace bare
