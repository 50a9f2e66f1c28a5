// The common state of the ends of a channel, and its end.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

/// A type that can travel through a queue between coroutines: an object whose move constructor and destructor throw
/// nothing, so that a value is either here or there, whatever happens. Asked where a queue is made; its ends are
/// complete types before T is, so that a message may hold one: `struct question { std::string word;
/// coflux::mpsc_sender<question> answers; };`
template <typename T>
concept queue_value = std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> &&
                      std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;
static_assert(queue_value<int> && !queue_value<int&> && !queue_value<const int>);

namespace detail {

/// The ends of a queue of what can be in none.
template <typename T>
auto refuse_queue_of() {
    static_assert(queue_value<T>,
                  "coflux: a queue carries objects that move and end without throwing: no reference, array, const "
                  "or void, and a move constructor that is noexcept");
    return std::pair<int, int>();
}

/// `n`, where the bytes of so many values can be counted, with what a queue adds to each, and rounded up to a power of
/// two. Errors: std::bad_alloc.
template <typename T>
std::size_t room_for(std::size_t n) {
    constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / (2 * (sizeof(T) + cache_line));
    if (n > most) throw std::bad_alloc();
    return n;
}

/// Moves a value back to where it came from, and ends it here. A value that has no safe assignment is made anew there.
template <queue_value T>
void give_back(T& to, T& from) noexcept {
    if constexpr (std::is_nothrow_move_assignable_v<T>) {
        to = std::move(from);
    } else {
        to.~T();
        ::new (static_cast<void*>(detail::address_of(to))) T(std::move(from));
    }
    from.~T();
}

/// Base of the state that the ends of one channel share.
class shared_state {
public:
    shared_state(const shared_state&) = delete;
    shared_state& operator=(const shared_state&) = delete;

    [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

protected:
    explicit shared_state(std::pmr::memory_resource* resource) noexcept : resource_(resource) {}
    ~shared_state() = default;

private:
    template <typename State>
    friend class state_handle;

    std::pmr::memory_resource* resource_;
    // Number of handles. 0: nothing can reach the state, and the thread that brought it there frees it.
    atomic<std::uint32_t> handles_{1};
};

/// A counted reference to a channel's state; the last one frees it.
template <typename State>
class state_handle {
public:
    /// One more, to a state that another one keeps alive meanwhile.
    explicit state_handle(State& s) noexcept : state_(&s) { s.handles_.fetch_add(1, memory_order_relaxed); }
    state_handle(const state_handle& other) noexcept : state_(other.state_) {
        // relaxed: `other` keeps it alive meanwhile.
        if (state_ != nullptr) state_->handles_.fetch_add(1, memory_order_relaxed);
    }
    state_handle(state_handle&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    state_handle& operator=(state_handle other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    COFLUX_INLINE ~state_handle() { reset(); }

    template <typename... Args>
    [[nodiscard]] static state_handle make(std::pmr::memory_resource* resource, Args&&... args) {
        void* const memory = resource->allocate(sizeof(State), alignof(State));
        try {
            return state_handle(::new (memory) State(resource, std::forward<Args>(args)...));
        } catch (...) {
            resource->deallocate(memory, sizeof(State), alignof(State));
            throw;
        }
    }

    COFLUX_INLINE void reset() noexcept {
        if (State* const s = std::exchange(state_, nullptr)) give_up(s);
    }
    [[nodiscard]] State* operator->() const noexcept { return state_; }
    [[nodiscard]] State& operator*() const noexcept { return *state_; }
    explicit operator bool() const noexcept { return state_ != nullptr; }

private:
    explicit state_handle(State* s) noexcept : state_(s) {}

    COFLUX_NOINLINE static void give_up(State* s) noexcept {
        // release: what this end did comes before the death; acquire, of the last: it sees what all ends did.
        // [spsc.handles]
        if (s->handles_.fetch_sub(1, memory_order_acq_rel) != 1) return;
        std::pmr::memory_resource* const resource = s->resource();
        s->~State();
        resource->deallocate(s, sizeof(State), alignof(State));
    }

    State* state_ = nullptr;
};

}  // namespace detail
}  // namespace coflux
