// The common part of the workloads on Asio: the pool's types and the join that Asio leaves to its user.
#pragma once

#include "harness.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>

namespace lab {

namespace asio = boost::asio;

// The pool's own executor type: the default, any_io_executor, would erase it and pay for that at every hop.
using pool_executor = asio::thread_pool::executor_type;

template <typename T>
using awaitable = asio::awaitable<T, pool_executor>;

// Where one thread runs all: an expert's choice for coroutines that only pass values to each other, or do next to
// nothing.
using loop_executor = asio::io_context::executor_type;

// A coroutine of either, with a number.
template <typename Executor>
using counted = asio::awaitable<std::uint64_t, Executor>;

inline constexpr asio::use_awaitable_t<pool_executor> use_awaitable{};

// The first statement of what must run beside its creator: co_spawn dispatches, so on a pool's own thread it would run
// a child at once, up to its first suspension, before the creator goes on. Returns the executor.
template <typename Executor>
asio::awaitable<Executor, Executor> to_the_queue_of() {
    co_await asio::post(asio::deferred);
    co_return co_await asio::this_coro::executor;
}

inline awaitable<pool_executor> to_the_pool() {
    return to_the_queue_of<pool_executor>();
}

// The join of children that were started with a completion handler: each delivers one value through delivery(), and the
// coroutine that started them awaits their sum once. Asio's own joins either need the children as one group from the
// start (parallel_group, operator&&) or are not safe on a pool (experimental::promise).
template <typename Executor>
class sum_of_children_on {
public:
    explicit sum_of_children_on(std::uint64_t children) : pending_{children + 1} {}

    // The completion handler of one child; one without a value delivers nothing but its end.
    auto delivery() {
        return [this](std::exception_ptr error, std::uint64_t value = 0) {
            if (error) {
                std::rethrow_exception(error);
            }
            sum_.fetch_add(value, std::memory_order_relaxed);  // published by the decrement below
            if (is_last()) {
                // Moved out first: the resumed coroutine may destroy this object.
                handler waiter{std::move(*waiter_)};
                asio::dispatch(std::move(waiter));
            }
        };
    }

    asio::awaitable<std::uint64_t, Executor> wait() {
        if (pending_.load(std::memory_order_acquire) != 1) {
            constexpr asio::use_awaitable_t<Executor> token{};
            co_await asio::async_initiate<decltype(token), void()>(
                [this](handler waiter) {
                    waiter_.emplace(std::move(waiter));
                    // Where the waiter itself is the last: an initiation must not complete inside its own call.
                    if (is_last()) {
                        handler resumed{std::move(*waiter_)};
                        asio::post(std::move(resumed));
                    }
                },
                token);
        }
        co_return sum_.load(std::memory_order_relaxed);
    }

private:
    using handler = typename asio::async_result<asio::use_awaitable_t<Executor>, void()>::handler_type;

    // acq_rel: the last one to come sees what the others wrote, the waiter's handler included.
    bool is_last() { return pending_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    std::atomic<std::uint64_t> pending_;  // children that have not delivered, and one for the waiter
    std::atomic<std::uint64_t> sum_{0};
    std::optional<handler> waiter_;
};

using sum_of_children = sum_of_children_on<pool_executor>;

// Runs one coroutine on the pool to its end, from a thread outside.
template <typename T>
T run(asio::thread_pool& pool, awaitable<T> root) {
    return asio::co_spawn(pool, std::move(root), asio::use_future).get();
}

// Runs one coroutine on this thread to its end.
template <typename T>
T run(asio::io_context& loop, asio::awaitable<T, loop_executor> root) {
    auto answer = asio::co_spawn(loop, std::move(root), asio::use_future);
    loop.run();
    loop.restart();
    return answer.get();
}

// Measures what `make` makes on one thread: without contention its locks are free, as with a concurrency_hint of 1.
template <typename Make>
harness::measured measure_on_one_thread(const harness::request& r, Make make) {
    asio::io_context loop{1};
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(loop, make(watch)); });
}

// The same on the executor's own context; a pool has the request's threads.
template <typename Executor, typename Make>
harness::measured measure_on(const harness::request& r, Make make) {
    if constexpr (std::same_as<Executor, loop_executor>) {
        return measure_on_one_thread(r, make);
    } else {
        asio::thread_pool pool{r.threads()};
        return harness::measure(r, [&](harness::stopwatch& watch) { return run(pool, make(watch)); });
    }
}

}  // namespace lab
