// The awaits of when_any, race, first_success and when_n: some of a tuple or of a range.
#pragma once

#include <array>
#include <cstddef>
#include <ranges>
#include <tuple>
#include <utility>

#include <coflux/combine/detail/handles.hpp>
#include <coflux/combine/detail/outcome_awaiter.hpp>
#include <coflux/combine/detail/some_awaiter.hpp>
#include <coflux/core/detail/wait/request.hpp>

namespace coflux::detail {

/// How many values of a range decide: as many as the choice says.
inline constexpr std::size_t as_chosen = ~std::size_t{0};

/// `Choice` says what counts and what is made of it:
///   errors              what an error does
///   name                of the combinator, for messages
///   wanted(n)           how many values of n decide, if the caller does not say it
///   of_tuple<T...>(awaiter)  the result of a tuple of children that give T...
///   of_range<T>(awaiter)     that of a range of children that give T
template <typename Choice, typename... Handles>
class [[nodiscard]] some_of_tuple : public some_awaiter {
    using first_value = typename std::tuple_element_t<0, std::tuple<Handles...>>::value_type;

public:
    explicit some_of_tuple(promise_base& p, Handles&&... handles) noexcept
        : some_awaiter(p, Choice::wanted(sizeof...(Handles)), Choice::errors,
                       late_look_of<Choice::errors, first_value>()) {
        std::size_t i = 0;
        (begin_if_wrapper(handles, p), ...);
        ((nodes_[i++].child = &await_access::release(handles)), ...);
        watch(nodes_.data(), nodes_.size());
    }
    ~some_of_tuple() { give_up(); }

    decltype(auto) await_resume() {
        settle();
        return Choice::template of_tuple<typename Handles::value_type...>(*this);
    }

    // The choices need this alone.
    using some_awaiter::ranked;
    using some_awaiter::taken;

private:
    std::array<some_node, sizeof...(Handles)> nodes_;
};

template <typename Choice, typename T>
class [[nodiscard]] some_of_range : public some_awaiter {
public:
    template <typename Range>
    some_of_range(promise_base& p, std::size_t asked, Range& handles)
        : some_awaiter(p, count_wanted(asked, std::ranges::size(handles)), Choice::errors,
                       late_look_of<Choice::errors, T>()),
          nodes_(std::ranges::size(handles), p.memory_resource()) {
        if (asked == 0 || wanted() > nodes_.size()) throw_bad_count(Choice::name, wanted(), nodes_.size());
        for (auto& h : handles) begin_if_wrapper(h, p);
        std::size_t i = 0;
        for (auto& h : handles) nodes_[i++].child = &await_access::release(h);
        watch(nodes_.data(), nodes_.size());
    }
    ~some_of_range() { give_up(); }

    decltype(auto) await_resume() {
        settle();
        return Choice::template of_range<T>(*this);
    }

    // The choices need this alone.
    using some_awaiter::ranked;
    using some_awaiter::taken;
    using some_awaiter::wanted;

private:
    static std::size_t count_wanted(std::size_t asked, [[maybe_unused]] std::size_t of) noexcept {
        if constexpr (requires { Choice::wanted(of); }) {
            if (asked == as_chosen) return Choice::wanted(of);
        }
        return asked;
    }

    some_nodes nodes_;
};

template <typename Choice, typename... As>
struct some_operation : with_outcome<some_operation<Choice, As...>> {
    static_assert(sizeof...(As) != 0, "coflux: there is nothing here to wait for");

    static auto bind(promise_base& p, auto&... awaited) {
        check_losers<As...>();
        check_arguments(Choice::name, awaited...);
        (void)p.open_scope();  // what is no fork yet becomes one here
        return some_of(p, as_handle(p, std::forward<As>(awaited))...);
    }

private:
    template <typename... Handles>
    static auto some_of(promise_base& p, Handles&&... handles) noexcept {
        return some_of_tuple<Choice, Handles...>(p, std::move(handles)...);
    }
};
template <typename Choice, typename... As>
using some_request = request<some_operation<Choice, As...>, As&&...>;

template <typename Choice, typename Range>
struct some_range_operation : with_outcome<some_range_operation<Choice, Range>> {
    static_assert(!single_use_lvalue_range<Range>,
                  "coflux: these handles can be awaited once: hand the range over with std::move(range)");

    static auto bind(promise_base& p, std::size_t wanted, auto& range) {
        check_losers<std::ranges::range_reference_t<Range>>();
        using handle = typename handles_of<Range>::value_type;
        using awaiter = some_of_range<Choice, typename handle::value_type>;
        if constexpr (holds_handles<Range>) {
            check_elements(Choice::name, range);
            return awaiter(p, wanted, range);
        } else {
            (void)p.open_scope();
            auto handles = handles_in(p, Choice::name, range);
            return awaiter(p, wanted, handles);
        }
    }
};
template <typename Choice, typename Range>
using some_range_request = request<some_range_operation<Choice, Range>, std::size_t, Range&&>;

}  // namespace coflux::detail
