// What when_any, race, first_success and when_n await: some of a tuple or of a range.
#pragma once

#include <array>
#include <cstddef>
#include <ranges>
#include <source_location>
#include <tuple>
#include <utility>

#include <coflux/combine/detail/handles.hpp>
#include <coflux/combine/detail/outcome_awaiter.hpp>
#include <coflux/combine/detail/some_awaiter.hpp>

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
public:
    some_of_tuple(promise_base& p, std::source_location where, Handles&&... handles) noexcept
        : some_awaiter(p, Choice::wanted(sizeof...(Handles)), Choice::errors, where) {
        std::size_t i = 0;
        ((places_[i++].child = &handles.used()), ...);
        watch(places_.data(), places_.size());
        i = 0;
        (begin_early(handles, p, i++), ...);
        (begin_late(handles, p), ...);
        ((void)handles.release(), ...);
    }
    ~some_of_tuple() { give_up(); }

    decltype(auto) await_resume() {
        settle();
        return Choice::template of_tuple<typename Handles::value_type...>(*this);
    }

    // For the choices: all that they need of it.
    using some_awaiter::ranked;
    using some_awaiter::taken;

private:
    /// One that foretells its end begins first, and is heard of from then on: the other children may compute when they
    /// begin, and are stopped.
    template <typename Handle>
    void begin_early(Handle& handle, promise_base& p, std::size_t i) noexcept {
        if constexpr (is_foretelling<Handle>) {
            handle.begin(p);
            hear_early(i);
        }
    }
    template <typename Handle>
    static void begin_late(Handle& handle, promise_base& p) noexcept {
        if constexpr (!is_foretelling<Handle>) begin_if_wrapper(handle, p);
    }

    std::array<some_place, sizeof...(Handles)> places_;
};

template <typename Choice, typename T>
class [[nodiscard]] some_of_range : public some_awaiter {
public:
    template <typename Range>
    some_of_range(promise_base& p, std::source_location where, std::size_t asked, Range& handles)
        : some_awaiter(p, count_wanted(asked, std::ranges::size(handles)), Choice::errors, where),
          places_(std::ranges::size(handles), p.memory_resource()) {
        if (asked == 0 || wanted() > places_.size()) throw_bad_count(Choice::name, wanted(), places_.size());
        for (auto& h : handles) begin_if_wrapper(h, p);
        std::size_t i = 0;
        for (auto& h : handles) places_[i++].child = &h.release();
        watch(places_.data(), places_.size());
    }
    ~some_of_range() { give_up(); }

    decltype(auto) await_resume() {
        settle();
        return Choice::template of_range<T>(*this);
    }

    // For the choices: all that they need of it.
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

    some_places places_;
};

template <typename Choice, typename... As>
class some_request : public with_outcome<some_request<Choice, As...>> {
    static_assert(sizeof...(As) != 0, "coflux: there is nothing here to wait for");

public:
    explicit some_request(As&&... awaited) noexcept : awaited_(std::forward<As>(awaited)...) {}
    some_request(const some_request&) = delete;
    some_request& operator=(const some_request&) = delete;

    auto await_in(promise_base& p, std::source_location where) && {
        p.set_await_location(where);
        std::apply([](const auto&... a) { check_arguments(Choice::name, a...); }, awaited_);
        (void)p.open_scope();  // what is no fork yet becomes one here
        return std::apply([&](auto&&... a) { return some_of(p, where, as_handle(p, std::forward<As>(a))...); },
                          std::move(awaited_));
    }

private:
    template <typename... Handles>
    static auto some_of(promise_base& p, std::source_location where, Handles&&... handles) noexcept {
        return some_of_tuple<Choice, Handles...>(p, where, std::move(handles)...);
    }

    std::tuple<As&&...> awaited_;
};

template <typename Choice, typename Range>
class some_range_request : public with_outcome<some_range_request<Choice, Range>> {
    static_assert(!single_use_lvalue_range<Range>,
                  "coflux: these handles can be awaited once: hand the range over with std::move(range)");

public:
    some_range_request(std::size_t wanted, Range&& range) noexcept
        : wanted_(wanted),
          range_(std::forward<Range>(range)) {}
    some_range_request(const some_range_request&) = delete;
    some_range_request& operator=(const some_range_request&) = delete;

    auto await_in(promise_base& p, std::source_location where) && {
        p.set_await_location(where);
        using handle = typename handles_of<Range>::value_type;
        using awaiter = some_of_range<Choice, typename handle::value_type>;
        if constexpr (holds_handles<Range>) {
            check_elements(Choice::name, range_);
            return awaiter(p, where, wanted_, range_);
        } else {
            (void)p.open_scope();
            auto handles = handles_in(p, Choice::name, range_);
            return awaiter(p, where, wanted_, handles);
        }
    }

private:
    std::size_t wanted_;
    Range&& range_;
};

}  // namespace coflux::detail
