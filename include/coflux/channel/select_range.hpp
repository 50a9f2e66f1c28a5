// select over ranges: as many channels or handles as there are when it is awaited.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <new>
#include <ranges>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/channel/select.hpp>
#include <coflux/core/indexed.hpp>

namespace coflux {
namespace detail {

template <typename E>
concept has_receive = requires(E&& e) { e.receive(); };
template <typename E>
concept refers_to_receive = requires(E&& e) { e.get().receive(); };
template <typename E>
concept points_to_receive = requires(E&& e) { (*e).receive(); };
template <typename E>
concept receives_values = has_receive<E> || refers_to_receive<E> || points_to_receive<E>;

/// The receive at an element: a channel or a receiver, or something that names one.
template <receives_values E>
auto receive_at(E&& element) {
    if constexpr (has_receive<E>) {
        return element.receive();
    } else if constexpr (refers_to_receive<E>) {
        return element.get().receive();
    } else {
        return (*element).receive();
    }
}

template <typename A>
concept select_range = std::ranges::input_range<A> && !native_awaitable<A> && !translated_awaitable<A>;

/// A receive at one element of a range.
template <typename E>
class receive_member {
    using operation = decltype(detail::receive_at(std::declval<E&>()));

public:
    using result_type = typename select_case<operation>::result_type;
    static constexpr bool is_of_channel = channel_operation<operation>;

    receive_member(promise_base& p, E& element)
        : operation_(detail::receive_at(element)),
          case_(select_argument<operation>{p, std::move(operation_)}) {}
    void take_over(select_entry& e) noexcept { case_.take_over(e); }
    result_type result() { return case_.result(); }

private:
    operation operation_;
    select_case<operation> case_;
};
/// A handle in a range.
template <typename E>
class handle_member {
public:
    using result_type = typename select_case<E>::result_type;
    static constexpr bool is_of_channel = false;

    handle_member(promise_base& p, E& element) : case_(select_argument<E>{p, std::move(element)}) {}
    void take_over(select_entry& e) noexcept { case_.take_over(e); }
    result_type result() { return case_.result(); }

private:
    select_case<E> case_;
};

/// A range among the cases.
template <typename A>
consteval bool is_range_of_cases() {
    using reference = std::ranges::range_reference_t<A>;
    constexpr bool has_handles = is_owned_handle<std::remove_cvref_t<reference>>;
    static_assert(
        has_handles || receives_values<reference>,
        "coflux: a range among the cases of select has channels or receivers, or pointers to them, or forks or "
        "tasks");
    static_assert(!single_use_lvalue_range<A>,
                  "coflux: these handles can be awaited once: hand the range over with std::move(range)");
    static_assert(!has_handles || std::is_lvalue_reference_v<reference>,
                  "coflux: a range of handles among the cases of select has them in itself");
    static_assert(std::ranges::forward_range<A>, "coflux: select goes through a range of cases twice");
    return true;
}
template <typename A>
consteval bool is_case() {
    if constexpr (select_range<A>) {
        return is_range_of_cases<A>();
    } else {
        return true;
    }
}

/// The cases of a range: one block from the resource of the awaiting coroutine.
template <typename A>
    requires select_range<A>
class select_case<A> {
    using reference = std::ranges::range_reference_t<A>;
    using element = std::remove_reference_t<reference>;
    static constexpr bool has_handles = is_owned_handle<std::remove_cv_t<element>>;
    using member = std::conditional_t<has_handles, handle_member<element>, receive_member<element>>;

public:
    using result_type = indexed<typename member::result_type>;
    static constexpr bool is_of_channels = member::is_of_channel;

    explicit select_case(select_argument<A> a)
        : memory_(*a.p.memory_resource()),
          room_(static_cast<std::size_t>(std::ranges::distance(a.given))) {
        if (room_ == 0) return;
        members_ = static_cast<member*>(memory_.allocate(room_ * sizeof(member), alignof(member)));
        try {
            for (auto&& e : a.given) {
                if constexpr (has_handles) check_handle("select", "element", count_, e);
                ::new (static_cast<void*>(members_ + count_)) member(a.p, e);
                ++count_;
            }
        } catch (...) {
            destroy();
            throw;
        }
    }
    select_case(const select_case&) = delete;
    select_case& operator=(const select_case&) = delete;
    ~select_case() {
        if (members_ != nullptr) destroy();
    }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    void take_over(select_entry* entries) noexcept {
        for (std::size_t i = 0; i != count_; ++i) members_[i].take_over(entries[i]);
    }
    result_type result(std::size_t index) { return result_type(index, members_[index].result()); }

private:
    void destroy() noexcept {
        while (count_ != 0) members_[--count_].~member();
        memory_.deallocate(members_, room_ * sizeof(member), alignof(member));
    }

    std::pmr::memory_resource& memory_;
    const std::size_t room_;
    std::size_t count_ = 0;
    member* members_ = nullptr;
};

/// A case is one operation, or those of a range.
template <typename... As>
class [[nodiscard]] select_ranges_awaiter : public select_core {
    template <std::size_t I>
    using argument = std::tuple_element_t<I, std::tuple<As...>>;
    using positions = std::index_sequence_for<As...>;
    static constexpr bool one_range = sizeof...(As) == 1;

public:
    using result_type =
        std::conditional_t<one_range, std::tuple_element_t<0, std::tuple<typename select_case<As>::result_type...>>,
                           select_result<typename select_case<As>::result_type...>>;

    select_ranges_awaiter(promise_base& p, As&&... cases)
        : select_core(p, {}),
          cases_(select_argument<As>{p, std::forward<As>(cases)}...),
          entries_(count_all(positions()), p.memory_resource()),
          channels_(entries_.size(), p.memory_resource()) {
        if (entries_.empty()) throw_select_of_nothing();
        [this]<std::size_t... I>(std::index_sequence<I...>) { (this->template take_over<I>(), ...); }(positions());
        set_up(entries_, channels_.data());
    }
    ~select_ranges_awaiter() { leave(); }

    result_type await_resume() { return result<0>(resumed()); }

private:
    template <std::size_t I>
    [[nodiscard]] std::size_t count() const noexcept {
        if constexpr (select_range<argument<I>>) {
            return std::get<I>(cases_).count();
        } else {
            return 1;
        }
    }
    template <std::size_t... I>
    std::size_t count_all(std::index_sequence<I...>) noexcept {
        std::size_t at = 0;
        ((first_[I] = at, at += count<I>()), ...);
        return at;
    }
    template <std::size_t I>
    void take_over() noexcept {
        if constexpr (select_range<argument<I>>) {
            std::get<I>(cases_).take_over(entries_.data() + first_[I]);
        } else {
            std::get<I>(cases_).take_over(entries_[first_[I]]);
        }
    }
    template <std::size_t I>
    result_type result(std::size_t winner) {
        if constexpr (I + 1 < sizeof...(As)) {
            if (winner >= first_[I + 1]) return result<I + 1>(winner);
        }
        if constexpr (one_range) {
            return std::get<I>(cases_).result(winner);
        } else if constexpr (select_range<argument<I>>) {
            return result_type(std::in_place_index<I>, std::get<I>(cases_).result(winner - first_[I]));
        } else {
            return result_type(std::in_place_index<I>, std::get<I>(cases_).result());
        }
    }

    std::tuple<select_case<As>...> cases_;
    std::array<std::size_t, sizeof...(As)> first_;
    std::pmr::vector<select_entry> entries_;
    std::pmr::vector<channel_core*> channels_;
};

template <typename A>
    requires select_range<A>
inline constexpr bool is_of_channels<A> = select_case<A>::is_of_channels;

}  // namespace detail

/// select() of as many channels or handles as there are: `auto [index, value] = co_await coflux::select(channels);`,
/// `auto got = co_await coflux::select(channels, quit.receive());`
///
/// Shapes: each case is one as in select(), or a forward range of channels or receivers, of pointers, references or
/// smart pointers to them, or of forks or tasks that give the same type, which is given away. From a channel it
/// receives. As many as there are.
/// Returns: of one range and nothing else an indexed<T>: the index in the range, and what its receive() or await gives,
/// std::monostate for void. Otherwise a select_result, in which a range is one case, and its result an indexed<T>.
/// Resumes: as select(): each element of a range is a case like the others, and none can starve.
/// Errors: as select(); std::invalid_argument where there is no case at all. A range that is empty beside other cases
/// never wins.
/// Costs: three blocks from the resource of the awaiting coroutine; O(n), and n log n where the channels do not lie in
/// the order of the range. While it looks at its channels it has the locks of all of them.
/// Lifetime: as select(); a range of channels need not outlive the call, only the channels.
/// Example: examples/13_select.cpp
template <typename... As>
    requires(... || detail::select_range<As>)
[[nodiscard("select does nothing until it is awaited: co_await it")]] auto
select(As&&... cases COFLUX_LIFETIMEBOUND) noexcept {
    // Its type is deduced, so that a compiler looks into it first.
    static_assert((... && detail::is_case<As>()));
    return detail::select_request<detail::select_ranges_awaiter, As...>(std::forward<As>(cases)...);
}

}  // namespace coflux
