#include "workloads.hpp"

#include <string>

int main(int argc, char** argv) {
    const std::string version = std::to_string(LF_VERSION_MAJOR) + "." + std::to_string(LF_VERSION_MINOR) + "." +
                                std::to_string(LF_VERSION_PATCH) + ", compiled as C++23";
    harness::app app{"libfork", version, "libfork segmented stacks"};
    app.add("fork_noop", lab::fork_noop, "just on a unit_pool: a call and its join");
    app.add("call_overhead", lab::call_overhead, "just on a unit_pool: a call and its join");
    app.add("fork_pool", lab::fork_pool, "immediate: fork, then join; final: fork in a loop, then join");
    app.add("pipeline", lab::pipeline, "nested fork, then join");
    app.add_expert("pipeline", lab::pipeline_expert, "just at every stage: a call and its join");
    app.add("spawn_join", lab::spawn_join, "fork in a loop, then join");
    app.add("memory_after", lab::memory_after, "fork in a loop, then join");
    app.add("oversubscribed", lab::oversubscribed, "fork: fork in a loop, then join");
    app.add("fib_tasks", lab::fib_tasks, "a fork a task");
    app.add("fib", lab::fib, "fork n-1, call n-2, join");
    app.add("skynet", lab::skynet, "nine forks and a call a node");
    app.add("nqueens", lab::nqueens, "a fork for each safe row");
    app.add("matmul", lab::matmul, "three forks and a call, twice");
    app.add("unbalanced", lab::unbalanced, "a fork for each child but the last, which is called");
    app.add("yield", lab::yield, "a context_switcher that submits the task to its own worker");
    app.add("fairness", lab::fairness, "a fork begins at once");
    app.add("outside_wake", lab::outside_wake, "sync_wait");
    app.add("inject", lab::inject, "detach, on the workers in turn");
    app.add("latency_under_load", lab::latency_under_load, "detach");
    for (const char* const name : {"cachecalc", "cachecalc_sharded", "cachecalc_variants", "idle_tasks",
                                   "partition_receiver", "timer_storm", "wait"}) {
        app.unsupported(name, "libfork has no timers");
    }
    for (const char* const name : {"accept_churn", "echo", "echo_many", "file_read", "io_socket"}) {
        app.unsupported(name, "libfork has no I/O");
    }
    app.unsupported("coroutine_costs",
                    "a task of libfork runs on its workers alone: nothing of it can be driven by hand");
    app.rest_unsupported("libfork is for fork and join: it has no channels and no locks");
    return app.main(argc, argv);
}
