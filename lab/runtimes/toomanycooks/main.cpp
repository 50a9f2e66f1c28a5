#include "workloads.hpp"

#include <tmc/version.hpp>

#include <string>

int main(int argc, char** argv) {
    const std::string version = std::to_string(TMC_VERSION_MAJOR) + "." + std::to_string(TMC_VERSION_MINOR) + "." +
                                std::to_string(TMC_VERSION_PATCH);
    harness::app app{"toomanycooks", version, "malloc"};
    app.add("fork_noop", lab::fork_noop, "co_await of a task on an executor of one thread");
    app.add("call_overhead", lab::call_overhead, "co_await of a task on an executor of one thread");
    app.add("fork_pool", lab::fork_pool, "immediate: co_await of spawn; final: spawn_many");
    app.add_expert("fork_pool", lab::fork_pool_expert, "immediate: co_await of each child in place; final: as plain");
    app.add("pipeline", lab::pipeline, "nested co_await of spawn");
    app.add_expert("pipeline", lab::pipeline_expert, "co_await of each stage in place");
    app.add("spawn_join", lab::spawn_join, "spawn_many");
    app.add("memory_after", lab::memory_after, "spawn_many");
    app.add("oversubscribed", lab::oversubscribed, "fork: spawn_many, on 64 threads at most");
    app.add("fib_tasks", lab::fib_tasks, "spawn_many");
    app.add("fib", lab::fib, "fork of n-1, co_await of n-2");
    app.add("skynet", lab::skynet, "spawn_many of ten");
    app.add("nqueens", lab::nqueens, "spawn_many of the safe rows, the results in the node");
    app.add("matmul", lab::matmul, "spawn_tuple of four, twice");
    app.add("unbalanced", lab::unbalanced, "spawn_many of the children");
    app.add("yield", lab::yield, "co_await of reschedule");
    app.add("fairness", lab::fairness, "fork of the job; co_await of spawn for each child");
    app.add("outside_wake", lab::outside_wake, "post_waitable");
    app.add("inject", lab::inject, "post");
    app.add("latency_under_load", lab::latency_under_load, "post");
    app.rest_unsupported("this adapter has the rows of fork and join, and none of queues, locks, timers or I/O");
    return app.main(argc, argv);
}
