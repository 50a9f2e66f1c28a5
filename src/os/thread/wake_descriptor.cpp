#include "wake_descriptor.hpp"

#include <system_error>

#if defined(__linux__)
#    include <cerrno>
#    include <ctime>
#    include <poll.h>
#    include <sys/epoll.h>
#    include <sys/eventfd.h>
#    include <sys/timerfd.h>
#    include <unistd.h>
#endif

namespace coflux::detail::os {

#if defined(__linux__)

namespace {

void add(int to, int descriptor) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    readable.data.fd = descriptor;
    if (epoll_ctl(to, EPOLL_CTL_ADD, descriptor, &readable) != 0)
        throw std::system_error(errno, std::generic_category(), "coflux: a descriptor for a run_loop");
}

}  // namespace

wake_descriptor::wake_descriptor()
    : all_(epoll_create1(EPOLL_CLOEXEC)),
      signalled_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    try {
        if (all_ < 0 || signalled_ < 0 || timer_ < 0)
            throw std::system_error(errno, std::generic_category(), "coflux: a descriptor for a run_loop");
        add(all_, signalled_);
        add(all_, timer_);
    } catch (...) {
        this->~wake_descriptor();
        throw;
    }
}

wake_descriptor::~wake_descriptor() {
    for (const int descriptor : {all_, signalled_, timer_}) {
        if (descriptor >= 0) close(descriptor);
    }
}

void wake_descriptor::include(int other) noexcept {
    epoll_event readable{};
    readable.events = EPOLLIN;
    readable.data.fd = other;
    (void)epoll_ctl(all_, EPOLL_CTL_ADD, other, &readable);  // it fails where it is included already
}

void wake_descriptor::signal() noexcept {
    const std::uint64_t one = 1;
    (void)!write(signalled_, &one, sizeof one);  // it fails where it is readable already
}

void wake_descriptor::reset() noexcept {
    std::uint64_t count = 0;
    (void)!read(signalled_, &count, sizeof count);  // it fails where it was not signalled
}

void wake_descriptor::readable_at(std::uint64_t deadline) noexcept {
    itimerspec at{};  // zero: it is disarmed
    if (deadline != ~std::uint64_t{0}) {
        at.it_value.tv_sec = static_cast<time_t>(deadline / 1'000'000'000);
        at.it_value.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
        if (deadline == 0) at.it_value.tv_nsec = 1;
    }
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

bool wake_descriptor::take_time() noexcept {
    std::uint64_t count = 0;
    return read(timer_, &count, sizeof count) > 0;
}

void wake_descriptor::wait_until(std::uint64_t deadline) noexcept {
    pollfd one{all_, POLLIN, 0};
    if (deadline == ~std::uint64_t{0}) {
        (void)ppoll(&one, 1, nullptr, nullptr);
        return;
    }
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::uint64_t time =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    const std::uint64_t left = deadline > time ? deadline - time : 0;
    const timespec rest{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    (void)ppoll(&one, 1, &rest, nullptr);
}

#else

wake_descriptor::wake_descriptor() {
    throw std::system_error(std::make_error_code(std::errc::function_not_supported),
                            "coflux: a run_loop has a descriptor on Linux only");
}
wake_descriptor::~wake_descriptor() = default;
void wake_descriptor::include(int) noexcept {}
void wake_descriptor::signal() noexcept {}
void wake_descriptor::reset() noexcept {}
void wake_descriptor::readable_at(std::uint64_t) noexcept {}
bool wake_descriptor::take_time() noexcept {
    return false;
}
void wake_descriptor::wait_until(std::uint64_t) noexcept {}

#endif

}  // namespace coflux::detail::os
