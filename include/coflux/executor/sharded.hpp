// sharded: one object a shard.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/combine/when_all.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/executor/detail/sharded_objects.hpp>
#include <coflux/executor/shard_group.hpp>
#include <coflux/scope/shielded.hpp>

namespace coflux {
namespace detail {

/// One of several submissions of a coroutine at the same time.
template <typename R, typename F>
fork<R> submit_one(environment&, shard_group* to, std::size_t i, const F* f) {
    co_return co_await to->submit_to(i, [f, i]() -> R { return (*f)(i); });
}

/// `f(i)` on each shard, at the same time: what they give, in order.
template <typename R, typename F>
call<std::conditional_t<std::is_void_v<R>, void, std::pmr::vector<R>>> submit_to_each(environment&, shard_group& to,
                                                                                      const F& f) {
    auto&& here = co_await context();
    std::vector<fork<R>> all;
    all.reserve(to.size());
    for (std::size_t i = 0; i < to.size(); ++i) all.push_back(submit_one<R>(here, &to, i, &f));
    if constexpr (std::is_void_v<R>) {
        co_await when_all(std::move(all));
    } else {
        co_return co_await when_all(std::move(all));
    }
}

}  // namespace detail

/// One `T` on each shard of a group, made, used and destroyed there.
///
/// Shapes: `T` is any object type. Not movable.
/// Errors: an object that is used before start() or after stop() is a checked error.
/// Stops: a sharded that dies between start() and stop(), as in a coroutine that is stopped there, or that an exception
/// ends, leaves its objects to their shards, which destroy them soon, at the latest when the group ends.
/// Threads: start(), stop() from one at a time; the rest from any, between them. Only the thread of a shard touches its
/// `T`.
/// Lifetime: the group outlives it. The targets of the objects' references live until stop() has returned, or else as
/// long as the group.
/// Source: Seastar's sharded.
template <typename T>
class sharded {
    static_assert(std::is_object_v<T>, "coflux: sharded<T> holds objects");

public:
    explicit sharded(shard_group& on) : on_(on), objects_(std::make_unique<detail::sharded_objects<T>>(on.size())) {}
    sharded(const sharded&) = delete;
    sharded& operator=(const sharded&) = delete;
    ~sharded() {
        if (may_have_some_) objects_.release()->leave_to(on_);
    }

    /// `co_await s.start(here, arguments...)` makes a `T(arguments...)` on each shard, of copies.
    /// Errors: what a constructor throws, after the objects that were made have been destroyed.
    /// Stops: none while it runs: all objects are made.
    template <typename... Args>
    call<void> start(environment& env, const Args&... args) {
        (void)env;
        COFLUX_VERIFY(!started_, "a sharded is started twice");
        auto&& here = co_await context();
        std::exception_ptr failed;
        const auto make = [this, &args...](std::size_t i) { (*objects_)[i].emplace(args...); };
        may_have_some_ = true;
        try {
            co_await shielded(detail::submit_to_each<void>(here, on_, make));
            started_ = true;
        } catch (...) {
            failed = std::current_exception();
        }
        if (failed == nullptr) co_return;
        co_await shielded(detail::submit_to_each<void>(here, on_, destroy()));
        may_have_some_ = false;
        std::rethrow_exception(failed);
    }
    /// `co_await s.stop(here)` destroys the objects, each on its shard.
    /// Stops: none while it runs.
    call<void> stop(environment& env) {
        (void)env;
        COFLUX_VERIFY(started_, "a sharded is stopped that was not started");
        auto&& here = co_await context();
        co_await shielded(detail::submit_to_each<void>(here, on_, destroy()));
        started_ = may_have_some_ = false;
    }

    /// Number of shards.
    [[nodiscard]] std::size_t size() const noexcept { return objects_->size(); }
    /// The object of the shard whose thread this is.
    /// Errors: on another thread a checked error.
    [[nodiscard]] T& local() noexcept {
        const std::optional<std::size_t> i = on_.here();
        COFLUX_VERIFY(i.has_value(),
                      "the local object of a sharded is asked for on a thread that is none of its shards");
        return object(*i);
    }

    /// `co_await s.invoke_on(i, f)` is `f(object)` on shard `i`, as shard_group::submit_to().
    template <typename F>
    [[nodiscard("nothing is submitted until this is awaited: co_await it")]] auto invoke_on(std::size_t i, F f) {
        static_assert(std::is_invocable_v<F&, T&>,
                      "coflux: what is invoked on a sharded is called with its object: f(T&)");
        return on_.submit_to(i, [this, i, f = std::move(f)]() mutable -> std::invoke_result_t<F&, T&> {
            return std::invoke(f, object(i));
        });
    }
    /// `co_await s.invoke_on_all(here, f)` is `f(object)` on all shards at the same time.
    /// Shapes: `f` is called by several threads, with an object each.
    /// Errors: the first error, when all have ended.
    template <typename F>
    call<void> invoke_on_all(environment& env, const F& f) {
        (void)env;
        static_assert(std::is_invocable_v<const F&, T&>,
                      "coflux: what is invoked on a sharded is called with its object: f(T&)");
        auto&& here = co_await context();
        co_await detail::submit_to_each<void>(here, on_,
                                              [this, &f](std::size_t i) { (void)std::invoke(f, object(i)); });
    }
    /// `co_await s.map_reduce(here, map, initial, reduce)` is
    /// `reduce(… reduce(initial, map(object 0)) …, map(object n))`: `map` on all shards at the same time, `reduce` on
    /// the coroutine's thread.
    template <typename Map, typename R, typename Reduce>
    call<R> map_reduce(environment& env, const Map& map, R initial, const Reduce& reduce) {
        (void)env;
        static_assert(std::is_invocable_v<const Map&, T&>,
                      "coflux: what is mapped over a sharded is called with its object: map(T&)");
        using mapped = std::remove_cvref_t<std::invoke_result_t<const Map&, T&>>;
        static_assert(!std::is_void_v<mapped>, "coflux: map_reduce reduces what map gives: use invoke_on_all");
        auto&& here = co_await context();
        std::pmr::vector<mapped> all = co_await detail::submit_to_each<mapped>(
            here, on_, [this, &map](std::size_t i) -> mapped { return std::invoke(map, object(i)); });
        // Not `mapped&`: a vector of bool has none.
        for (auto&& m : all) initial = std::invoke(reduce, std::move(initial), static_cast<mapped&&>(m));
        co_return initial;
    }

private:
    [[nodiscard]] T& object(std::size_t i) noexcept {
        std::optional<T>& value = (*objects_)[i];
        COFLUX_VERIFY(value.has_value(), "a sharded is used before its start() or after its stop()");
        return *value;
    }
    [[nodiscard]] auto destroy() noexcept {
        return [this](std::size_t i) { (*objects_)[i].reset(); };
    }

    shard_group& on_;
    std::unique_ptr<detail::sharded_objects<T>> objects_;
    bool started_ = false;        // all objects are there
    bool may_have_some_ = false;  // some may be
};

}  // namespace coflux
