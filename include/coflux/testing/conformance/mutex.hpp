// The laws of a mutex for coroutines as checks, for foreign mutexes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/testing/conformance/detail/subject.hpp>
#include <coflux/testing/conformance/violation.hpp>
#include <coflux/testing/manual_executor.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of mutexes as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives a mutex that is free, by value: `co_await m.lock()` gives a guard that unlocks when it dies,
/// or nothing, and then `m.unlock()` does. `m.try_lock()`, if there is one, gives a guard or a bool. A mutex with
/// `static constexpr bool unfair = true` lets waiters in in any order.
namespace mutex_laws {

template <typename Make>
using mutex_of = decltype(std::declval<Make&>()());
template <typename M>
using lock_of = decltype(std::declval<M&>().lock());

/// The events on one thread or under the lock.
struct record {
    int inside = 0;
    bool overlapped = false;
    bool ran_inside_unlock = false;
    std::vector<int> entered;

    void enter(int holder) {
        overlapped = overlapped || inside != 0;
        ++inside;
        entered.push_back(holder);
    }
    void leave() { --inside; }
};

namespace coroutines {

template <typename M, typename E>
task<void, E> holds(environment&, M* m, record* r, int holder, int yields) {
    std::size_t entered = 0;
    if constexpr (std::is_void_v<detail::awaited_result<lock_of<M>>>) {
        co_await m->lock();
        r->enter(holder);
        for (int i = 0; i < yields; ++i) co_await yield();
        r->leave();
        entered = r->entered.size();
        m->unlock();
    } else {
        auto guard = co_await m->lock();
        r->enter(holder);
        for (int i = 0; i < yields; ++i) co_await yield();
        r->leave();
        entered = r->entered.size();
    }
    // On a manual_executor no other coroutine can have run since, but in the unlock.
    if (std::is_same_v<E, manual_executor> && r->entered.size() != entered) r->ran_inside_unlock = true;
}

template <typename M>
task<void, thread_pool_executor> counts(environment&, M* m, std::size_t* count, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
        if constexpr (std::is_void_v<detail::awaited_result<lock_of<M>>>) {
            co_await m->lock();
            ++*count;
            m->unlock();
        } else {
            auto guard = co_await m->lock();
            ++*count;
        }
        co_await yield();
    }
}

/// `n` coroutines that want a lock, one after the other, each keeping it for a few steps.
template <typename Make>
struct queue_of_holders {
    using mutex_type = mutex_of<Make>;
    using stage_type = detail::room<mutex_type, manual_executor>;

    std::shared_ptr<stage_type> stage;
    std::shared_ptr<record> seen = std::make_shared<record>();
    std::vector<task<void, manual_executor>> roots;

    queue_of_holders(Make& make, int n) : stage(std::make_shared<stage_type>(make)) {
        for (int i = 0; i < n; ++i) add(i, 3);
        for (int i = 0; i < n; ++i) stage->subject.run_one();  // each has asked for the lock, and the first has it
    }
    void add(int holder, int yields) {
        roots.push_back(holds<mutex_type, manual_executor>(stage->env, &stage->thing, seen.get(), holder, yields));
    }
    bool end(const conformance_options& options) {
        const bool ended = detail::all_end(stage, roots, options.patience);
        if (roots.empty()) detail::keep_for_ever(seen);
        return ended;
    }
};

}  // namespace coroutines

/// The owner of the lock is alone, across suspensions as well; and each coroutine that asks gets it.
template <typename Make>
violations lets_in_one_at_a_time(Make make, const conformance_options& options = {}) {
    coroutines::queue_of_holders<Make> five(make, 5);
    violations found;
    if (!five.end(options)) found.push_back({"lets_in_one_at_a_time", "some waiters for the lock never had it"});
    if (five.seen->overlapped) found.push_back({"lets_in_one_at_a_time", "two had the lock at the same time"});
    return found;
}

/// First come, first served.
template <typename Make>
violations serves_in_the_order_of_asking(Make make, const conformance_options& options = {}) {
    if constexpr (!requires { requires mutex_of<Make>::unfair; }) {
        coroutines::queue_of_holders<Make> five(make, 5);
        if (!five.end(options) || five.seen->entered != std::vector<int>{0, 1, 2, 3, 4})
            return {{"serves_in_the_order_of_asking", "they did not have the lock in the order in which they asked"}};
    }
    return {};
}

/// An unlock runs no coroutine: the waiter is resumed by its executor.
template <typename Make>
violations runs_no_waiter_in_unlock(Make make, const conformance_options& options = {}) {
    coroutines::queue_of_holders<Make> two(make, 2);
    (void)two.end(options);
    if (!two.seen->ran_inside_unlock) return {};
    return {{"runs_no_waiter_in_unlock", "a waiter ran inside the unlock"}};
}

/// try_lock() gets a lock that is free and no other.
template <typename Make>
violations tries_truly(Make make, const conformance_options& = {}) {
    violations found;
    if constexpr (requires(mutex_of<Make>& m) { static_cast<bool>(m.try_lock()); }) {
        auto m = make();
        constexpr bool by_hand = std::is_same_v<decltype(m.try_lock()), bool>;
        for (int round = 0; round < 2; ++round) {
            auto first = m.try_lock();
            if (!first) found.push_back({"tries_truly", "try_lock() did not get a lock that is free"});
            auto second = m.try_lock();
            if (second) found.push_back({"tries_truly", "try_lock() got a lock that is taken"});
            if constexpr (by_hand) m.unlock();
        }
    }
    return found;
}

/// A waiter that is stopped has not had the lock; the waiters behind it move up, and the mutex is whole.
template <typename Make>
violations forgets_a_stopped_waiter(Make make, const conformance_options& options = {}) {
    if constexpr (coflux::detail::native_awaitable<lock_of<mutex_of<Make>>>) {
        coroutines::queue_of_holders<Make> three(make, 3);
        three.roots[1].request_stop();
        three.add(3, 0);
        violations found;
        if (!three.end(options))
            found.push_back({"forgets_a_stopped_waiter", "the waiters behind the stopped one never had the lock"});
        else if (three.seen->entered != std::vector<int>{0, 2, 3})
            found.push_back({"forgets_a_stopped_waiter", "the stopped waiter had the lock, or another one did not"});
        return found;
    }
    return {};
}

/// On several threads: nothing is lost, no waiter is forgotten, and the owner of the lock sees what happened under it.
template <typename Make>
violations keeps_threads_apart(Make make, const conformance_options& options = {}) {
    using stage_type = detail::room<mutex_of<Make>, thread_pool_executor>;
    auto stage = std::make_shared<stage_type>(make, options.threads);
    auto count = std::make_shared<std::size_t>(0);
    std::vector<task<void, thread_pool_executor>> roots;
    for (std::size_t t = 0; t < 2 * options.threads; ++t)
        roots.push_back(coroutines::counts<mutex_of<Make>>(stage->env, &stage->thing, count.get(), options.many));
    if (!detail::all_end(stage, roots, options.patience)) {
        if (roots.empty()) detail::keep_for_ever(count);
        return {{"keeps_threads_apart", "some waiters for the lock never had it"}};
    }
    roots.clear();
    const std::size_t expected = 2 * options.threads * options.many;
    if (*count == expected) return {};
    return {{"keeps_threads_apart",
             std::to_string(*count) + " additions under the lock instead of " + std::to_string(expected)}};
}

}  // namespace mutex_laws

/// All laws of mutexes.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_mutex(Make make, const conformance_options& options = {}) {
    violations found;
    const auto add = [&](violations more) { found.insert(found.end(), more.begin(), more.end()); };
    add(mutex_laws::lets_in_one_at_a_time(make, options));
    add(mutex_laws::serves_in_the_order_of_asking(make, options));
    add(mutex_laws::runs_no_waiter_in_unlock(make, options));
    add(mutex_laws::tries_truly(make, options));
    add(mutex_laws::forgets_a_stopped_waiter(make, options));
    if (found.empty()) add(mutex_laws::keeps_threads_apart(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
