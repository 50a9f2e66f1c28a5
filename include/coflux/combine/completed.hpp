// completed, completions: children as they finish.
#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/combine/detail/completion_set.hpp>
#include <coflux/core/detail/handle/await_access.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/indexed.hpp>
#include <coflux/core/outcome.hpp>

namespace coflux {

/// Gives the results of children as they finish: `coflux::completions<page> pages(here); pages.add(fetch(scope, url));
/// while (auto got = co_await pages.next()) use(got->index(), got->value());`
///
/// Shapes: made in an environment `here`, that of the consumer. Children are forks and tasks that give T, made anywhere
/// and moved in; more may be added at any time. completed() makes one of a range. Move-only.
/// Errors: using one that was moved from is a checked error.
/// Stops: next() and next_outcome() say what a stopped child does. A stop of the consumer stops no child that was not
/// made below it, until the completions die.
/// Threads: used by one coroutine at a time; a next() while another is awaited is a checked error. The children may end
/// on any.
/// Costs: a block of 96 bytes a child from the frame pool, and one for all. A child: one locked instruction and a short
/// lock when it is added, a short lock when it ends and when it is taken, whatever the number of children.
/// Lifetime: dies in the environment `here`. Dying early it requests a stop of the children that run, and leaves them
/// to the scopes that they were made in, which join them. One that borrows, outside of a with_scope, or a root is a
/// checked error then: take the rest first. The error of a child that has ended and was not taken goes to the scope of
/// `here`. Destroyed while next() is awaited: a checked error.
/// Source: Tokio's JoinSet.
template <typename T>
class [[nodiscard("what is added to it is stopped when it dies")]] completions {
    template <bool Stops>
    using next_request = detail::request<detail::completion_awaiter<T, Stops>, detail::completion_set&>;

public:
    using value_type = T;

    /// Errors: std::bad_alloc.
    explicit completions(environment& here) : here_(&here), set_(&detail::completion_set::make()) {}
    completions(completions&& other) noexcept : here_(other.here_), set_(std::exchange(other.set_, nullptr)) {}
    completions& operator=(completions&& other) noexcept {
        completions(std::move(other)).swap(*this);
        return *this;
    }
    completions(const completions&) = delete;
    completions& operator=(const completions&) = delete;
    ~completions() {
        if (set_ != nullptr) set_->abandon(*here_);
    }
    void swap(completions& other) noexcept {
        std::swap(here_, other.here_);
        std::swap(set_, other.set_);
    }

    /// Adds a child, whose index is how many were added before.
    ///
    /// Errors: std::bad_alloc; then the handle is still the caller's. A handle that names no coroutine is a checked
    /// error.
    template <typename Handle>
    void add(Handle&& child) {
        static_assert(!std::is_lvalue_reference_v<Handle>,
                      "coflux: this handle can be awaited once: hand it over with std::move(handle)");
        check_type<Handle>();
        detail::completion_set& set = checked();
        detail::check_handle("completions::add", "argument", 0, child);
        set.reserve(detail::await_access::used(child));
        (void)detail::await_access::release(child);
        set.watch();
    }

    /// How many children were added and not taken.
    [[nodiscard]] std::size_t size() const noexcept { return checked().left(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    /// `co_await next()`: the value of the child that finished first of those that were not taken, and its index;
    /// nothing when no child is left.
    ///
    /// Returns: std::optional<indexed<T>>; indexed<void> has the index alone. Children that end at the same time come
    /// in an order of their own.
    /// Resumes: the consumer, through its executor.
    /// Errors: that of the child, which counts as taken; the next next() goes on with the others. std::bad_alloc in the
    /// first wait of a coroutine; then nothing has happened.
    /// Stops: a stop point where it waits, which loses nothing: timeout() of it, and a select() in which it loses,
    /// leave the child for the next next(). A child that was stopped counts as taken, and stops the consumer in turn.
    [[nodiscard("no child is waited for until it is awaited: co_await it")]] next_request<true> next() noexcept {
        return next_request<true>(checked());
    }
    /// next() that gives how the child ended: a std::optional<indexed<outcome<T>>>. An error is then an outcome and
    /// counts as observed, and a stop of the child stops no one.
    [[nodiscard("no child is waited for until it is awaited: co_await it")]] next_request<false>
    next_outcome() noexcept {
        return next_request<false>(checked());
    }

    /// Requests a stop of all children that run; they are given on as they end.
    void request_stop() noexcept { checked().stop_all(*here_); }

private:
    template <std::ranges::input_range Range>
    friend auto completed(environment& here, Range&& range);

    template <typename Handle>
    static constexpr void check_type() noexcept {
        static_assert(detail::is_owned_handle<std::remove_cvref_t<Handle>>,
                      "coflux: completions are of forks and tasks; a call or another awaitable is awaited by a fork of "
                      "yours, which gives its value on");
        if constexpr (detail::is_owned_handle<std::remove_cvref_t<Handle>>) {
            static_assert(std::is_same_v<typename std::remove_cvref_t<Handle>::value_type, T>,
                          "coflux: the children of completions<T> give T");
        }
    }
    [[nodiscard]] detail::completion_set& checked() const noexcept {
        COFLUX_VERIFY(set_ != nullptr, "completions were used after they were moved from");
        return *set_;
    }
    template <typename Range>
    void add_all(Range& range) {
        if constexpr (std::ranges::forward_range<Range> &&
                      std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>>) {
            std::size_t position = 0;
            for (auto& child : range) detail::check_handle("completed", "element", position++, child);
            try {
                for (auto& child : range) set_->reserve(detail::await_access::used(child));
            } catch (...) {
                set_->unreserve();
                throw;
            }
            for (auto& child : range) (void)detail::await_access::release(child);
            set_->watch();
        } else {
            for (auto&& child : range) add(std::move(child));
        }
    }

    environment* here_;
    detail::completion_set* set_;
};

/// The children of a range as they finish: `auto done = coflux::completed(here, std::move(forks)); while (auto got =
/// co_await done.next()) use(got->index(), got->value());`
///
/// Shapes: an input range of forks or tasks that give the same type; it is consumed.
/// Returns: a completions: its next() gives each child's value and its index in the range, in the order in which they
/// end, and nothing after the last.
/// Errors: std::bad_alloc: then nothing was taken from a range that has its handles in itself; those that another range
/// has given are stopped, and left to their scope.
/// Costs: as completions: O(1) a child.
/// Example: examples/18_combinators.cpp
template <std::ranges::input_range Range>
[[nodiscard("the children are stopped when what this gives dies")]] auto completed(environment& here, Range&& range) {
    static_assert(!detail::single_use_lvalue_range<Range>,
                  "coflux: these handles can be awaited once: hand the range over with std::move(range)");
    using handle = std::ranges::range_value_t<Range>;
    static_assert(
        detail::is_owned_handle<handle>,
        "coflux: completed() takes a range of forks or tasks; a call or another awaitable is awaited by a fork "
        "of yours, which gives its value on");
    completions<typename handle::value_type> done(here);
    done.add_all(range);
    return done;
}

}  // namespace coflux
