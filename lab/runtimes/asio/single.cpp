// The workloads of one thread: an io_context that knows it has one thread, and awaitables that run inline.
#include "workloads.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdint>

namespace lab {
namespace {

namespace asio = boost::asio;

template <typename T>
using awaitable = asio::awaitable<T, asio::io_context::executor_type>;

[[gnu::noinline]] awaitable<std::uint64_t> child(std::uint64_t i) {
    co_return i;
}

awaitable<std::uint64_t> await_children(std::uint64_t count, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        sum += co_await child(harness::opaque(i));
    }
    watch.stop();
    co_return sum;
}

[[gnu::noinline]] awaitable<std::uint64_t> next(std::uint64_t x) {
    co_return x + 1;
}

awaitable<std::uint64_t> await_calls(std::uint64_t calls, harness::stopwatch& watch) {
    std::uint64_t x = 0;
    watch.start();
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await next(harness::opaque(x));
    }
    watch.stop();
    co_return x;
}

std::uint64_t run(awaitable<std::uint64_t> (*root)(std::uint64_t, harness::stopwatch&), std::uint64_t count,
                  harness::stopwatch& watch) {
    asio::io_context context{1};
    auto answer = asio::co_spawn(context, root(count, watch), asio::use_future);
    context.run();
    return answer.get();
}

}  // namespace

harness::measured fork_noop(const harness::request& r) {
    if (const std::string resource = r.text("resource"); resource != "frame_pool") {
        throw harness::unsupported_params{
            "Asio's awaitable takes its frames from Asio's own recycling allocator, not from "
            "a memory resource of the caller"};
    }
    const std::uint64_t count = r.integer("count");
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(await_children, count, watch); });
}

harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    return harness::measure(r, [&](harness::stopwatch& watch) { return run(await_calls, calls, watch); });
}

}  // namespace lab
