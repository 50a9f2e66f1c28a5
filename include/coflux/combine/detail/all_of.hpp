// What when_all and when_all_outcomes await: all of a tuple or of a range.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <memory_resource>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/combine/detail/all_awaiter.hpp>
#include <coflux/combine/detail/handles.hpp>
#include <coflux/combine/detail/outcome_awaiter.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

/// `Results` says what is made of the children that have ended:
///   name                     of the combinator, for messages
///   takes_stops              whether a stopped child is a result like another, and an error, too
///   in_tuple<T>, in_range<T> what stands in the result for a child that gives T; void in_range: nothing is returned
///   take<T, R>(frame)        consumes the frame of a child that gives T into an R, one of the two above; or gives what
///                            does so when it becomes one
template <typename Results, typename... Handles>
class [[nodiscard]] all_of_tuple : public all_awaiter<all_of_tuple<Results, Handles...>> {
    using base = all_awaiter<all_of_tuple<Results, Handles...>>;

public:
    static constexpr bool many = false;
    static constexpr bool takes_stops = Results::takes_stops;

    explicit all_of_tuple(promise_base& p, Handles&&... handles) noexcept
        : base(p, sizeof...(Handles)),
          frames_{&await_access::used(handles)...} {
        (begin_if_wrapper(handles, p), ...);
        ((void)await_access::release(handles), ...);
    }
    ~all_of_tuple() {
        for (frame_control* const c : frames_) {
            if (c != nullptr) promise_base::drop(*c);
        }
    }
    frame_control& operator[](std::size_t i) noexcept { return *frames_[i]; }

    auto await_resume() {
        this->rethrow_failures();
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<typename Results::template in_tuple<typename Handles::value_type>...>{
                Results::template take<typename Handles::value_type,
                                       typename Results::template in_tuple<typename Handles::value_type>>(
                    *std::exchange(frames_[I], nullptr))...};
        }(std::index_sequence_for<Handles...>{});
    }

private:
    std::array<frame_control*, sizeof...(Handles)> frames_;
};

/// `Range` holds the handles; a random-access range, so that waiting can begin with the youngest.
template <typename Results, typename Range>
class [[nodiscard]] all_of_range : public all_awaiter<all_of_range<Results, Range>> {
    using base = all_awaiter<all_of_range<Results, Range>>;
    using value = typename std::ranges::range_value_t<Range>::value_type;
    using element = typename Results::template in_range<value>;

public:
    static constexpr bool many = true;
    static constexpr bool takes_stops = Results::takes_stops;

    all_of_range(promise_base& p, Range&& handles) noexcept
        : base(p, std::ranges::size(handles)),
          handles_(std::move(handles)) {
        for (auto& h : handles_) begin_if_wrapper(h, p);
    }

    /// Checks the handle (law 11) here, where it is loaded anyway: a loop of its own would cost each child more.
    COFLUX_INLINE frame_control& operator[](std::size_t i) noexcept {
        const auto& h = handle(i);
        if (await_access::address(h) == nullptr) [[unlikely]]
            fail_used_up(Results::name, "element", i);
        frame_control* const c = await_access::frame(h);
        COFLUX_ASSUME(c != nullptr);
        return *c;
    }
    COFLUX_INLINE void fetch(std::size_t i) noexcept { base::prefetch(await_access::address(handle(i))); }

    auto await_resume() {
        this->rethrow_failures();
        const auto first = std::ranges::begin(handles_);
        const auto last = first + std::ranges::ssize(handles_);
        if constexpr (std::is_void_v<element>) {
            for (auto h = first; h != last; ++h) take(h, last);
        } else {
            std::pmr::vector<element> results(this->awaiting().memory_resource());
            results.reserve(std::ranges::size(handles_));
            for (auto h = first; h != last; ++h) results.emplace_back(take(h, last));
            return results;
        }
    }

private:
    using iterator = std::ranges::iterator_t<Range>;

    COFLUX_INLINE auto& handle(std::size_t i) noexcept {
        return std::ranges::begin(handles_)[static_cast<std::ranges::range_difference_t<Range>>(i)];
    }
    static COFLUX_INLINE auto take(iterator h, iterator last) {
        if (last - h > base::prefetched) base::prefetch(await_access::address(h[base::prefetched]));
        return Results::template take<value, element>(await_access::release(*h));
    }

    Range handles_;
};

template <typename Results, typename... As>
struct all_operation : with_outcome<all_operation<Results, As...>> {
    static auto bind(promise_base& p, auto&... awaited) {
        check_arguments(Results::name, awaited...);
        (void)p.open_scope();  // what is no fork yet becomes one here
        return all_of(p, as_handle(p, std::forward<As>(awaited))...);
    }

private:
    template <typename... Handles>
    static auto all_of(promise_base& p, Handles&&... handles) noexcept {
        return all_of_tuple<Results, Handles...>(p, std::move(handles)...);
    }
};
template <typename Results, typename... As>
using all_request = request<all_operation<Results, As...>, As&&...>;

template <typename Results, typename Range>
struct all_range_operation : with_outcome<all_range_operation<Results, Range>> {
    static_assert(!single_use_lvalue_range<Range>,
                  "coflux: these handles can be awaited once: hand the range over with std::move(range)");

    static auto bind(promise_base& p, auto& range) {
        if constexpr (holds_handles<Range>) {
            return all_of_range<Results, Range>(p, std::move(range));
        } else {
            (void)p.open_scope();
            return all_of_range<Results, handles_of<Range>>(p, handles_in(p, Results::name, range));
        }
    }
};
template <typename Results, typename Range>
using all_range_request = request<all_range_operation<Results, Range>, Range&&>;

}  // namespace coflux::detail
