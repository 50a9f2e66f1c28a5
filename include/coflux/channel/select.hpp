// select: waits for exactly one of several operations; the other operations have no effect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <coflux/base/assert.hpp>
#include <coflux/channel/detail/channel_operations.hpp>
#include <coflux/channel/detail/select_core.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>

namespace coflux {

/// A case of select() that wins when no other case can be done at once: the select then does not wait.
struct otherwise_t {};
inline constexpr otherwise_t otherwise{};

/// The result of a select: which case won, and its result; like a std::variant that knows its alternatives by position
/// only.
///
/// Shapes: Results are what the cases' own awaits give; std::monostate for void and for `otherwise`.
/// Errors: get() of a case that did not win is a checked error.
template <typename... Results>
class [[nodiscard]] select_result {
public:
    template <std::size_t I, typename... Args>
    explicit select_result(std::in_place_index_t<I> which, Args&&... args)
        : result_(which, std::forward<Args>(args)...) {}

    /// The position of the case that won, from 0 in the order of the arguments.
    [[nodiscard]] std::size_t index() const noexcept { return result_.index(); }

    template <std::size_t I>
    [[nodiscard]] auto& get() & noexcept {
        return *checked<I>();
    }
    template <std::size_t I>
    [[nodiscard]] auto get() && {
        return std::move(*checked<I>());
    }

private:
    template <std::size_t I>
    auto* checked() noexcept {
        COFLUX_VERIFY(index() == I, "get<%zu>() of a select that case %zu has won", I, index());
        return std::get_if<I>(&result_);
    }

    std::variant<Results...> result_;
};
/// `get<I>(result)`, or `coflux::get<I>(result)`, is `result.get<I>()` without `template` where the type depends on a
/// parameter, as in a coroutine of `auto&& env`.
template <std::size_t I, typename... Results>
[[nodiscard]] auto& get(select_result<Results...>& r) noexcept {
    return r.template get<I>();
}
template <std::size_t I, typename... Results>
[[nodiscard]] auto get(select_result<Results...>&& r) {
    return std::move(r).template get<I>();
}

namespace detail {

template <typename A>
inline constexpr bool is_otherwise = std::is_same_v<std::remove_cvref_t<A>, otherwise_t>;
template <typename A>
concept channel_operation = requires { typename std::remove_cvref_t<A>::as_case; };

template <typename A>
struct select_argument {
    promise_base& p;
    A&& given;
};

/// A case: something that is awaited in a coroutine of its own, unless it is one.
template <typename A>
class select_case {
    using handle = decltype(as_handle(std::declval<promise_base&>(), std::declval<A>()));
    using value = typename std::remove_cvref_t<handle>::value_type;

public:
    using result_type = kept_result<value>;
    static_assert(!std::is_reference_v<value>,
                  "coflux: a case of select gives a value, not a reference: await it in a call that gives its address");

    explicit select_case(select_argument<A> a) : handle_(as_handle(a.p, std::forward<A>(a.given))) {}

    /// Once all cases are there: from now on the select owns the frame.
    void take_over(select_entry& e) noexcept {
        if constexpr (is_owned_handle<std::remove_cvref_t<A>>) child_.begun = true;
        child_.control = &await_access::release(handle_);
        e.child = &child_;
    }
    result_type result() {
        frame_control& c = *std::exchange(child_.control, nullptr);
        if constexpr (std::is_void_v<value>) {
            consume<void>(c);
            return {};
        } else {
            return consume<value>(c);
        }
    }

private:
    handle handle_;
    select_child child_;
};

template <typename A>
    requires channel_operation<A>
class select_case<A> {
    using operation = typename std::remove_cvref_t<A>::as_case;

public:
    using result_type = typename operation::result_type;

    explicit select_case(select_argument<A> a) noexcept : operation_(a.given.make_case()) {}

    void take_over(select_entry& e) noexcept {
        e.node = &operation_;
        e.queue = &operation_.queue();
        e.attempt = [](channel_node& n, channel_wakes& wakes) noexcept {
            return static_cast<operation&>(n).attempt(wakes);
        };
    }
    result_type result() { return operation_.result(); }

private:
    operation operation_;
};

/// The form in which a case is awaited.
template <typename A>
decltype(auto) operand_of(A&& given) {
    if constexpr (translated_awaitable<A>) {
        return awaited_as<std::remove_cvref_t<A>>::request(std::forward<A>(given));
    } else {
        return std::forward<A>(given);
    }
}
template <typename A>
concept two_step_operation = await_access::has_claim<decltype(operand_of(std::declval<A>()))>();

/// An operation that would take what it waits for: its first step is awaited in a coroutine of its own, and it takes if
/// it has won.
template <typename A>
    requires two_step_operation<A>
class select_case<A> {
    using operand = decltype(operand_of(std::declval<A>()));
    using first_step = decltype(await_access::claim(std::declval<operand&>()));
    using kept = typename select_case<first_step>::result_type;

    static auto finished(std::remove_reference_t<operand>& operation, kept k) {
        if constexpr (std::is_same_v<kept, std::monostate>) {
            return await_access::finish(operation);
        } else {
            return await_access::finish(operation, std::move(k));
        }
    }
    using value = decltype(finished(std::declval<std::remove_reference_t<operand>&>(), std::declval<kept>()));

public:
    using result_type = kept_result<value>;

    explicit select_case(select_argument<A> a)
        : operation_(operand_of(std::forward<A>(a.given))),
          claim_(await_access::claim(operation_)),
          case_({a.p, std::move(claim_)}) {}

    void take_over(select_entry& e) noexcept { case_.take_over(e); }
    result_type result() {
        if constexpr (std::is_void_v<value>) {
            finished(operation_, case_.result());
            return {};
        } else {
            return finished(operation_, case_.result());
        }
    }

private:
    operand operation_;
    first_step claim_;
    select_case<first_step> case_;
};

template <typename A>
    requires is_otherwise<A>
class select_case<A> {
public:
    using result_type = std::monostate;
    explicit select_case(select_argument<A>) noexcept {}
    void take_over(select_entry&) noexcept {}
    result_type result() noexcept { return {}; }
};

template <typename... As>
class [[nodiscard]] select_awaiter : public select_core {
    using positions = std::index_sequence_for<As...>;

public:
    using result_type = select_result<typename select_case<As>::result_type...>;

    select_awaiter(promise_base& p, As&&... cases)
        : select_core(p, entries_),
          cases_(select_argument<As>{p, std::forward<As>(cases)}...) {
        [this]<std::size_t... I>(std::index_sequence<I...>) {
            (std::get<I>(cases_).take_over(entries_[I]), ...);
        }(positions());
        set_up();
    }
    ~select_awaiter() { leave(); }

    result_type await_resume() { return result<0>(resumed()); }

private:
    template <std::size_t I>
    result_type result(std::uint32_t winner) {
        if constexpr (I + 1 < sizeof...(As)) {
            if (winner != I) return result<I + 1>(winner);
        }
        return result_type(std::in_place_index<I>, std::get<I>(cases_).result());
    }

    std::array<select_entry, sizeof...(As)> entries_{};
    std::tuple<select_case<As>...> cases_;
};

/// The cases are all of channels: none needs a coroutine of its own.
template <typename A>
inline constexpr bool is_of_channels = channel_operation<A>;

template <template <typename...> typename Awaiter, typename... As>
class [[nodiscard("select does nothing until it is awaited: co_await it")]] select_request {
public:
    explicit select_request(As&&... cases) noexcept : cases_(std::forward<As>(cases)...) {
        static_assert(!(... || single_use_lvalue<As>),
                      "coflux: this can be awaited once: write select(std::move(a), b.receive())");
        static_assert((0 + ... + int{is_otherwise<As>}) <= 1, "coflux: a select has one otherwise");
        static_assert(!(... || is_otherwise<As>) || (... && (is_otherwise<As> || is_of_channels<As>)),
                      "coflux: a select with otherwise does not wait, so its other cases are operations of channels");
    }
    select_request(const select_request&) = delete;
    select_request& operator=(const select_request&) = delete;

private:
    friend struct await_access;
    using may_stop_its_awaiter = void;

    auto await_in(promise_base& p, std::source_location) && {
        check_losers<As...>();
        std::apply([](const auto&... c) { check_arguments("select", c...); }, cases_);
        if constexpr (!(... && (is_of_channels<As> || is_otherwise<As>)))
            (void)p.open_scope();  // what is no fork yet becomes one here
        return std::apply([&](auto&&... c) { return Awaiter<As...>(p, std::forward<As>(c)...); }, std::move(cases_));
    }

    std::tuple<As&&...> cases_;
};

}  // namespace detail

/// Waits until one of several operations is done: `auto got = co_await coflux::select(a.receive(), b.send(v),
/// sleep_for(1s));`
///
/// Shapes: operations of channels (send, receive, <<, >>, reserve), of queues (make_spsc, make_mpsc,
/// make_unbounded_mpsc, make_oneshot, make_broadcast, make_watch), forks and tasks (moved), calls and any other
/// awaitable that gives a value; at most 64. Ranges of channels and handles: select_range.hpp. `otherwise` among them
/// makes a select that does not wait; the other cases are then operations of channels.
/// Returns: a select_result: index() is the case that won, get<I>(got) its result. Exactly one case wins. The other
/// cases of channels and queues have had no effect: nothing was received or sent, their values have not been moved
/// from. Nor has a semaphore's acquire(), an auto_reset_event's wait() or a signal_set's next(): what it was given for a
/// moment is given back. The tick of an interval that loses comes again.
/// A closed channel is no reason to wait: receive() wins with nothing, send() with false.
/// Resumes: where several can be done at once, one is chosen by a pseudo-random sequence of the first channel; none can
/// starve. Without a channel the cases are begun in order. On its own executor.
/// Errors: an error of the case that wins, be it a fork, a call or another awaitable, is thrown. The losing ones of
/// these are stopped and joined before the select ends; an error that they end with is their scope's (law 12), a value
/// is dropped. A case that had not begun when another could be done at once never begins. std::bad_alloc: then nothing
/// has happened.
/// Stops: a stop point. Stopped, no case has had an effect, but that forks and calls among them have begun, and are
/// stopped. A fork that was stopped itself wins, too, and stops the awaiting coroutine.
/// Costs: nothing is allocated for channels, forks and tasks; one frame for each other case. Each case takes the lock
/// of its channel two or three times.
/// Lifetime: all channels outlive the await, not only the case that wins.
/// Example: examples/13_select.cpp
template <typename... As>
detail::select_request<detail::select_awaiter, As...> select(As&&... cases COFLUX_LIFETIMEBOUND) noexcept {
    static_assert(sizeof...(As) != 0 && sizeof...(As) <= detail::most_select_cases,
                  "coflux: select takes 1 to 64 cases");
    return detail::select_request<detail::select_awaiter, As...>(std::forward<As>(cases)...);
}

}  // namespace coflux
