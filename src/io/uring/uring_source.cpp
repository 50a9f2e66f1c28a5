// The page docs/design/io_uring.md has the protocol.
#include "uring_source.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/time/clock.hpp>

#include "core/detail/scope/left_behind.hpp"
#include "io/detail/descriptor.hpp"
#include "io/detail/hand_out.hpp"
#include "os/net/socket.hpp"

namespace coflux::detail {
namespace {

constexpr std::uint64_t name_of_waker = ~std::uint64_t{0};
constexpr std::uint64_t name_of_cancel = name_of_waker - 1;
constexpr std::uint32_t most_bytes = 0x7fff'f000;  // that the system moves at once
#if !defined(IORING_CQE_F_SOCK_NONEMPTY)
#    define IORING_CQE_F_SOCK_NONEMPTY (1U << 2)
#endif

[[noreturn]] void fail_to_make_ring(int error, const char* what) {
    throw std::system_error(-error, std::system_category(), std::string("coflux: an event source: ") + what);
}

std::uint64_t request_name(std::uint32_t place, std::uint32_t generation) noexcept {
    return std::uint64_t{generation} << 32 | place;
}

/// It is of an operation.
bool is_named(const io_uring_cqe& c) noexcept {
    return c.user_data != name_of_waker && c.user_data != name_of_cancel;
}

void poll_for(io_uring_sqe& s, int descriptor, unsigned events) noexcept {
    s.opcode = IORING_OP_POLL_ADD;
    s.fd = descriptor;
    // Its two halves change places where the first byte is the highest.
    s.poll32_events = std::endian::native == std::endian::little ? events : events << 16 | events >> 16;
}

void describe(io_uring_sqe& s, const io_submission& what) noexcept {
    s.addr = reinterpret_cast<std::uint64_t>(what.address);
    s.len = static_cast<std::uint32_t>(std::min<std::size_t>(what.size, most_bytes));
    switch (what.call) {
    case io_submission::kind::receive: s.opcode = IORING_OP_RECV; break;
    case io_submission::kind::receive_whole:
        s.opcode = IORING_OP_RECV;
        s.msg_flags = MSG_TRUNC;
        break;
    case io_submission::kind::receive_message:
        s.opcode = IORING_OP_RECVMSG;
        s.len = 1;
        s.msg_flags = MSG_TRUNC;
        break;
    case io_submission::kind::read:
        s.opcode = IORING_OP_READ;
        s.off = ~std::uint64_t{0};  // from where it is
        break;
    case io_submission::kind::send:
        s.opcode = IORING_OP_SEND;
        s.msg_flags = MSG_NOSIGNAL;
        break;
    case io_submission::kind::accept:
        s.opcode = IORING_OP_ACCEPT;
        s.len = 0;
        s.addr2 = reinterpret_cast<std::uint64_t>(what.name_size);
        s.accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
        break;
    case io_submission::kind::connect:
        s.opcode = IORING_OP_CONNECT;
        s.len = 0;
        s.off = what.size;
        break;
    }
}

}  // namespace

uring_source::uring_source(ring_rung rung) {
    if (const ring_outcome how = ring_.open(rung); how.error != 0) fail_to_make_ring(how.error, how.step);
    waker_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waker_ < 0) fail_to_make_ring(-errno, "eventfd");
}

uring_source::~uring_source() {
    close(waker_);
}

// --- slots -----------------------------------------------------------------------------------------------------------

io_slot uring_source::attach(int) {
    io_slot at;
    at.number = slots_.take();
    slot& s = slots_[at.number];
    for (place* const p : {&s.in, &s.out}) {
        const adaptive_guard held(p->lock);
        p->name = 2 * at.number + (p == &s.out ? 1 : 0);
        p->polls = false;
    }
    return at;
}

void uring_source::detach(io_slot at, int) noexcept {
    if (!process_.is_here()) return;  // in the child of a fork() what waits there is the parent's
    slots_.give_back(at.number);
}

// --- operations ------------------------------------------------------------------------------------------------------

bool uring_source::is_host_here() const noexcept {
    const event_host* const host = this_thread.events;
    if (host != nullptr) return host->source() == this;
    return service_.load(memory_order_relaxed) == &this_thread;  // see there
}

void uring_source::check_process() const noexcept {
    COFLUX_VERIFY(process_.is_here(),
                  "a coroutine waits for a descriptor in the child of a fork(), on a loop that did so before: its "
                  "io_uring belongs to the parent. Make the loop in the child");
}

/// Pre: the place's lock is held.
void uring_source::list(place& p) noexcept {
    if (p.is_listed) return;
    p.is_listed = true;
    p.next = nullptr;
    if (is_host_here()) {
        (last_ != nullptr ? last_->next : first_) = &p;
        last_ = &p;
        return;
    }
    {
        const adaptive_guard held(given_lock_);
        p.next = std::exchange(given_, &p);
        has_given_.store(true, memory_order_relaxed);  // a hint
        if (p.next != nullptr) return;                 // the giver of that has woken it
    }
    // [io_stop.list.wakes]
    wake();  // under the place's lock: the operation, and so its source, cannot end before
}

/// Pre: the place's lock is held.
wait_attempt uring_source::wait_at(place& p, io_operation& op) noexcept {
    // [io_stop.arm.looks]
    if (op.must_end()) return wait_attempt::stop;
    COFLUX_VERIFY(
        p.waiting == nullptr,
        "two coroutines wait for the same direction of a socket or pipe (its peer, or its own name: %s): one at a time "
        "reads or accepts, and one writes",
        op.on().peer.to_string().c_str());
    p.waiting = &op;
    p.at = state::queued;
    list(p);
    return wait_attempt::waits;
}

wait_attempt uring_source::arm(io_operation& op, io_slot at) noexcept {
    return arm(op, at, false);
}
wait_attempt uring_source::arm_for_next_look(io_operation& op, io_slot at) noexcept {
    return arm(op, at, true);
}
wait_attempt uring_source::arm(io_operation& op, io_slot at, bool is_untried) noexcept {
    check_process();
    place& p = place_of(at, op.way());
    // Before the operation can be seen: after that it may be gone, and its descriptor with it.
    pending_.fetch_add(1, memory_order_relaxed);
    const adaptive_guard held(p.lock);
    const wait_attempt how = wait_at(p, op);
    p.is_untried = is_untried;
    if (how == wait_attempt::stop) pending_.fetch_sub(1, memory_order_relaxed);
    return how;
}

bool uring_source::claim(io_operation& op, io_slot at) noexcept {
    place& p = place_of(at, op.way());
    const adaptive_guard held(p.lock);
    if (p.waiting != &op) return false;
    // [io_stop.claim.submitted]
    if (p.at == state::submitted) {
        // The kernel may write to its buffer: it stops with its completion.
        // [io_stop.claim.marks]
        p.must_cancel = true;
        // [io_stop.claim.lists]
        list(p);
        return false;
    }
    // [io_stop.claim.waiting]
    p.waiting = nullptr;
    p.at = state::free;
    // [io_stop.claim.pending]
    pending_.fetch_sub(1, memory_order_relaxed);
    return true;
}

void uring_source::add_left(left_behind& to) noexcept {
    slots_.for_each([&to](slot& s) {
        for (place* const p : {&s.in, &s.out}) {
            const adaptive_guard held(p->lock);
            if (p->waiting != nullptr) to.add(p->waiting->coroutine(), "waits for a descriptor");
        }
    });
}

// --- requests --------------------------------------------------------------------------------------------------------

void uring_source::take_what_was_given() noexcept {
    if (!has_given_.load(memory_order_relaxed)) return;  // it wakes us
    place* given = nullptr;
    {
        const adaptive_guard held(given_lock_);
        given = std::exchange(given_, nullptr);
        has_given_.store(false, memory_order_relaxed);
    }
    while (given != nullptr) {
        place* const next = std::exchange(given->next, first_);
        if (first_ == nullptr) last_ = given;
        first_ = std::exchange(given, next);
    }
}

/// The thread that calls it first is the one that submits.
void uring_source::begin_to_serve() noexcept {
    check_process();
    if (serves_) return;
    serves_ = true;
    if (this_thread.events == nullptr) service_.store(&this_thread, memory_order_relaxed);  // see there
    const int e = ring_.enable();
    COFLUX_VERIFY(e == 0, "io_uring_register gave the error %d", -e);
}

void uring_source::watch_waker() noexcept {
    if (watches_waker_ || ring_.is_full()) return;
    watches_waker_ = true;
    // It is never read: a write to it is an event in any case, and what woke us before is one at most.
    io_uring_sqe& s = ring_.next();
    poll_for(s, waker_, POLLIN);
    s.len = IORING_POLL_ADD_MULTI;
    s.user_data = name_of_waker;
}

void uring_source::fill_in() noexcept {
    take_what_was_given();
    while (first_ != nullptr && !ring_.is_full()) {
        place& p = *first_;
        first_ = p.next;
        if (first_ == nullptr) last_ = nullptr;
        fill_in(p);
    }
}

void uring_source::fill_in(place& p) noexcept {
    const adaptive_guard held(p.lock);
    // [io_stop.fill_in.listed]
    p.is_listed = false;
    if (p.waiting == nullptr) return;  // a stop was faster
    if (p.at == state::submitted) {
        if (!std::exchange(p.must_cancel, false)) return;
        io_uring_sqe& s = ring_.next();
        s.opcode = IORING_OP_ASYNC_CANCEL;
        s.fd = -1;
        s.addr = request_name(p.name, p.generation);
        s.user_data = name_of_cancel;
        s.flags = IOSQE_CQE_SKIP_SUCCESS;
        return;
    }
    io_operation& op = *p.waiting;
    io_uring_sqe& s = ring_.next();
    io_submission what;
    p.is_poll = p.polls || !op.prepare(what);
    const bool is_untried = std::exchange(p.is_untried, false);
    if (p.is_poll && is_untried) {
        s.opcode = IORING_OP_NOP;  // a poll may wait where the call does not: for more room than it needs
    } else if (p.is_poll) {
        poll_for(s, op.on().number, op.way() == direction::in ? POLLIN | POLLRDHUP : POLLOUT);
    } else {
        describe(s, what);
        s.fd = op.on().number;
    }
    p.asked = what.leaves_more_untold() && !p.is_poll ? looks_ : std::uint8_t{0};
    s.user_data = request_name(p.name, p.generation);
    p.must_cancel = false;
    // [io_stop.fill_in.submitted]
    p.at = state::submitted;
}

/// Errors that are left over: the system has no memory for a request, or the completions need room. Both pass.
void uring_source::enter(std::uint64_t nanoseconds) noexcept {
    const int e = ring_.enter(nanoseconds);
    COFLUX_VERIFY(e != -EEXIST && e != -EBADF && e != -EFAULT, "io_uring_enter gave the error %d", -e);
}

// --- completions -----------------------------------------------------------------------------------------------------

/// The operation that a completion ends, which no other thread touches from here on; nullptr: none.
io_operation* uring_source::take_completed(const io_uring_cqe& c, bool& is_poll, bool& was_there) noexcept {
    place& p = place_named(c.user_data);
    const adaptive_guard held(p.lock);
    if (p.at != state::submitted || p.generation != c.user_data >> 32) return nullptr;
    p.at = state::free;
    ++p.generation;
    is_poll = p.is_poll;
    was_there = p.asked == looks_;
    if (!is_poll && os::would_block(c.res)) p.polls = true;
    return std::exchange(p.waiting, nullptr);
}

/// A completion counts, whatever was requested meanwhile.
std::size_t uring_source::complete(io_operation& op, const io_uring_cqe& c, bool is_poll, bool was_there) noexcept {
    bool ended = false;
    // [io_stop.complete.result]
    if (c.res != -ECANCELED && c.res != -EINTR) {
        if (is_poll) {
            ended = op.attempt();
        } else if (!os::would_block(c.res)) {
            // Nobody says of a message or a pipe whether it was all; where it was there already, more may be.
            const bool has_more = (c.flags & IORING_CQE_F_SOCK_NONEMPTY) != 0 || was_there;
            if (op.way() == direction::in && has_more) op.on().try_first(op.way());
            ended = op.take(c.res);
        }
    }
    // [io_stop.complete.ended]
    if (ended) {
        pending_.fetch_sub(1, memory_order_relaxed);
        op.wake();
        return 1;
    }
    {
        // The rest. Or the thread that submitted it has ended, which cancels what it submitted.
        place& p = place_named(c.user_data);
        const adaptive_guard held(p.lock);
        if (wait_at(p, op) == wait_attempt::waits) return 0;
    }
    // [io_stop.end_early.pending]
    pending_.fetch_sub(1, memory_order_relaxed);
    op.end_early();
    return 1;
}

std::size_t uring_source::hand_out(std::size_t most) noexcept {
    struct taken {
        io_operation* op;
        const io_uring_cqe* of;
        bool is_poll;
        bool was_there;
    };
    const auto found = static_cast<unsigned>(std::min<std::size_t>(ring_.completed(), most));
    const auto completion = [&](std::size_t i) noexcept -> const io_uring_cqe& {
        return ring_.completion(static_cast<unsigned>(i));
    };
    const auto fetch = [&](std::size_t i) noexcept {
        if (is_named(completion(i))) __builtin_prefetch(&place_named(completion(i).user_data));
    };
    const auto take = [&](std::size_t i, taken* to) noexcept -> std::size_t {
        const io_uring_cqe& c = completion(i);
        if (c.user_data == name_of_waker && (c.flags & IORING_CQE_F_MORE) == 0) watches_waker_ = false;
        if (!is_named(c)) return 0;
        to->of = &c;
        to->op = take_completed(c, to->is_poll, to->was_there);
        return to->op != nullptr ? 1 : 0;
    };
    const std::size_t ended = detail::hand_out<taken, 1>(
        found, fetch, take, [&](taken& t) noexcept { return complete(*t.op, *t.of, t.is_poll, t.was_there); });
    ring_.take(found);
    return ended;
}

// --- the host --------------------------------------------------------------------------------------------------------

std::size_t uring_source::look(std::size_t most) noexcept {
    const resumption_pause pause;
    begin_to_serve();
    looks_ = looks_ == 255 ? std::uint8_t{1} : static_cast<std::uint8_t>(looks_ + 1);
    watch_waker();
    fill_in();
    if (ring_.unsubmitted() != 0 || ring_.must_enter()) enter(0);
    return hand_out(most);
}

void uring_source::sleep_until(std::uint64_t deadline) noexcept {
    begin_to_serve();
    watch_waker();
    fill_in();
    if (ring_.completed() != 0) return;
    if (first_ != nullptr || !watches_waker_) return enter(0);  // there is more to submit than fits
    if (deadline == ring::for_ever) return enter(deadline);
    const std::uint64_t now = tick_now();
    enter(deadline > now ? deadline - now : 0);
}

void uring_source::wake() noexcept {
    const std::uint64_t one = 1;
    (void)!write(waker_, &one, sizeof one);  // it fails where it is readable already
}

}  // namespace coflux::detail
