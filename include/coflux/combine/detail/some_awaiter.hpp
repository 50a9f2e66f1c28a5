// Waiting for some of several: as soon as it is decided, the other children are stopped; when all have ended, the
// awaiting coroutine goes on. The page docs/design/combine.md has the states and the argument.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/combine/detail/handles.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/stop_relay.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux::detail {

class some_awaiter;

/// One child in a wait for some of several, and the waiter in its join word.
struct some_node : waiter {
    frame_control* child = nullptr;  ///< nullptr once its result was taken
    some_awaiter* of = nullptr;      ///< set while it waits, or has waited; nullptr: the child had ended before
    std::size_t ranked = 0;          ///< in the node of rank r: which child was the r-th to end with a value
};

/// The effect of an error: it decides like a value, or waits for a value until there can be none.
enum class some_errors { decide, wait };

/// Whether a child, which ended with a value, says by it that its time was up.
using late_look = bool (*)(frame_control& child) noexcept;
/// Where errors wait for a value, so does that of a time that was up; all children give a T. nullptr: there is none.
template <some_errors Errors, typename T>
[[nodiscard]] constexpr late_look late_look_of() noexcept {
    if constexpr (Errors == some_errors::wait && is_limited<T>) {
        return [](frame_control& child) noexcept { return promise_of<T>(child).result().timed_out(); };
    } else {
        return nullptr;
    }
}

class some_awaiter {
public:
    some_awaiter(const some_awaiter&) = delete;
    some_awaiter& operator=(const some_awaiter&) = delete;

    [[nodiscard]] bool await_ready() noexcept;
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept;

    /// All have ended: true if that stops the awaiting coroutine, unless it takes it as an outcome: there are not
    /// enough values, and no error to throw.
    [[nodiscard]] bool stops() const noexcept;
    [[nodiscard]] promise_base& awaiting() const noexcept { return coroutine_; }

protected:
    some_awaiter(promise_base& p, std::size_t wanted, some_errors errors, late_look is_late) noexcept
        : coroutine_(p),
          wanted_(wanted),
          errors_(errors),
          is_late_(is_late) {}
    ~some_awaiter() = default;

    /// First in the destructor of the owner of the nodes: gives up the frames whose results were not taken.
    void give_up() noexcept;

    /// The nodes of the children, in the order of their creation; each knows its child. Before await_ready().
    void watch(some_node* nodes, std::size_t count) noexcept;

    /// First in await_resume: throws if there is no value to give, else sees to the errors of the losing children.
    void settle();
    /// After settle(): which child was the `rank`-th to end with a value.
    [[nodiscard]] std::size_t ranked(std::size_t rank) const noexcept { return nodes_[rank].ranked; }
    /// Its frame, which the caller consumes.
    [[nodiscard]] frame_control& taken(std::size_t i) noexcept { return *std::exchange(nodes_[i].child, nullptr); }

    [[nodiscard]] std::size_t wanted() const noexcept { return wanted_; }

private:
    static std::coroutine_handle<> child_ended(waiter& self, frame_control& c, const void* here) noexcept;

    /// Notes the end of child `i`; the end that decides stops the other children.
    void note(std::size_t i) noexcept;
    /// Notes an end with a value. True if it decides.
    [[nodiscard]] bool note_value(std::size_t i) noexcept;
    void stop_others() noexcept;
    std::coroutine_handle<> give_back_unit(const void* here) noexcept;
    [[nodiscard]] bool has_foreign_handles(bool stop_requested) const noexcept;
    static void request_stop(void* self, std::size_t i) noexcept;
    static void go_on(void* self) noexcept;
    [[nodiscard]] bool stops_awaiting() const noexcept;
    /// Where none gave a value that counts: the first child whose time was up, or count_.
    [[nodiscard]] std::size_t first_late() const noexcept;
    /// True if enough values came, and before an error that counts.
    [[nodiscard]] bool has_values() const noexcept;
    [[noreturn]] void rethrow();

    promise_base& coroutine_;
    some_node* nodes_ = nullptr;
    std::size_t count_ = 0;
    const std::size_t wanted_;
    const some_errors errors_;
    const late_look is_late_;
    std::size_t failed_;  // the child whose error decided; written by its end, if there is one

    // Bits 0 to 30: children that ended with a value; 31 to 61: that were stopped; `erred`: one failed, without
    // deciding; `error_decided`: one failed before there were enough values. One word, so that all agree on what came
    // first. Every change is relaxed: the order of the changes of one word is one order for all threads, and what else
    // the ends wrote is published by their subtraction from pending_.
    atomic<std::uint64_t> ends_{0};
    // Children whose end has not been noted, one for the registration while it lasts, and one for stops that are left
    // to a child. Every subtraction is acq_rel: the thread that brings it to 0 sees what all the ends wrote, and goes
    // on with the coroutine; until then no frame is consumed, so that the end that decides may stop the other children.
    atomic<std::size_t> pending_;
    relay_if_needed relay_;
};

/// Errors: throws std::invalid_argument with a text.
[[noreturn]] COFLUX_COLD void throw_bad_count(const char* operation, std::size_t wanted, std::size_t of);

/// The nodes of a range: one block from the environment's resource.
using some_nodes = std::pmr::vector<some_node>;

}  // namespace coflux::detail
