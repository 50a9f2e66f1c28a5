// What a coroutine runs in: memory resource, executors, stop state, deadline, parent. Every coroutine is one for its
// children.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/failure.hpp>
#include <coflux/core/frame_control.hpp>
#include <coflux/core/stop.hpp>
#include <coflux/core/thread_state.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

namespace detail {

class promise_base;
class wait_operation;
struct environment_access;
struct environment_data;

const environment_data& data_of(const environment& e) noexcept;
const executor_entry* executor_of(const environment& e) noexcept;

/// What environment objects add, shared by all coroutines made in them.
struct environment_data {
    std::pmr::memory_resource* frames = nullptr;  ///< nullptr: the frame pool, which is then called directly
    std::uint32_t frames_flags = 0;               ///< what the word of a frame from `frames` has set
    std::span<const executor_entry> executors{&no_executor, 0};  ///< data() always points to an entry
    const environment_data* outer = nullptr;                     ///< the environment object around this one
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    error_handler on_error = nullptr;

    void use(std::pmr::memory_resource& memory) noexcept;

    [[nodiscard]] COFLUX_INLINE const executor_entry* find(const executor_key* key,
                                                           std::size_t position) const noexcept {
        if (position == 0 && executors.data()->key == key) [[likely]]
            return executors.data();
        return find_slow(key, position);
    }
    [[nodiscard]] COFLUX_ASIDE const executor_entry* find_slow(const executor_key* key,
                                                               std::size_t position) const noexcept;
    [[nodiscard]] const executor_entry* find_object(const void* identity) const noexcept;
};

/// Start value of `remaining`; far from 0, so that the count cannot reach 0 before the scope ends.
inline constexpr std::int32_t scope_open = std::int32_t{1} << 30;
/// The plain count of children is folded into the atomic one when it reaches this; it is kept less this, so that its sign tells.
inline constexpr std::int32_t scope_fold = std::int32_t{1} << 20;

}  // namespace detail

/// The environment of a coroutine's children: a root or derived one from make_environment, or a coroutine itself
/// (`auto&& here = co_await coflux::context()`).
///
/// Ownership: what is made in it belongs to it, and it ends after all of that has.
/// Threads: children may be created in it by several threads at once; the other members belong to the coroutine that
/// owns it, except request_stop().
/// Lifetime: an environment object must outlive its children; its destructor checks that.
class environment {
public:
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

    /// The resource that frames of children come from.
    [[nodiscard]] std::pmr::memory_resource* memory_resource() const noexcept {
        return data_->frames != nullptr ? data_->frames : &frame_pool::shared();
    }
    /// The nearest deadline set on the way up, if there is one.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept {
        if (data_->deadline == std::chrono::steady_clock::time_point::max()) return std::nullopt;
        return data_->deadline;
    }
    /// Requests a stop of everything made in this environment: those who wait are woken, the others stop at their next stop
    /// point. Threads: any, while the environment lives.
    /// Costs: a visit to each coroutine below that has ever waited in a primitive; none if there is none.
    void request_stop() noexcept;
    /// True once a stop was requested here or above.
    [[nodiscard]] bool stop_requested() noexcept {
        const std::uint32_t requests =
            detail::stop_requests.load(detail::memory_order_acquire);  // pairs with request_stop()
        return requests != stops_seen_ && look_up(requests);
    }
    [[nodiscard]] coflux::stop_token stop_token() noexcept { return coflux::stop_token(*this); }

protected:
    /// A coroutine's environment, below `parent`; its scope is opened when the coroutine asks for its context.
    COFLUX_INLINE environment(environment& parent, const detail::executor_entry* runs_on, bool starts_inline) noexcept
        : data_(parent.data_),
          parent_(&parent),
          executor_(runs_on),
          stops_seen_((parent.stops_seen_ & detail::stop_count_mask) |
                      (starts_inline ? detail::stop_count_inline : 0)) {}
    /// That of a call, which learns its executor when it is awaited.
    COFLUX_INLINE explicit environment(environment& parent) noexcept
        : data_(parent.data_),
          parent_(&parent),
          stops_seen_(parent.stops_seen_ & detail::stop_count_mask),
          marks_(is_call) {}
    /// An environment object: its scope is open from the start.
    environment(detail::environment_data& data, environment* parent) noexcept
        : data_(&data),
          parent_(parent),
          executor_(nullptr),
          marks_(is_object) {
        open_scope();
        stops_seen_ =
            detail::stop_requests.load(detail::memory_order_relaxed);  // nothing has been requested of a new root
        if (parent != nullptr) {
            executor_ = detail::executor_of(*parent);
            stops_seen_ = parent->stops_seen_ & detail::stop_count_mask;
        }
    }
    ~environment() = default;

    COFLUX_INLINE void open_scope() noexcept {
        children_ = -detail::scope_fold;
        ::new (&remaining_) detail::atomic<std::int32_t>(detail::scope_open);
        failures_ = nullptr;
    }

    [[nodiscard]] bool look_up(std::uint32_t requests) noexcept;

    /// The same as stop_requested(), from within a wait that has been published.
    [[nodiscard]] COFLUX_INLINE bool told_to_stop() noexcept {
        // seq_cst only for those who read the proof: the lock of the record orders it already (docs/design/stop.md).
        const std::uint32_t requests = detail::stop_requests.load(detail::memory_order_seq_cst);
        return requests != stops_seen_ && look_up(requests);
    }

    /// True for an environment object that a generator makes its children in.
    [[nodiscard]] bool is_of_generator() const noexcept {
        return parent_ != nullptr && (parent_->marks_.load(detail::memory_order_relaxed) & is_generator) != 0;
    }

    friend class detail::promise_base;
    friend class detail::wait_operation;
    friend struct detail::environment_access;
    friend const detail::environment_data& detail::data_of(const environment& e) noexcept;
    friend const detail::executor_entry* detail::executor_of(const environment& e) noexcept;

    // marks_: bits that are set once and stay, but for the lock and has_waits, which changes under the lock.
    static constexpr std::uint32_t stop_asked = 1;       // a stop was requested of this one
    static constexpr std::uint32_t is_object = 2;        // made by make_environment, not a coroutine
    static constexpr std::uint32_t failures_locked = 4;  // somebody changes failures_
    static constexpr std::uint32_t is_call = 8;          // a call: what waits in it is in the record of who is above
    static constexpr std::uint32_t has_waits = 16;       // failures_ points to a wait_record; goes with it
    static constexpr std::uint32_t is_generator =
        32;  // a call that stands still between elements, and may be destroyed there

    // The order keeps what is stored together from being merged into wider stores that a load of one field would wait for.
    const detail::environment_data* data_;
    environment* parent_;
    detail::relaxed<const detail::executor_entry*> executor_;  // where it runs; nullptr: wherever it is resumed
    // Written by the owner, read by whoever makes a child here.
    detail::relaxed<std::uint32_t> stops_seen_{
        0};  // stop_requests when the ancestors were last found clean, and stop_count_inline

    // The scope, but for marks_ without a value until it is open: a coroutine that never asks for its context has no
    // children and never pays for it. Children not yet accounted for are children_ + scope_fold + remaining_ - scope_open. children_ is
    // touched by the owning coroutine, or by a child while the owner is suspended in an await of it. remaining_ starts at
    // scope_open; -1 by each child that ends without such an await (acq_rel: the end of the scope sees what they did); the
    // end of the body adds children_ + scope_fold - scope_open, and whoever brings it to 0 continues.
    std::int32_t children_;
    detail::atomic<std::uint32_t> marks_{0};
    union {
        detail::atomic<std::int32_t> remaining_;
    };
    // nullptr, the first failure of children that ended before anybody awaited them, or with has_waits a wait_record,
    // which then has the failures. Guarded by failures_locked; the coroutine's own once its scope is joined.
    void* failures_;
};

namespace detail {

COFLUX_INLINE const environment_data& data_of(const environment& e) noexcept {
    return *e.data_;
}
COFLUX_INLINE const executor_entry* executor_of(const environment& e) noexcept {
    return e.executor_;
}

}  // namespace detail

inline bool stop_token::stop_requested() const noexcept {
    return of_->stop_requested();
}

}  // namespace coflux
