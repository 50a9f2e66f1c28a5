// Stages in a row, each of which waits at its channel for the one before it.
#include "adapter.hpp"
#include "workloads.hpp"

#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>

#include <cstddef>
#include <list>

namespace lab {
namespace {

using boost::system::error_code;

template <typename Channel>
using executor_of = typename Channel::executor_type;

template <typename Channel>
asio::awaitable<void, executor_of<Channel>> stage(Channel& from, Channel& to, std::uint64_t values) {
    co_await to_the_queue_of<executor_of<Channel>>();
    for (std::uint64_t i = 0; i < values; ++i) {
        std::uint64_t value = 0;
        if (!from.try_receive([&value](error_code, std::uint64_t received) { value = received; })) {
            value = co_await from.async_receive(asio::deferred);
        }
        if (!to.try_send(error_code{}, value + 1)) {
            co_await to.async_send(error_code{}, value + 1, asio::deferred);
        }
    }
}

// One value at a time, so that each stage waits when its value comes.
template <typename Channel>
asio::awaitable<std::uint64_t, executor_of<Channel>> chain(std::uint64_t depth, std::uint64_t values) {
    const executor_of<Channel> on = co_await to_the_queue_of<executor_of<Channel>>();
    std::list<Channel> channels;
    channels.emplace_back(on, 1);
    sum_of_children_on<executor_of<Channel>> stages{depth};
    for (std::uint64_t d = 0; d < depth; ++d) {
        Channel& from = channels.back();
        asio::co_spawn(on, stage(from, channels.emplace_back(on, 1), values), stages.delivery());
    }
    Channel& first = channels.front();
    Channel& last = channels.back();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < values; ++i) {
        if (!first.try_send(error_code{}, i)) {
            co_await first.async_send(error_code{}, i, asio::deferred);
        }
        std::uint64_t value = 0;
        if (!last.try_receive([&value](error_code, std::uint64_t received) { value = received; })) {
            value = co_await last.async_receive(asio::deferred);
        }
        sum += value;
    }
    co_await stages.wait();
    co_return sum;
}

template <typename Channel>
asio::awaitable<std::uint64_t, executor_of<Channel>> run_chains(std::uint64_t chains, std::uint64_t depth,
                                                                std::uint64_t values, harness::stopwatch& watch) {
    const executor_of<Channel> on = co_await asio::this_coro::executor;
    sum_of_children_on<executor_of<Channel>> all{chains};
    watch.start();
    for (std::uint64_t c = 0; c < chains; ++c) {
        asio::co_spawn(on, chain<Channel>(depth, values), all.delivery());
    }
    const std::uint64_t sum = co_await all.wait();
    watch.stop();
    co_return sum;
}

template <typename T>
using channel = asio::experimental::channel<pool_executor, void(error_code, T)>;
template <typename T>
using one_thread_channel = asio::experimental::channel<loop_executor, void(error_code, T)>;
template <typename T>
using concurrent_channel = asio::experimental::concurrent_channel<pool_executor, void(error_code, T)>;

}  // namespace

harness::measured suspend_chain(const harness::request& r) {
    const std::uint64_t chains = r.integer("chains");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t values = r.integer("values");
    const auto root =
        r.threads() == 1 ? run_chains<channel<std::uint64_t>> : run_chains<concurrent_channel<std::uint64_t>>;
    asio::thread_pool pool{r.threads()};
    return harness::measure(r,
                            [&](harness::stopwatch& watch) { return run(pool, root(chains, depth, values, watch)); });
}

harness::measured suspend_chain_expert(const harness::request& r) {
    const std::uint64_t chains = r.integer("chains");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t values = r.integer("values");
    return measure_on_one_thread(r, [=](harness::stopwatch& watch) {
        return run_chains<one_thread_channel<std::uint64_t>>(chains, depth, values, watch);
    });
}

}  // namespace lab
