#include "workloads.hpp"

#include <folly/Singleton.h>

#include <string>

int main(int argc, char** argv) {
    // As folly::Init does, which would also read the command line as flags.
    folly::SingletonVault::singleton()->registrationComplete();
    const std::string collect = "collectAllRange of tasks with the pool as their executor";
    const std::string counts =
        "start() with a callback that counts: a join without a further coroutine or a future for each task";
    const std::string tries = "try_enqueue and try_dequeue, and a coroutine only where those would wait";
    harness::app app{"folly", LAB_FOLLY_VERSION, "malloc"};
    app.add("fork_noop", lab::fork_noop, "co_await of a Task under blockingWait; resource frame_pool only");
    app.add("call_overhead", lab::call_overhead, "co_await of a Task under blockingWait");
    app.add("fork_pool", lab::fork_pool, "a Task with the CPUThreadPoolExecutor as its executor; " + collect);
    app.add_expert("fork_pool", lab::fork_pool_expert, "immediate: co_await of each child in place; final: " + counts);
    app.add("spawn_join", lab::spawn_join, "start() of each, and co_await of the futures");
    app.add_expert("spawn_join", lab::spawn_join_expert, counts);
    app.add("pipeline", lab::pipeline, "co_await of a Task with the pool as its executor at every stage");
    app.add_expert("pipeline", lab::pipeline_expert, "co_await of each stage in place");
    app.add("yield", lab::yield, "co_reschedule_on_current_executor");
    app.add("fairness", lab::fairness, "start() of the job; co_await of each child with the pool as its executor");
    app.add("fib", lab::fib, "collectAll of fib(n-1) on the pool and fib(n-2) in place");
    app.add_expert("fib", lab::fib_expert, counts);
    app.add("skynet", lab::skynet, collect);
    app.add_expert("skynet", lab::skynet_expert, counts + "; the tenth child in place");
    app.add("nqueens", lab::nqueens, collect);
    app.add_expert("nqueens", lab::nqueens_expert, counts);
    app.add("matmul", lab::matmul, "collectAll of three parts on the pool and one in place");
    app.add("unbalanced", lab::unbalanced, collect);
    app.add_expert("unbalanced", lab::unbalanced_expert, counts);
    app.add("channel_spsc", lab::channel_spsc, "BoundedQueue for one producer and one consumer");
    app.add_expert("channel_spsc", lab::channel_spsc_expert, tries);
    app.add("channel_mpmc", lab::channel_mpmc, "BoundedQueue");
    app.add_expert("channel_mpmc", lab::channel_mpmc_expert, tries);
    app.unsupported("channel_rendezvous", "none of Folly's queues waits until a value was taken");
    app.add("mpsc_batches", lab::mpsc_batches, "UnboundedQueue for one consumer");
    app.add_expert("mpsc_batches", lab::mpsc_batches_expert, "try_dequeue, and a coroutine only where that would wait");
    app.add("oversubscribed", lab::oversubscribed, "BoundedQueue, tried first; " + counts);
    app.add("mutex_handoff", lab::mutex_handoff, "coro::Mutex");
    app.add("suspend_chain", lab::suspend_chain, "BoundedQueue of one place for one producer and one consumer");
    app.add("timer_storm", lab::timer_storm, "coro::sleep");
    app.add("idle_tasks", lab::idle_tasks, "coro::sleep in an AsyncScope");
    app.add("wait", lab::wait, "coro::sleep under blockingWait");
    app.add("memory_after", lab::memory_after, counts);
    app.add("outside_wake", lab::outside_wake, "blockingWait of a Task with the pool as its executor");
    app.add_expert("outside_wake", lab::outside_wake_expert, "add() of a function that posts a Baton: no coroutine");
    app.add("inject", lab::inject, "start() of a Task with the pool as its executor");
    app.add_expert("inject", lab::inject_expert, "add() of a function: no coroutine");
    app.add("latency_under_load", lab::latency_under_load, "start() of a Task with the pool as its executor");
    app.add_expert("latency_under_load", lab::latency_under_load_expert, "add() of a function: no coroutine");
    app.add(
        "cachecalc", lab::cachecalc,
        "worker: under blockingWait; strand: StrandExecutor over the pool; mutex: std::mutex on the pool; coro::sleep");
    app.add("cachecalc_sharded", lab::cachecalc_sharded, "a CPUThreadPoolExecutor of one thread a shard");
    app.add("cachecalc_variants", lab::cachecalc_variants, "the document's two programs for Folly");
    app.add("partition_receiver", lab::partition_receiver, "UnboundedQueue for one producer and one consumer");
    app.add("record_path", lab::record_path,
            "BoundedQueue to each partition; shared: a coro::Mutex, taken for each record");
    app.add("fib_tasks", lab::fib_tasks, collect + "; coro::Generator");
    app.add("coroutine_costs", lab::coroutine_costs, "coro::Generator, its frame from operator new");
    app.rest_unsupported("the adapter leaves Folly's I/O out: its rows are those of tasks");
    return app.main(argc, argv);
}
