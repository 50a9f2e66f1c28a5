// The environment that a coroutine runs in: memory resource, executors, stop state, deadline, parent. Every coroutine
// is one for its children.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/core/detail/scope/child_count.hpp>
#include <coflux/core/detail/scope/deadline_hook.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/errors.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/stop.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux {

struct trace_context;

namespace detail {

struct deadline_time;
class environment_tree;
class promise_base;
class scope_children;
class scope_failures;
class scope_stops;
class wait_operation;
class wait_records;
struct wait_record;
struct stop_walk;
struct layout_access;

/// The time of an environment without a deadline.
inline constexpr std::int64_t no_deadline = INT64_MAX;

/// The additions of an environment object to the environment above it, for all coroutines made in it.
struct environment_data {
    std::pmr::memory_resource* frames = nullptr;  ///< nullptr: the frame pool, which is then called directly
    std::uint32_t frames_flags = 0;               ///< what the word of a frame from `frames` has set
    std::int32_t trace_at = 0;                    ///< how many bytes behind this its trace_context begins; 0: none here
    executor_entry first = no_executor;           ///< of its executors: here, so that a fork finds it by one load
    std::span<const executor_entry> others;       ///< the rest
    const environment_data* outer = nullptr;      ///< the nearest environment object around this one that has executors
    const environment_data* around = nullptr;     ///< what is above this one
    std::int64_t deadline = no_deadline;          ///< in ticks of std::chrono::steady_clock (core/deadline.hpp)
    error_handler on_error = nullptr;

    void use(std::pmr::memory_resource& memory) noexcept;

    [[nodiscard]] COFLUX_INLINE const executor_entry* find(const executor_key* key,
                                                           std::size_t position) const noexcept {
        if (position == 0 && first.key == key) [[likely]]
            return &first;
        return find_slow(key, position);
    }
    [[nodiscard]] COFLUX_ASIDE const executor_entry* find_slow(const executor_key* key,
                                                               std::size_t position) const noexcept;
    [[nodiscard]] const executor_entry* find_object(const void* identity) const noexcept;
};

/// Names an environment_data, and says what every frame that is made asks: whether it comes from the frame pool, and
/// whether it is made in an environment object.
class data_ref {
public:
    /// No value yet: a call is given its environment by its awaiter.
    data_ref() noexcept = default;
    /// The reference in a coroutine. `data` may not have begun to live.
    COFLUX_INLINE explicit data_ref(const environment_data& data, bool pooled) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(&data) | (pooled ? 0 : from_resource)) {}
    /// The reference in an environment object; set again when its resource is known.
    [[nodiscard]] static data_ref of_object(const environment_data& data, bool pooled) noexcept {
        data_ref r(data, pooled);
        r.bits_ |= object;
        return r;
    }
    /// The reference in a coroutine that is made in this environment.
    [[nodiscard]] COFLUX_INLINE data_ref of_child() const noexcept {
        data_ref r = *this;
        r.bits_ &= ~object;
        return r;
    }

    [[nodiscard]] COFLUX_INLINE bool pooled() const noexcept { return (bits_ & from_resource) == 0; }
    [[nodiscard]] COFLUX_INLINE bool is_of_object() const noexcept { return (bits_ & object) != 0; }
    /// Pooled, and of a coroutine.
    [[nodiscard]] COFLUX_INLINE bool is_usual() const noexcept { return (bits_ & (from_resource | object)) == 0; }
    [[nodiscard]] COFLUX_INLINE const environment_data& operator*() const noexcept {
        return *reinterpret_cast<const environment_data*>(bits_ & ~(from_resource | object));
    }
    [[nodiscard]] COFLUX_INLINE const environment_data* operator->() const noexcept { return &**this; }

private:
    static constexpr std::uintptr_t from_resource = 1;
    static constexpr std::uintptr_t object = 2;

    std::uintptr_t bits_;
};

static_assert(alignof(environment_data) >= 4, "two tags of a data_ref");

/// A coroutine's parent, and what the owner of the handle alone says: whether the coroutine has views or callbacks, and
/// whether it was given to an operation. Without the first the parent may await it on its own stack without a look at
/// its state.
class parent_ref {
public:
    COFLUX_INLINE explicit parent_ref(environment* parent) noexcept : bits_(reinterpret_cast<std::uintptr_t>(parent)) {}

    [[nodiscard]] COFLUX_INLINE environment* get() const noexcept {
        return reinterpret_cast<environment*>(bits_ & ~tags);
    }
    [[nodiscard]] COFLUX_INLINE environment* operator->() const noexcept { return get(); }
    /// For use while only this thread knows the coroutine.
    [[nodiscard]] COFLUX_INLINE environment* own() const noexcept {
        return reinterpret_cast<environment*>(bits_.own() & ~tags);
    }
    /// A call that was given no environment has no parent before it is awaited.
    [[nodiscard]] COFLUX_INLINE bool is_none() const noexcept { return bits_ == 0; }
    [[nodiscard]] COFLUX_INLINE environment& operator*() const noexcept { return *get(); }
    /// It is `e`, and the coroutine is neither shared nor given.
    [[nodiscard]] COFLUX_INLINE bool is_unshared(const environment* e) const noexcept {
        return bits_ == reinterpret_cast<std::uintptr_t>(e);
    }
    /// It is `e`, and the coroutine is given and not shared.
    [[nodiscard]] COFLUX_INLINE bool is_given_by(const environment* e) const noexcept {
        return bits_ == reinterpret_cast<std::uintptr_t>(e) + given;
    }
    [[nodiscard]] bool is_given() const noexcept { return (bits_ & given) != 0; }
    /// For use before another thread knows the coroutine.
    void become(environment* parent) noexcept { bits_ = reinterpret_cast<std::uintptr_t>(parent); }
    /// The owner of the handle makes the first view or callback. Other threads may be reading.
    void share() noexcept { bits_ = bits_ | shared; }
    /// The owner of the handle gives it away. As share(): no locked instruction, because only the owner writes.
    void give() noexcept { bits_ = bits_ | given; }

private:
    static constexpr std::uintptr_t shared = 1;
    static constexpr std::uintptr_t given = 2;  // the operation that it was given to tells of its end
    static constexpr std::uintptr_t tags = shared | given;

    relaxed<std::uintptr_t> bits_;
};

/// The environment that a call is made in where it names none: its awaiter's.
struct awaiters_environment {};

const environment_data& data_of(const environment& e) noexcept;
const executor_entry* executor_of(const environment& e) noexcept;
const data_ref& data_ref_of(const environment& e) noexcept;
bool is_lender(const environment& e) noexcept;

}  // namespace detail

/// The environment of a coroutine's children: a root or derived one from make_environment, or a coroutine itself
/// (`auto&& here = co_await coflux::context()`).
///
/// A coroutine's parameter is *not* the environment of its children, but the one that it was itself made in: what it
/// makes there is a sibling, which it neither joins nor stops. Its children are made in `here`. A sibling that is meant
/// is made in `coflux::outer(env)`; without NDEBUG others are told on stderr (outer.hpp says which). A call is none: it
/// is a part of the coroutine that awaits it.
///
/// Shapes: what is made in it belongs to it, and it ends after all of that has.
/// Threads: children may be created in it by several threads at once; the other members belong to the coroutine that
/// owns it, except request_stop().
/// Lifetime: an environment object must outlive its children; its destructor checks that.
class environment {
public:
    environment(const environment&) = delete;
    /// The type of `auto here = …`.
    template <std::same_as<environment> E>
    environment(E& e) : environment(const_cast<detail::environment_data&>(detail::data_of(e)), nullptr) {
        static_assert(
            detail::never<E>,
            "coflux: an environment cannot be copied: bind a reference to it, `auto&& here = co_await coflux::context()`");
    }
    ~environment() = default;
    environment& operator=(const environment&) = delete;

    /// The resource that frames of children come from.
    [[nodiscard]] std::pmr::memory_resource* memory_resource() const noexcept {
        return data_->frames != nullptr ? data_->frames : &frame_pool::shared();
    }
    /// The nearest deadline set on the way up, if there is one: a
    /// `std::optional<std::chrono::steady_clock::time_point>`.
    /// Shapes: include <coflux/core/deadline.hpp>, as <coflux/coflux.hpp> does.
    template <typename Time = detail::deadline_time>
    [[nodiscard]] auto deadline() const noexcept {
        return Time::from(data_->deadline);
    }
    /// The trace that the nearest environment on the way up was given, or nullptr: a part of that environment.
    /// Costs: a step for each environment object between.
    [[nodiscard]] const trace_context* trace() const noexcept;
    /// Requests a stop of everything made in this environment: the waiting coroutines are woken, the rest stop at their
    /// next stop point.
    /// Threads: any, while the environment lives; also a thread that runs no coroutine, a callback of this library, and
    /// a coroutine below, itself included. No signal handler: it takes locks.
    /// Costs: a visit to each coroutine below that has ever waited in a primitive, the first time; none if there is
    /// none. After the first 512 it returns, and the executors of those below do the rest, in steps that let others
    /// run.
    void request_stop() noexcept { request_stop_as(stop_asked | asked_itself); }
    /// It finishes with its value, though a stop from above may cut off children that were made in it: for a coroutine
    /// `here`, the value that it returns; for an environment object or a task_scope, that join() goes on, and for the
    /// block of a with_scope, its value. Without it such a stop stops the coroutine, or the one that joins.
    ///
    /// Stops: changes what becomes of the value, not what is stopped.
    /// Threads: that of the coroutine that owns it.
    /// Costs: one locked instruction.
    void finish_with_value() noexcept { marks_.fetch_or(keeps_value, detail::memory_order_relaxed); }
    /// True once a stop was requested here or above, or deadline() has passed.
    /// Costs: as stop_token.
    [[nodiscard]] bool stop_requested() noexcept {
        return is_stop_requested() || (data_->deadline != detail::no_deadline && detail::has_passed(data_->deadline));
    }
    [[nodiscard]] coflux::stop_token stop_token() noexcept { return coflux::stop_token(*this); }

protected:
    /// request_stop() that leaves `asked` behind.
    void request_stop_as(std::uint32_t asked) noexcept;

    /// True once a stop was requested here or above.
    [[nodiscard]] bool is_stop_requested() noexcept {
        // [stop.requested.looks]
        const std::uint32_t requests =
            detail::stop_requests.load(detail::memory_order_acquire);  // pairs with request_stop()
        return requests != own_.stops_seen && look_up(requests);
    }

    /// A coroutine's environment, below `parent`; its scope is opened when the coroutine asks for its context.
    COFLUX_INLINE environment(environment& parent, const detail::executor_entry* runs_on, bool starts_inline) noexcept
        : data_(parent.data_.of_child()),
          parent_(&parent),
          executor_(runs_on),
          own_((parent.own_.stops_seen & detail::stop_count_mask) | (starts_inline ? detail::stop_count_inline : 0)) {}
    /// That of a call, which learns its executor, and when its ancestors were found clean, from its awaiter: that
    /// begins own_.
    COFLUX_INLINE explicit environment(environment& parent) noexcept
        : data_(parent.data_.of_child()),
          parent_(&parent),
          marks_(is_call) {}
    /// That of a call that was given no environment: it has its data and its parent from its awaiter, too.
    COFLUX_INLINE explicit environment(detail::awaiters_environment) noexcept : parent_(nullptr), marks_(is_call) {}
    /// An environment object: its scope is open from the start.
    environment(detail::environment_data& data, environment* parent) noexcept
        : data_(detail::data_ref::of_object(data, true)),
          parent_(parent),
          executor_(nullptr),
          own_(detail::stop_requests.load(detail::memory_order_relaxed)),  // nothing has been requested of a new root
          marks_(is_object) {
        if (parent != nullptr) {
            executor_ = detail::executor_of(*parent);
            own_.stops_seen = parent->own_.stops_seen & detail::stop_count_mask;
        }
    }

    [[nodiscard]] bool look_up(std::uint32_t requests) noexcept;
    /// A stop was requested of `asked`, far above: those between need not look that far again.
    void pass_on_request(const environment& asked) noexcept;

    /// True for an environment object that a generator makes its children in.
    [[nodiscard]] bool is_of_generator() const noexcept {
        return parent_.get() != nullptr && (parent_->marks_.load(detail::memory_order_relaxed) & is_generator) != 0;
    }

    friend class detail::promise_base;
    friend class detail::wait_operation;
    friend class detail::environment_tree;
    friend class detail::scope_children;
    friend class detail::scope_failures;
    friend class detail::scope_stops;
    friend class detail::wait_records;
    friend struct detail::stop_walk;
    friend struct detail::layout_access;
    friend const detail::environment_data& detail::data_of(const environment& e) noexcept;
    friend const detail::executor_entry* detail::executor_of(const environment& e) noexcept;
    friend const detail::data_ref& detail::data_ref_of(const environment& e) noexcept;
    friend bool detail::is_lender(const environment& e) noexcept;

    // marks_: bits that are set once and stay, but for the lock, has_waits, which changes under the lock, and cut_off.
    static constexpr std::uint32_t stop_asked = 1;       // a stop was requested of this one, or above and passed on
    static constexpr std::uint32_t is_object = 2;        // made by make_environment, not a coroutine
    static constexpr std::uint32_t failures_locked = 4;  // a thread changes failures_ or waits_
    static constexpr std::uint32_t is_call = 8;          // a call: what waits in it is in the record of its caller
    static constexpr std::uint32_t has_waits = 16;       // waits_ has a value; goes with it
    static constexpr std::uint32_t is_generator =
        32;  // a call that stands still between elements, and may be destroyed there
    static constexpr std::uint32_t has_failures = 64;  // failures_ has a value; stays
    static constexpr std::uint32_t lender = 128;       // an object that joins its children before what they borrow dies
    static constexpr std::uint32_t borrows = 256;      // a coroutine whose handle must not die before it has ended
    static constexpr std::uint32_t is_root = 512;      // a task that is made in no coroutine
    static constexpr std::uint32_t unwinds = 1024;     // a coroutine whose locals die because it is stopped; stays
    static constexpr std::uint32_t is_shielded = 2048;  // a stop from above ends here; set before it begins
    static constexpr std::uint32_t cut_off =
        4096;  // a stop from above stopped a child that was not awaited; until told
    static constexpr std::uint32_t asked_itself = 8192;   // a stop was requested of this very one
    static constexpr std::uint32_t keeps_value = 16384;   // finish_with_value()
    static constexpr std::uint32_t told_cut_off = 32768;  // an object of which a join() has told that it was cut off

    // Members that begin together lie together, so that it is one store: on the paths that matter, accesses of memory
    // are the cost.
    detail::data_ref data_;
    detail::parent_ref parent_;
    detail::relaxed<const detail::executor_entry*> executor_;  // where it runs; nullptr: wherever it is resumed
    alignas(std::uint64_t) detail::own_counts own_;  // its first two words are one store, and so are the next two
    detail::atomic<std::uint32_t> marks_{0};
    // marks_ says which of these has a value. Guarded by failures_locked; the coroutine's own until it begins, and once
    // its scope is joined.
    union {
        detail::promise_base* next_to_begin_;  // with neither, while it is in thread_state::begins: the one behind it
        detail::failure*
            failures_;  // with has_failures alone: the youngest of children that ended unawaited, or nullptr
        detail::wait_record* waits_;  // with has_waits: what waits in and below it; it has the failures, too
    };
};

namespace detail {

static_assert(alignof(environment) >= 4, "two tags of a parent_ref");

COFLUX_INLINE const environment_data& data_of(const environment& e) noexcept {
    return *e.data_;
}
COFLUX_INLINE const data_ref& data_ref_of(const environment& e) noexcept {
    return e.data_;
}
COFLUX_INLINE const executor_entry* executor_of(const environment& e) noexcept {
    return e.executor_;
}
inline bool is_lender(const environment& e) noexcept {
    return (e.marks_.load(memory_order_relaxed) & environment::lender) != 0;  // set before another thread knows e
}

}  // namespace detail

inline bool stop_token::stop_requested() const noexcept {
    return of_->stop_requested();
}

}  // namespace coflux
