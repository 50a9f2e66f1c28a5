// The awaits of when_all and when_all_outcomes: all of a tuple or of a range.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/address_of.hpp>
#include <coflux/combine/detail/all_awaiter.hpp>
#include <coflux/combine/detail/handles.hpp>
#include <coflux/combine/detail/outcome_awaiter.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

/// `Results` says what is made of the children that have ended:
///   name                     of the combinator, for messages
///   takes_stops              whether a stopped child is a result like another, and an error, too
///   in_tuple<T>, in_range<T> the part of the result for a child that gives T; void in_range: nothing is returned
///   take<T, R>(frame)        consumes the frame of a child that gives T into an R, one of the two above; or gives what
///                            does so when it becomes one
template <typename Results, typename... Handles>
class [[nodiscard]] all_of_tuple : public all_awaiter<all_of_tuple<Results, Handles...>> {
    using base = all_awaiter<all_of_tuple<Results, Handles...>>;

public:
    static constexpr bool many = false;
    static constexpr bool words_in_handles = false;
    static constexpr nested_frame frame_after_nested_run = nested_frame::kept;
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
    static constexpr bool has_frame(std::size_t) noexcept { return true; }

    auto await_resume()
        requires(!Results::takes_stops)
    {
        return take_results();
    }
    [[nodiscard("an error among the outcomes is lost: look at them")]] auto await_resume()
        requires(Results::takes_stops)
    {
        return take_results();
    }

private:
    COFLUX_INLINE auto take_results() {
        this->rethrow_failures();
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<typename Results::template in_tuple<typename Handles::value_type>...>{
                Results::template take<typename Handles::value_type,
                                       typename Results::template in_tuple<typename Handles::value_type>>(
                    *std::exchange(frames_[I], nullptr))...};
        }(std::index_sequence_for<Handles...>{});
    }

    std::array<frame_control*, sizeof...(Handles)> frames_;
};

/// How many handles a std::array has that is given away; 0: it is another range, or has none.
template <typename Range>
inline constexpr std::size_t array_size = 0;
template <typename Handle, std::size_t N>
    requires is_owned_handle<Handle>
inline constexpr std::size_t array_size<std::array<Handle, N>> = N;

/// `Range` holds the handles; a random-access range, so that waiting can begin with the youngest.
///
/// A std::array is used where it lies, and left with empty handles. The frames of its children that run nested are
/// freed at their end, as in a plain await, if their results fit into a word. Words of
/// another range lie in the handles until they are taken.
template <typename Results, typename Range>
class [[nodiscard]] all_of_range : public all_awaiter<all_of_range<Results, Range>> {
    using base = all_awaiter<all_of_range<Results, Range>>;
    using value = typename std::ranges::range_value_t<Range>::value_type;
    using element = typename Results::template in_range<value>;

public:
    static constexpr bool many = true;
    static constexpr std::size_t fixed_size = array_size<Range>;
    static constexpr bool in_place = fixed_size != 0;
    static constexpr nested_frame frame_after_nested_run =
        (fixed_size != 0 || sizeof(void*) >= sizeof(std::uint64_t)) && !Results::takes_stops
            ? await_access::frame_after_nested_run<std::ranges::range_value_t<Range>>()
            : nested_frame::kept;
    static constexpr bool takes_stops = Results::takes_stops;
    static constexpr bool words_in_handles = fixed_size == 0 && frame_after_nested_run == nested_frame::freed;

    all_of_range(promise_base& p, Range&& handles) noexcept
        : base(p, std::ranges::size(handles)),
          handles_(static_cast<std::conditional_t<in_place, Range&, Range&&>>(handles)) {
        for (auto& h : handles_) begin_if_wrapper(h, p);
    }
    ~all_of_range() {
        if constexpr (in_place) {
            if (!emptied_) [[unlikely]] {
                [[maybe_unused]] const Range dropped = std::move(handles_);
            }
        } else if constexpr (words_in_handles) {
            if (!emptied_) [[unlikely]]
                for (std::size_t i = this->words_from(); i != this->count(); ++i) forget(i);
        }
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
    COFLUX_INLINE void fetch_control(std::size_t i) noexcept { __builtin_prefetch(await_access::address(handle(i))); }

    [[nodiscard]] bool has_frame(std::size_t i) noexcept { return await_access::address(handle(i)) != nullptr; }
    COFLUX_INLINE void keep_result(std::size_t i, std::uint64_t word) noexcept {
        if constexpr (words_in_handles) {
            await_access::keep_word(handle(i), word);
        } else {
            words_[i] = word;
        }
    }
    void take_ended(std::size_t i) noexcept {
        frame_control& c = await_access::release(handle(i));
        if constexpr (std::is_void_v<value>) {
            consume<void>(c);
        } else if constexpr (std::is_reference_v<value>) {
            keep_result(i, word_of<value>(detail::address_of(consume<value>(c))));
        } else {
            keep_result(i, word_of<value>(consume<value>(c)));
        }
    }
    COFLUX_INLINE void forget(std::size_t i) noexcept { await_access::clear(handle(i)); }
    /// All have ended nested, and their results are kept.
    COFLUX_INLINE void forget_all() noexcept {
        for (std::size_t i = 0; i != fixed_size; ++i) forget(i);
        emptied_ = true;
    }

    auto await_resume()
        requires(!Results::takes_stops)
    {
        return take_results();
    }
    [[nodiscard("an error among the outcomes is lost: look at them")]] auto await_resume()
        requires(Results::takes_stops)
    {
        return take_results();
    }

private:
    COFLUX_INLINE auto take_results() {
        if constexpr (fixed_size != 0 && frame_after_nested_run == nested_frame::freed) {
            if (emptied_) [[likely]]
                return take_words(std::make_index_sequence<fixed_size>());
        }
        this->rethrow_failures();
        if constexpr (fixed_size != 0) {
            return take_each(std::make_index_sequence<fixed_size>());
        } else {
            return take_all();
        }
    }

    using iterator = std::ranges::iterator_t<Range>;
    struct nothing {};

    auto take_all() {
        const auto front = std::ranges::begin(handles_);
        const auto last = front + std::ranges::ssize(handles_);
        if constexpr (words_in_handles) {
            return take_words_and_rest();
        } else if constexpr (std::is_void_v<element>) {
            for (auto h = front; h != last; ++h) take(h, last);
        } else {
            std::pmr::vector<element> results(this->awaiting().memory_resource());
            results.reserve(std::ranges::size(handles_));
            for (auto h = front; h != last; ++h) results.emplace_back(take(h, last));
            return results;
        }
    }
    auto take_words_and_rest() {
        const std::size_t from = this->words_from();
        const std::size_t n = this->count();
        if constexpr (std::is_void_v<element>) {
            for (std::size_t i = 0; i != from; ++i)
                Results::template take<value, void>(await_access::release(handle(i)));
            for (std::size_t i = from; i != n; ++i) forget(i);
            emptied_ = true;
        } else {
            std::pmr::vector<element> results(this->awaiting().memory_resource());
            results.reserve(n);
            for (std::size_t i = 0; i != from; ++i)
                results.emplace_back(Results::template take<value, element>(await_access::release(handle(i))));
            for (std::size_t i = from; i != n; ++i) {
                if constexpr (std::is_void_v<value>) {
                    forget(i);
                    results.emplace_back();
                } else {
                    results.emplace_back(take_from<value>(await_access::take_word(handle(i))));
                }
            }
            emptied_ = true;
            return results;
        }
    }
    template <std::size_t... I>
    COFLUX_INLINE auto take_each(std::index_sequence<I...>) {
        if constexpr (std::is_void_v<element>) {
            (take_at(I), ...);
            emptied_ = true;
        } else {
            std::array<element, fixed_size> results{take_at(I)...};
            emptied_ = true;
            return results;
        }
    }
    /// After forget_all().
    template <std::size_t... I>
    COFLUX_INLINE auto take_words(std::index_sequence<I...>) {
        if constexpr (!std::is_void_v<element>)
            return std::array<element, fixed_size>{static_cast<element>(take_from<value>(kept_word(words_[I])))...};
    }
    /// A word at a time: a load of several that have just been stored one by one waits until these stores are done.
    static COFLUX_INLINE std::uint64_t kept_word(std::uint64_t word) noexcept {
        if constexpr (fixed_size <= 16) asm("" : "+r"(word));
        return word;
    }
    COFLUX_INLINE auto take_at(std::size_t i) {
        if constexpr (frame_after_nested_run == nested_frame::freed) {
            if (!has_frame(i)) return static_cast<element>(take_from<value>(words_[i]));
        }
        return Results::template take<value, element>(await_access::release(handle(i)));
    }

    COFLUX_INLINE auto& handle(std::size_t i) noexcept {
        return std::ranges::begin(handles_)[static_cast<std::ranges::range_difference_t<Range>>(i)];
    }
    static COFLUX_INLINE auto take(iterator h, iterator last) {
        if (last - h > base::prefetched) base::prefetch(await_access::address(h[base::prefetched]));
        return Results::template take<value, element>(await_access::release(*h));
    }

    std::conditional_t<in_place, Range&, Range> handles_;
    bool emptied_ = false;  // no handle is here any more
    using words = std::array<std::uint64_t, fixed_size>;
    [[no_unique_address]] std::conditional_t<frame_after_nested_run == nested_frame::freed && !words_in_handles, words,
                                             nothing> words_;
};

template <typename Results, typename... As>
struct all_operation : with_outcome<all_operation<Results, As...>> {
    static constexpr bool an_operand_loses_its_lock = (... || await_access::loses_its_lock<As>());
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
