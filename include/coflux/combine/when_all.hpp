// when_all: waits for all of several coroutines or other awaitables.
#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <iterator>
#include <memory_resource>
#include <ranges>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/combine/detail/all_awaiter.hpp>
#include <coflux/core/await_transform.hpp>
#include <coflux/core/wrapper.hpp>

namespace coflux {
namespace detail {

template <typename T>
using tuple_element_for = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <typename T>
tuple_element_for<T> consume_element(frame_control& c) {
    if constexpr (std::is_void_v<T>) {
        consume<void>(c);
        return {};
    } else {
        return consume<T>(c);
    }
}

template <typename... Handles>
class [[nodiscard]] all_of_tuple : public all_awaiter<all_of_tuple<Handles...>> {
    using base = all_awaiter<all_of_tuple<Handles...>>;

public:
    static constexpr bool many = false;

    all_of_tuple(promise_base& p, std::source_location where, Handles&&... handles) noexcept
        : base(p, sizeof...(Handles), where),
          frames_{&handles.used()...} {
        (begin_if_wrapper(handles, p), ...);
        ((void)handles.release(), ...);
    }
    ~all_of_tuple() {
        for (frame_control* const c : frames_) {
            if (c != nullptr) promise_base::drop(*c);
        }
    }
    frame_control& operator[](std::size_t i) noexcept { return *frames_[i]; }

    std::tuple<tuple_element_for<typename Handles::value_type>...> await_resume() {
        this->rethrow_failures();
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<tuple_element_for<typename Handles::value_type>...>{
                consume_element<typename Handles::value_type>(*std::exchange(frames_[I], nullptr))...};
        }(std::index_sequence_for<Handles...>{});
    }

private:
    std::array<frame_control*, sizeof...(Handles)> frames_;
};

template <typename... Handles>
all_of_tuple(promise_base&, std::source_location, Handles&&...) -> all_of_tuple<Handles...>;

/// `Range` holds the handles; a random-access range, so that waiting can begin with the youngest.
template <typename Range>
class [[nodiscard]] all_of_range : public all_awaiter<all_of_range<Range>> {
    using base = all_awaiter<all_of_range<Range>>;
    using value = typename std::ranges::range_value_t<Range>::value_type;

public:
    static constexpr bool many = true;

    all_of_range(promise_base& p, std::source_location where, Range&& handles) noexcept
        : base(p, std::ranges::size(handles), where),
          handles_(std::move(handles)) {
        for (auto& h : handles_) begin_if_wrapper(h, p);
    }

    frame_control& operator[](std::size_t i) noexcept {
        return std::ranges::begin(handles_)[static_cast<std::ranges::range_difference_t<Range>>(i)].used();
    }

    auto await_resume() {
        this->rethrow_failures();
        const auto take = [this, size = std::ranges::size(handles_), i = std::size_t{0}](auto& h) mutable {
            if (i + base::prefetched < size) base::prefetch((*this)[i + base::prefetched]);
            ++i;
            return consume<value>(h.release());
        };
        if constexpr (std::is_void_v<value>) {
            std::ranges::for_each(handles_, take);
        } else {
            std::pmr::vector<value> values(this->awaiting().memory_resource());
            values.reserve(std::ranges::size(handles_));
            std::ranges::transform(handles_, std::back_inserter(values), take);
            return values;
        }
    }

private:
    Range handles_;
};

template <typename... As>
class [[nodiscard("when_all does nothing until it is awaited: co_await it")]] all_request {
public:
    explicit all_request(As&&... awaited) noexcept : awaited_(std::forward<As>(awaited)...) {}
    using may_stop_its_awaiter = void;

    all_request(const all_request&) = delete;
    all_request& operator=(const all_request&) = delete;

    auto await_in(promise_base& p, std::source_location where) && {
        p.awaits_at(where);
        (void)p.opened();  // what is no fork yet becomes one here
        return std::apply([&](auto&&... a) { return all_of_tuple{p, where, as_handle(p, std::forward<As>(a))...}; },
                          std::move(awaited_));
    }

private:
    std::tuple<As&&...> awaited_;
};

template <typename Range>
class [[nodiscard("when_all does nothing until it is awaited: co_await it")]] all_range_request {
    using element = std::ranges::range_value_t<Range>;

public:
    using may_stop_its_awaiter = void;

    explicit all_range_request(Range&& range) noexcept : range_(std::forward<Range>(range)) {}
    all_range_request(const all_range_request&) = delete;
    all_range_request& operator=(const all_range_request&) = delete;

    auto await_in(promise_base& p, std::source_location where) && {
        p.awaits_at(where);
        if constexpr (is_owned_handle<element> && std::ranges::random_access_range<Range> &&
                      std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> &&
                      std::is_move_constructible_v<std::remove_cvref_t<Range>> && !std::is_lvalue_reference_v<Range>) {
            return all_of_range<Range>(p, where, std::move(range_));
        } else {
            (void)p.opened();
            using handle = std::remove_cvref_t<decltype(as_handle(p, std::declval<element&&>()))>;
            std::pmr::vector<handle> handles(p.memory_resource());
            if constexpr (std::ranges::sized_range<Range>) handles.reserve(std::ranges::size(range_));
            for (auto&& awaited : range_) handles.push_back(as_handle(p, std::move(awaited)));
            return all_of_range<std::pmr::vector<handle>>(p, where, std::move(handles));
        }
    }

private:
    Range&& range_;
};

}  // namespace detail

/// Waits for all: `auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));`
///
/// Shapes: forks and tasks (moved), calls, views and any other awaitable; what is not running yet is started at
/// once, in order.
/// Returns: a tuple of the values in the order of the arguments, std::monostate for void. Resumes: the awaiting
/// coroutine, once, after the last child ended.
/// Errors: after all have ended, the first error in the order of the arguments; the rest in other_errors(). The
/// others are not stopped.
/// Stops: a stop point; a stop loses the results. A stopped child stops the awaiting coroutine once all have ended.
/// Costs: no allocation for forks and tasks; one frame for each other awaitable. As many joins as single awaits, no
/// counter.
template <typename... As>
    requires(sizeof...(As) != 1 || !(... && std::ranges::input_range<As>))
detail::all_request<As...> when_all(As&&... awaited) noexcept {
    return detail::all_request<As...>(std::forward<As>(awaited)...);
}

/// The same for a range, which is consumed: `auto values = co_await coflux::when_all(std::move(forks));`
///
/// Shapes: an input range of awaitables; a random-access range of forks or tasks is used in place.
/// Returns: a std::pmr::vector of the values in the order of the range, in the environment's resource; nothing for
/// void.
/// Costs: the vector, and a vector of handles if the range cannot be used in place.
template <std::ranges::input_range Range>
detail::all_range_request<Range> when_all(Range&& range) noexcept {
    return detail::all_range_request<Range>(std::forward<Range>(range));
}

}  // namespace coflux
