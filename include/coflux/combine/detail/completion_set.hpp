// Children that are given on as they end: which have ended, and how the consumer waits for the next one. The page
// docs/design/combine.md has the protocol.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/intrusive_list.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/promise/end.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/detail/wait/request.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>
#include <coflux/core/indexed.hpp>

namespace coflux::detail {

class completion_set;
class completion_wait;

/// One child, and the waiter in its join word.
struct completion_node : waiter {
    completion_set* of = nullptr;
    frame_control* child = nullptr;
    std::size_t index = 0;
    completion_node* next_linked = nullptr;  ///< among those that are not watched yet, or have ended
    completion_node* next_of_all = nullptr;
    completion_node* previous_of_all = nullptr;
    bool known_to_scope = false;  ///< the child had ended before: an error is in its scope
};

/// Belongs to the consumer, which alone calls it, until that abandons it; then to the children that run, and to the one
/// that requests their stops.
class completion_set {
    struct all_links {
        static completion_node*& next(completion_node& of) noexcept { return of.next_of_all; }
        static completion_node*& previous(completion_node& of) noexcept { return of.previous_of_all; }
    };
    struct linked_links {
        static completion_node*& next(completion_node& of) noexcept { return of.next_linked; }
    };

public:
    /// Errors: std::bad_alloc.
    [[nodiscard]] static completion_set& make();
    completion_set(const completion_set&) = delete;
    completion_set& operator=(const completion_set&) = delete;

    /// Makes room for one more child. Errors: std::bad_alloc; then the room that there is stays.
    void reserve(frame_control& c);
    /// Gives back the room that no child was watched in.
    void unreserve() noexcept;
    /// Takes over the children that there is room for, in this order.
    void watch() noexcept;
    /// Requests a stop of those that run. The rest after one step is left to a child of `here`.
    void stop_all(environment& here) noexcept;
    /// The consumer does without the rest. Children that run are stopped, and stay with their scope; errors of the
    /// others go to the scope of `here`. The end of the set, once no child runs.
    /// Errors: a root, or a child that borrows, is a checked error while it runs.
    void abandon(environment& here) noexcept;

    /// How many children have not been given on.
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

    struct ended_child {
        std::size_t index;
        frame_control& frame;
    };
    /// The child that ended first, whose frame the caller consumes. Pre: one has ended.
    [[nodiscard]] ended_child pop() noexcept;

private:
    friend class completion_wait;
    struct further_stops;

    completion_set() noexcept = default;
    ~completion_set() = default;

    static std::coroutine_handle<> child_ended(waiter& self, frame_control& c, const void* here) noexcept;
    static void destroy(completion_set& of) noexcept;
    static void free(completion_node& n) noexcept;
    static void discard(completion_node& n, environment& scope) noexcept;
    [[nodiscard]] frame_control& remove(completion_node& n) noexcept;
    void unlink(completion_node& n) noexcept;
    [[nodiscard]] bool stop_some() noexcept;
    [[nodiscard]] bool leave_stops_to_child_of(environment& here) noexcept;
    static bool stop_next(void* self) noexcept;
    [[nodiscard]] bool end_stops() noexcept;

    // The consumer's; while it waits, those of the party that has taken `parked_`.
    intrusive_list<completion_node, all_links> all_;  // watched and not given on; taken out under the lock
    intrusive_chain<completion_node, linked_links> unwatched_;
    std::size_t left_ = 0;
    std::size_t begun_ = 0;  // the index of the next child

    adaptive_lock lock_;                                    // guards all below
    intrusive_chain<completion_node, linked_links> ended_;  // in the order of their ends
    std::size_t ended_count_ = 0;
    completion_wait* parked_ = nullptr;
    completion_node* left_to_stop_ = nullptr;  // the first in `all_` whose stop is still to be requested
    completion_node* asked_ = nullptr;         // its stop is being requested: it stays
    bool is_stopping_ = false;                 // some party requests stops
    bool abandoned_ = false;
    std::size_t users_ = 0;  // once it is abandoned: children that run, and parties that need it
};

/// Waits until a child has ended, or none is left. Where `stops`, a child that was stopped stops the consumer in turn;
/// it is then given on to nobody.
class [[nodiscard]] completion_wait : public wait_operation {
public:
    completion_wait(promise_base& p, completion_set& of, bool stops) noexcept
        : wait_operation(p, kind),
          of_(of),
          stops_(stops) {}

    [[nodiscard]] bool await_ready() noexcept;
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>);

protected:
    ~completion_wait() = default;

    completion_set& of_;

private:
    friend class completion_set;
    /// The queue of the wait.
    struct place {
        completion_set& of;
        void push_back(completion_wait& w) noexcept;
    };

    static bool claim(wait_operation& waiting) noexcept;
    static constexpr wait_kind kind{&claim, &stop_claimed, "a child to end"};

    [[nodiscard]] bool is_there() const noexcept { return of_.left_ == 0 || !of_.ended_.empty(); }
    [[nodiscard]] bool is_first_stopped() noexcept;
    std::coroutine_handle<> stop_for_first() noexcept;

    const bool stops_;
    bool lets_others_run_ = false;
};

/// Waits for the first, and leaves it there: the first step of next() in a select.
template <bool Stops>
class [[nodiscard]] completion_look : public completion_wait {
public:
    using single_use = void;
    completion_look(promise_base& p, completion_set& of) noexcept : completion_wait(p, of, Stops) {}
    void await_resume() noexcept { resumed(); }
};

template <bool Stops>
struct stops_consumer {};
template <>
struct stops_consumer<true> {
    using may_stop_its_awaiter = void;
};

/// The await of next() and next_outcome().
template <typename T, bool Stops>
class [[nodiscard]] completion_awaiter : public completion_wait, public stops_consumer<Stops> {
    using given = std::conditional_t<Stops, T, outcome<T>>;

public:
    using single_use = void;
    using has_two_steps = completion_awaiter;
    static auto claim(completion_set& of) noexcept { return request<completion_look<Stops>, completion_set&>(of); }
    static std::optional<indexed<given>> finish(completion_set& of) {
        if (of.left() == 0) return std::nullopt;
        const auto [index, frame] = of.pop();
        if constexpr (!Stops) {
            return indexed<given>(index, consume_outcome<T>(frame));
        } else if constexpr (std::is_void_v<T>) {
            consume<void>(frame);
            return indexed<void>(index);
        } else {
            return indexed<T>(index, consume<T>(frame));
        }
    }

    completion_awaiter(promise_base& p, completion_set& of) noexcept : completion_wait(p, of, Stops) {}
    std::optional<indexed<given>> await_resume()
        requires Stops
    {
        resumed();
        return finish(of_);
    }
    [[nodiscard("an error of the child is lost: look at its outcome")]] std::optional<indexed<given>> await_resume()
        requires(!Stops)
    {
        resumed();
        return finish(of_);
    }
};

}  // namespace coflux::detail
