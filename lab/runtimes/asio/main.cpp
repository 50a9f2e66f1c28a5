#include "io.hpp"
#include "workloads.hpp"

#include <boost/version.hpp>

#include <string>
#include <utility>

int main(int argc, char** argv) {
    const std::string version = std::to_string(BOOST_VERSION / 100'000) + "." +
                                std::to_string(BOOST_VERSION / 100 % 1'000) + "." + std::to_string(BOOST_VERSION % 100);
    const char* last = "co_spawn of each child but the last, which is awaited in place";
    const char* channel = "experimental::concurrent_channel, experimental::channel on one thread";
    const char* loop =
        "the same coroutines on an io_context{1} with experimental::channel: one thread, whatever --threads says";
    const char* loop_of_forks = "the same coroutines on an io_context{1}: one thread, whatever --threads says";
    const char* one_thread = "the expert's coroutines on an io_context{1}: one thread, whatever --threads says";
    harness::app app{"asio", version, "asio recycling over malloc"};
    app.add("fork_noop", lab::fork_noop,
            "co_await of an awaitable on a one-thread io_context; resource frame_pool only");
    app.add("call_overhead", lab::call_overhead, "co_await of an awaitable on a one-thread io_context");
    app.add("fork_pool", lab::fork_pool, "co_spawn on thread_pool");
    app.add_expert("fork_pool", lab::fork_pool_expert, "immediate: co_await of each child in place; final: as plain");
    app.add("spawn_join", lab::spawn_join, "co_spawn with a completion handler that counts");
    app.add_expert("spawn_join", lab::spawn_join_expert, loop_of_forks);
    app.add("pipeline", lab::pipeline, "co_await of a co_spawn at every stage");
    app.add_expert("pipeline", lab::pipeline_expert, "co_await of each stage in place");
    app.add("yield", lab::yield, "co_await of defer");
    app.add_expert("yield", lab::yield_expert, loop);
    app.add("fairness", lab::fairness,
            "co_spawn of a job that begins with a post; co_await of a co_spawn for each child");
    app.add("fib", lab::fib, "co_spawn of fib(n-1), co_await of fib(n-2)");
    app.add_expert("fib", lab::fib_expert, "one coroutine a call, which posts itself where it is forked");
    app.add("skynet", lab::skynet, "co_spawn of each child");
    app.add_expert("skynet", lab::skynet_expert, last);
    app.add("nqueens", lab::nqueens, "co_spawn of each child");
    app.add_expert("nqueens", lab::nqueens_expert, last);
    app.add("matmul", lab::matmul, "co_spawn of each part");
    app.add_expert("matmul", lab::matmul_expert, last);
    app.add("channel_spsc", lab::channel_spsc, channel);
    app.add_expert("channel_spsc", lab::channel_spsc_expert, loop);
    app.add("channel_mpmc", lab::channel_mpmc, channel);
    app.add_expert("channel_mpmc", lab::channel_mpmc_expert, loop);
    app.add("channel_rendezvous", lab::channel_rendezvous, channel);
    app.add_expert("channel_rendezvous", lab::channel_rendezvous_expert, loop);
    app.add("mpsc_batches", lab::mpsc_batches, channel);
    app.add_expert("mpsc_batches", lab::mpsc_batches_expert, loop);
    app.add("mutex_handoff", lab::mutex_handoff, "co_await of a post to a strand");
    app.add_expert("mutex_handoff", lab::mutex_handoff_expert, loop);
    app.add("timer_storm", lab::timer_storm, "a steady_timer in each coroutine");
    app.add_expert("timer_storm", lab::timer_storm_expert, loop);
    app.add("cachecalc", lab::cachecalc,
            "worker: an io_context; strand: over thread_pool; mutex: std::mutex on thread_pool; a steady_timer a task");
    app.add("cachecalc_sharded", lab::cachecalc_sharded, "an io_context and a thread a shard");
    app.add("echo", lab::echo, "coroutines of one io_context on epoll");
    app.add("echo_many", lab::echo_many, "a coroutine a connection, on an io_context with epoll that one thread runs");
    app.add("echo_pool", lab::echo_pool,
            "a coroutine a connection, on an io_context with epoll that several threads run; post, to yield");
    app.add("accept_churn", lab::accept_churn,
            "a coroutine a connection, on an io_context with epoll that one thread runs");
    app.add("io_socket", lab::io_socket, "an io_context and a thread for each side, a coroutine a connection");
    for (const char* const name : {"nexmark", "stream_scenarios"}) {
        app.unsupported(name, "no stream engine: its part would be the loop that bare has");
    }
    app.unsupported("file_read",
                    "Asio reads files only where it is built on io_uring, by liburing; it is on epoll here");
    app.add("suspend_chain", lab::suspend_chain, channel);
    app.add_expert("suspend_chain", lab::suspend_chain_expert, loop);
    app.add("outside_wake", lab::outside_wake, "co_spawn with use_future");
    app.add_expert("outside_wake", lab::outside_wake_expert, "post of a packaged_task: no coroutine");
    app.add("inject", lab::inject, "co_spawn with detached");
    app.add_expert("inject", lab::inject_expert, "post of a function: no coroutine");
    app.add("latency_under_load", lab::latency_under_load, "co_spawn with detached");
    app.add_expert("latency_under_load", lab::latency_under_load_expert, "post of a function: no coroutine");
    app.add("idle_tasks", lab::idle_tasks, "a steady_timer in each coroutine");
    app.add("memory_after", lab::memory_after, "co_spawn with a completion handler that counts");
    app.add_expert("memory_after", lab::memory_after_expert, loop_of_forks);
    app.add("oversubscribed", lab::oversubscribed,
            "experimental::concurrent_channel; co_spawn with a completion handler that counts");
    app.add("unbalanced", lab::unbalanced, "co_spawn of each child");
    app.add_expert("unbalanced", lab::unbalanced_expert, last);
    app.add("cachecalc_variants", lab::cachecalc_variants, "the document's four programs for Boost.Asio");
    app.add("partition_receiver", lab::partition_receiver, channel);
    app.add_expert("partition_receiver", lab::partition_receiver_expert, loop);
    app.add("record_path", lab::record_path,
            "a channel to each partition; shared: a std::mutex, taken for each record");
    app.add_expert("record_path", lab::record_path_expert, loop);
    app.add("fib_tasks", lab::fib_tasks, "co_spawn of each task");
    app.add("coroutine_costs", lab::coroutine_costs, "an awaitable, its frame from Asio's recycling allocator");
    app.add("wait", lab::wait, "a steady_timer on an io_context");
    using workload = std::pair<const char*, harness::measured (*)(const harness::request&)>;
    for (const auto& [name, run] :
         {workload{"fork_pool", lab::fork_pool_on_one_thread}, workload{"pipeline", lab::pipeline_on_one_thread},
          workload{"fib", lab::fib_on_one_thread}, workload{"skynet", lab::skynet_on_one_thread},
          workload{"nqueens", lab::nqueens_on_one_thread}, workload{"unbalanced", lab::unbalanced_on_one_thread}}) {
        app.add_dress(name, "one_thread", run, one_thread);
    }
    return app.main(argc, argv);
}
