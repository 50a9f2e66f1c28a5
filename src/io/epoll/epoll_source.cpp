// The page docs/design/io.md has the protocol.
#include "epoll_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/time/clock.hpp>

#include "core/detail/scope/left_behind.hpp"
#include "io/detail/descriptor.hpp"
#include "io/detail/hand_out.hpp"

namespace coflux::detail {
namespace {

constexpr std::uint64_t waker_name = ~std::uint64_t{0};
constexpr std::uint64_t no_deadline_at_all = ~std::uint64_t{0};
constexpr std::uint32_t in_events = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t more_than_bytes = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
constexpr std::uint32_t out_events = EPOLLOUT | EPOLLHUP | EPOLLERR;

[[noreturn]] void fail_to_make(const char* what) {
    throw std::system_error(errno, std::system_category(), std::string("coflux: an event source: ") + what);
}

std::uint64_t name_of(io_slot at) noexcept {
    return std::uint64_t{at.generation} << 32 | at.number;
}
io_slot slot_of(std::uint64_t name) noexcept {
    return {static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32)};
}

}  // namespace

struct epoll_source::event_buffer {
    std::array<epoll_event, 64> events;
};

epoll_source::epoll_source() : events_(std::make_unique<event_buffer>()) {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) fail_to_make("epoll_create1");
    waker_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event wakes{};
    wakes.events = EPOLLIN;
    wakes.data.u64 = waker_name;
    if (waker_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_, &wakes) != 0) {
        const int error = errno;
        if (waker_ >= 0) close(waker_);
        close(epoll_);
        errno = error;
        fail_to_make("eventfd");
    }
}

epoll_source::~epoll_source() {
    close(waker_);
    close(epoll_);
}

// --- slots -----------------------------------------------------------------------------------------------------------

/// One for each direction of each slot, so that arm_for_next_look() does not allocate.
void epoll_source::make_room_for_late(std::size_t most) {
    std::vector<late> larger;
    if (late_room_.load(memory_order_relaxed) >= most) return;  // a number of its own had room, or makes it
    larger.reserve(std::max<std::size_t>(32, 2 * most));
    const adaptive_guard held(late_lock_);
    if (late_.capacity() >= larger.capacity()) return;
    larger.assign(late_.begin(), late_.end());  // fits
    late_.swap(larger);
    late_room_.store(late_.capacity(), memory_order_relaxed);
}

io_slot epoll_source::attach(int number) {
    io_slot at;
    at.number = slots_.take();
    try {
        make_room_for_late(2 * (std::size_t{at.number} + 1));
    } catch (...) {
        slots_.give_back(at.number);
        throw;
    }
    slot& s = slots_[at.number];
    {
        const adaptive_guard held(s.lock);
        at.generation = s.generation;
        s.in = s.out = {};
    }
    epoll_event both{};
    both.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
    both.data.u64 = name_of(at);
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, number, &both) != 0) {
        const int error = errno;
        slots_.give_back(at.number);
        throw std::system_error(error, std::system_category(), "coflux: a descriptor cannot be waited for");
    }
    return at;
}

void epoll_source::detach(io_slot at, int number) noexcept {
    // A child of a fork() shares the system's object with its parent, which still waits there.
    if (!process_.is_here()) return;
    epoll_event ignored{};
    (void)epoll_ctl(epoll_, EPOLL_CTL_DEL, number, &ignored);
    slot& s = slots_[at.number];
    {
        const adaptive_guard held(s.lock);
        ++s.generation;
    }
    slots_.give_back(at.number);
}

// --- operations ------------------------------------------------------------------------------------------------------

bool epoll_source::is_host_here() const noexcept {
    const event_host* const host = this_thread.events;
    return host != nullptr && host->source() == this;
}

/// The coroutine goes on, and the operation may be gone afterwards.
std::size_t epoll_source::end_pending(io_operation& op) noexcept {
    pending_.fetch_sub(1, memory_order_relaxed);
    op.wake();
    return 1;
}

/// Pre: the slot's lock is held.
wait_attempt epoll_source::wait_at(slot& s, io_operation& op) noexcept {
    if (op.must_end()) return wait_attempt::stop;
    waiting_place& place = s.place(op.way());
    COFLUX_VERIFY(
        place.waiting == nullptr,
        "two coroutines wait for the same direction of a socket or pipe (its peer, or its own name: %s): one at a time "
        "reads or accepts, and one writes",
        op.on().peer.to_string().c_str());
    place.waiting = &op;
    return wait_attempt::waits;
}

void epoll_source::check_process() const noexcept {
    COFLUX_VERIFY(
        process_.is_here(),
        "a coroutine waits for a descriptor in the child of a fork(), on a loop that did so before: its epoll "
        "belongs to the parent, too. Make the loop in the child");
}

wait_attempt epoll_source::arm(io_operation& op, io_slot at) noexcept {
    check_process();
    slot& s = slots_[at.number];
    // Before the operation can be seen: after that it may be gone, and its descriptor with it. No other thread needs to
    // hear of it: a host's own thread arms here, or the service's sleeps nowhere else.
    pending_.fetch_add(1, memory_order_relaxed);
    for (bool tried = false;; tried = true) {
        {
            const adaptive_guard held(s.lock);
            waiting_place& place = s.place(op.way());
            // An event before an operation that was not tried, and that is no byte, has been told, and is told once.
            const bool knows_all = !op.is_untried() || tried || !place.closing;
            if (!std::exchange(place.ready, false) && knows_all) {
                const wait_attempt how = wait_at(s, op);
                if (how == wait_attempt::stop) pending_.fetch_sub(1, memory_order_relaxed);
                return how;
            }
        }
        if (op.attempt()) {
            pending_.fetch_sub(1, memory_order_relaxed);
            return wait_attempt::ready;
        }
    }
}

wait_attempt epoll_source::arm_for_next_look(io_operation& op, io_slot at) noexcept {
    check_process();
    slot& s = slots_[at.number];
    const direction way = op.way();
    pending_.fetch_add(1, memory_order_relaxed);
    wait_attempt how = wait_attempt::stop;
    if (op.is_untried()) {
        // Because there was nothing left: it is tried at all only if something came since.
        const adaptive_guard held(s.lock);
        const waiting_place& place = s.place(way);
        if (!place.ready && !place.closing) {
            how = wait_at(s, op);
            if (how == wait_attempt::stop) pending_.fetch_sub(1, memory_order_relaxed);
            return how;
        }
    }
    {
        // In this order: a thread that finds it late, and not waiting, has nothing to do.
        const adaptive_guard late_held(late_lock_);
        const adaptive_guard held(s.lock);
        how = wait_at(s, op);
        if (how == wait_attempt::waits) {
            s.place(way).ready = false;  // what has come is found by the try
            late_.push_back({at, way});
            has_late_.store(true, memory_order_relaxed);  // a hint
            if (!is_host_here()) wake();                  // under the lock: the operation cannot end before
        } else {
            pending_.fetch_sub(1, memory_order_relaxed);
        }
    }
    return how;
}

bool epoll_source::claim(io_operation& op, io_slot at) noexcept {
    slot& s = slots_[at.number];
    const adaptive_guard held(s.lock);
    waiting_place& place = s.place(op.way());
    if (place.waiting != &op) return false;
    place.waiting = nullptr;
    pending_.fetch_sub(1, memory_order_relaxed);
    return true;
}

void epoll_source::set_closing(slot& s, std::uint32_t generation) noexcept {
    const adaptive_guard held(s.lock);
    if (s.generation == generation) s.in.closing = true;
}

/// An event came, or it is time to try: the operation that waits is the caller's from here on, if there is one.
io_operation* epoll_source::take_waiting(slot& s, direction way, std::uint32_t generation) noexcept {
    const adaptive_guard held(s.lock);
    if (s.generation != generation) return nullptr;  // of a descriptor that is closed
    waiting_place& place = s.place(way);
    io_operation* const op = std::exchange(place.waiting, nullptr);
    if (op == nullptr) place.ready = true;
    return op;
}

std::size_t epoll_source::carry_on(slot& s, io_operation& op) noexcept {
    for (;;) {
        if (op.attempt()) return end_pending(op);
        const adaptive_guard held(s.lock);
        if (std::exchange(s.place(op.way()).ready, false)) continue;
        if (wait_at(s, op) == wait_attempt::waits) return 0;
        break;
    }
    // A stop came meanwhile, or its limit, and did not find it.
    pending_.fetch_sub(1, memory_order_relaxed);
    op.end_early();
    return 1;
}

std::size_t epoll_source::try_late() noexcept {
    if (!has_late_.load(memory_order_relaxed)) return 0;
    const resumption_pause pause;
    std::array<late, 64> some;
    std::size_t n = 0;
    {
        const adaptive_guard held(late_lock_);
        n = std::min(some.size(), late_.size());
        std::copy_n(late_.begin(), n, some.begin());
        late_.erase(late_.begin(), late_.begin() + static_cast<std::ptrdiff_t>(n));
        has_late_.store(!late_.empty(), memory_order_relaxed);
    }
    std::size_t ended = 0;
    for (std::size_t i = 0; i < n; ++i) {
        slot& s = slots_[some[i].at.number];
        io_operation* const op = take_waiting(s, some[i].way, some[i].at.generation);
        if (op != nullptr) ended += carry_on(s, *op);
    }
    return ended;
}

void epoll_source::add_left(left_behind& to) noexcept {
    slots_.for_each([&to](slot& s) {
        const adaptive_guard held(s.lock);
        for (const io_operation* const op : {s.in.waiting, s.out.waiting}) {
            if (op != nullptr) to.add(op->coroutine(), "waits for a descriptor");
        }
    });
}

// --- the host --------------------------------------------------------------------------------------------------------

std::size_t epoll_source::look(std::size_t most) noexcept {
    const resumption_pause pause;
    std::size_t ended = try_late();
    const std::size_t found = found_ != 0 ? std::exchange(found_, 0) : poll_until(0, most);
    ended += hand_out(found);
    return ended;
}

std::size_t epoll_source::hand_out(std::size_t found) noexcept {
    struct taken {
        slot* at;
        io_operation* op;
    };
    const epoll_event* const events = events_->events.data();
    const auto fetch = [&](std::size_t i) noexcept {
        if (events[i].data.u64 != waker_name) __builtin_prefetch(&slots_[slot_of(events[i].data.u64).number]);
    };
    const auto take = [&](std::size_t i, taken* to) noexcept {
        const epoll_event& event = events[i];
        std::size_t n = 0;
        if (event.data.u64 == waker_name) {
            std::uint64_t count = 0;
            (void)!read(waker_, &count, sizeof count);
            return n;
        }
        const io_slot at = slot_of(event.data.u64);
        slot& s = slots_[at.number];
        if ((event.events & more_than_bytes) != 0) set_closing(s, at.generation);
        const auto take_way = [&](direction way) noexcept {
            io_operation* const op = take_waiting(s, way, at.generation);
            if (op != nullptr) to[n++] = {&s, op};
        };
        if ((event.events & in_events) != 0) take_way(direction::in);
        if ((event.events & out_events) != 0) take_way(direction::out);
        return n;
    };
    return detail::hand_out<taken, 2>(found, fetch, take, [&](taken& t) noexcept { return carry_on(*t.at, *t.op); });
}

void epoll_source::sleep_until(std::uint64_t deadline) noexcept {
    if (found_ == 0) found_ = poll_until(has_late_.load(memory_order_relaxed) ? 0 : deadline, events_->events.size());
}

void epoll_source::wake() noexcept {
    const std::uint64_t one = 1;
    (void)!write(waker_, &one, sizeof one);  // it fails where it is readable already
}

/// Returns how many events it found. 0: it does not wait.
std::size_t epoll_source::poll_until(std::uint64_t deadline, std::size_t most_found) noexcept {
    epoll_event* const to = events_->events.data();
    const int most = static_cast<int>(std::min(most_found, events_->events.size()));
    if (deadline == 0 || deadline == no_deadline_at_all) {
        const int found = epoll_wait(epoll_, to, most, deadline == 0 ? 0 : -1);
        return found > 0 ? static_cast<std::size_t>(found) : 0;  // interrupted: the caller looks again
    }
    const std::uint64_t now = tick_now();
    const std::uint64_t left = deadline > now ? deadline - now : 0;
#if defined(SYS_epoll_pwait2)
    timespec time{};
    time.tv_sec = static_cast<time_t>(left / 1'000'000'000);
    time.tv_nsec = static_cast<long>(left % 1'000'000'000);
    const long found = syscall(SYS_epoll_pwait2, epoll_, to, most, &time, nullptr, 0);
    if (found >= 0 || errno != ENOSYS) return found > 0 ? static_cast<std::size_t>(found) : 0;
#endif
    // Later by less than a millisecond, never earlier: a timer would spin.
    const std::uint64_t milliseconds = std::min<std::uint64_t>((left + 999'999) / 1'000'000, 1'000'000'000);
    const int coarse = epoll_wait(epoll_, to, most, static_cast<int>(milliseconds));
    return coarse > 0 ? static_cast<std::size_t>(coarse) : 0;
}

}  // namespace coflux::detail
