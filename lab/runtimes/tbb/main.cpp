#include "workloads.hpp"

#include <tbb/version.h>

#include <string>

int main(int argc, char** argv) {
    const std::string version = std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR) + "." +
                                std::to_string(TBB_VERSION_PATCH);
    const char* split = "parallel_for with a task for each, which splits its range";
    const char* graph = "a flow graph: a lightweight function_node a stage";
    harness::app app{"tbb", version, "oneTBB small-object pool"};
    app.add("fork_pool", lab::fork_pool, "immediate: task_group::run_and_wait; final: run, then wait");
    app.add_expert("fork_pool", lab::fork_pool_expert,
                   "immediate: as plain; final: parallel_for with a task for each, which splits its range");
    app.add("spawn_join", lab::spawn_join, "task_group");
    app.add_expert("spawn_join", lab::spawn_join_expert, split);
    app.add("pipeline", lab::pipeline, "nested task_group::run_and_wait");
    app.add_expert("pipeline", lab::pipeline_expert, graph);
    app.add("fairness", lab::fairness, "task_group::run, and run and wait of a second one for each child");
    app.add("fib", lab::fib, "parallel_invoke");
    app.add("skynet", lab::skynet, "task_group");
    app.add("nqueens", lab::nqueens, "task_group");
    app.add("matmul", lab::matmul, "parallel_invoke");
    app.add_expert("matmul", lab::matmul_expert,
                   "parallel_for with an affinity_partitioner: the second round goes where the first one went");
    app.add("yield", lab::yield, "task::suspend, resumed at once");
    app.add("channel_spsc", lab::channel_spsc, "concurrent_bounded_queue between two threads");
    app.add("channel_mpmc", lab::channel_mpmc, "concurrent_bounded_queue; a thread a task");
    app.add("mpsc_batches", lab::mpsc_batches, "concurrent_bounded_queue without a capacity between two threads");
    app.add("suspend_chain", lab::suspend_chain, "task::suspend, resumed by the stage before");
    app.add_expert("suspend_chain", lab::suspend_chain_expert, graph);
    app.add("outside_wake", lab::outside_wake, "task_arena::enqueue, and a promise");
    app.add("inject", lab::inject, "task_arena::enqueue");
    app.add("latency_under_load", lab::latency_under_load, "task_arena::enqueue");
    app.add("memory_after", lab::memory_after, "task_group");
    app.add_expert("memory_after", lab::memory_after_expert, split);
    app.add("oversubscribed", lab::oversubscribed, "fork: task_group");
    app.add("unbalanced", lab::unbalanced, "task_group");
    app.add_expert("unbalanced", lab::unbalanced_expert, "parallel_reduce over the children, which splits down to one");
    app.unsupported("channel_rendezvous", "no queue of oneTBB promises that a push waits until its value was taken");
    app.unsupported("mutex_handoff", "a TBB task that waits for a mutex keeps its thread: tasks cannot hand one over");
    app.add("fib_tasks", lab::fib_tasks, "task_group::run of each task");
    app.unsupported("record_path", "a TBB task that waits for a batch keeps its thread: std has it with threads");
    for (const char* const name : {"nexmark", "stream_scenarios"}) {
        app.unsupported(name, "no stream engine: its part would be the loop that bare has");
    }
    app.unsupported("coroutine_costs", "a TBB task is no coroutine");
    for (const char* const name : {"cachecalc", "cachecalc_sharded", "cachecalc_variants", "idle_tasks",
                                   "partition_receiver", "timer_storm", "wait"}) {
        app.unsupported(name, "oneTBB has no timers");
    }
    for (const char* const name : {"accept_churn", "echo", "echo_many", "echo_pool", "file_read", "io_socket"}) {
        app.unsupported(name, "oneTBB has no I/O");
    }
    app.unsupported("fork_noop", "a TBB task is no coroutine: it cannot be awaited and takes no memory resource");
    app.unsupported("call_overhead", "a TBB task is no coroutine: there is no asynchronous call to await");
    return app.main(argc, argv);
}
