#include "descriptor.hpp"

#include <new>
#include <string>
#include <utility>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/assert.hpp>

#include "os/net/socket.hpp"

namespace coflux::detail {
namespace {

/// The memory of descriptors that are gone, for the next ones.
struct kept_descriptors {
    struct block {
        block* next;
    };
    static constexpr std::size_t most = 64;

    adaptive_lock lock;  // guards what follows
    block* first = nullptr;
    std::size_t count = 0;

    /// In the child of a fork() it is not used: a thread of the parent's may have held the lock.
    static bool is_of_parent() noexcept {
        return os::forks_of_process.load(memory_order_relaxed) != 0;  // pairs with nothing: see there
    }
    void* take() noexcept {
        if (is_of_parent()) return nullptr;
        const adaptive_guard held(lock);
        if (first == nullptr) return nullptr;
        --count;
        return std::exchange(first, first->next);
    }
    /// False: there are enough, or it is not used.
    bool give(void* at) noexcept {
        if (is_of_parent()) return false;
        const adaptive_guard held(lock);
        if (COFLUX_ASAN || count == most) return false;  // which tells what uses one that is gone
        ++count;
        first = ::new (at) block{first};
        return true;
    }
};
constinit kept_descriptors kept;

/// For messages.
constexpr const char* kinds_of_it = "a socket, pipe or process";

}  // namespace

void* descriptor::operator new(std::size_t size) {
    void* const again = kept.take();
    return again != nullptr ? again : ::operator new(size, std::align_val_t{alignof(descriptor)});
}
void descriptor::operator delete(void* at) noexcept {
    if (!kept.give(at)) ::operator delete(at, std::align_val_t{alignof(descriptor)});
}

/// Not of a local socket, whose read ends where descriptors came along.
descriptor::descriptor(int opened, const endpoint& of, socket_calls& by) noexcept
    : number(opened),
      calls(by),
      short_read_empties_(&by == &socket_calls::of_system() && os::is_internet_family(of.family())),
      peer(of) {}
descriptor::~descriptor() {
    if (in_.source != nullptr) in_.source->detach(in_.slot, number);
    if (out_.source != nullptr && out_.source != in_.source) out_.source->detach(out_.slot, number);
    if (number >= 0) calls.close_descriptor(number);
}

/// Pre: the caller holds the lock, and the home has a source.
io_source& descriptor::count_up(home& mine, direction way) noexcept {
    if (!mine.is_here()) {
        mine.waiting.store(0, memory_order_relaxed);
        mine.process.store(home::forks(), memory_order_relaxed);
    }
    mine.waiting.fetch_add(1, memory_order_relaxed);
    mine.at_once.store(mine.source->submits(way) ? mine.source.get() : nullptr, memory_order_relaxed);  // a hint
    return *mine.source;
}

io_source& descriptor::begin_wait(promise_base& p, direction way) {
    home& mine = home_of(way);
    // All but the first wait on a thread, mostly; it counts no owner of the source up and down.
    if (io_source* const there = calls.made_source(p); there != nullptr) {
        const adaptive_guard held(lock_);
        if (mine.source.get() == there) return count_up(mine, way);
    }
    std::shared_ptr<io_source> here = calls.source(p);
    const adaptive_guard held(lock_);
    home& other = home_of(way == direction::in ? direction::out : direction::in);
    if (mine.source != here && mine.is_idle()) {
        const io_slot at = other.source == here ? other.slot : here->attach(number);
        // Descriptors that were together move together, where they can: nothing is left behind that wakes another
        // thread.
        if (other.source == mine.source && other.is_idle()) {
            other.source = here;
            other.slot = at;
        }
        if (mine.source != nullptr && mine.source != other.source) mine.source->detach(mine.slot, number);
        mine.slot = at;
        mine.source = std::move(here);
    }
    return count_up(mine, way);
}

descriptor_handle::descriptor_handle(int opened, const endpoint& peer, socket_calls* by) {
    socket_calls& calls = by != nullptr ? *by : socket_calls::of_system();
    try {
        owned_ = new descriptor(opened, peer, calls);
    } catch (...) {
        if (opened >= 0) calls.close_descriptor(opened);
        throw;
    }
}

descriptor_handle& descriptor_handle::operator=(descriptor_handle&& other) noexcept {
    if (this != &other) {
        close("is assigned to");
        owned_ = std::exchange(other.owned_, nullptr);
    }
    return *this;
}

void descriptor_handle::close(const char* how) noexcept {
    if (owned_ == nullptr) return;
    COFLUX_VERIFY(!owned_->is_waited_for(), "%s %s while an operation of it waits (its peer, or its own name: %s)",
                  kinds_of_it, how, owned_->peer.to_string().c_str());
    delete std::exchange(owned_, nullptr);
}

descriptor_handle descriptor_handle::share() const noexcept {
    descriptor_handle second;
    if (owned_ != nullptr) owned_->add_owner();
    second.owned_ = owned_;
    return second;
}
bool descriptor_handle::is_shared() const noexcept {
    return owned_ != nullptr && owned_->is_shared();
}
void descriptor_handle::close_way(direction way, const char* how) noexcept {
    if (owned_ == nullptr) return;
    COFLUX_VERIFY(!owned_->is_waited_for(way), "%s %s while an operation of it waits (its peer, or its own name: %s)",
                  kinds_of_it, how, owned_->peer.to_string().c_str());
    descriptor* const left = std::exchange(owned_, nullptr);
    if (left->drop_owner()) delete left;
}

descriptor& descriptor_handle::get() const noexcept {
    COFLUX_VERIFY(owned_ != nullptr, "an operation of %s that is closed, was moved from, or was never opened",
                  kinds_of_it);
    return *owned_;
}
int descriptor_handle::number() const noexcept {
    return owned_ == nullptr ? -1 : owned_->number;
}
const endpoint& descriptor_handle::peer() const noexcept {
    return get().peer;
}

void throw_io_error(std::ptrdiff_t result, const char* what, const endpoint& where) {
    throw std::system_error(io_error(result), std::string("coflux: ") + what + ' ' + where.to_string());
}

}  // namespace coflux::detail
