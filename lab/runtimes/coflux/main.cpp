#include "harness.hpp"
#include "io.hpp"
#include "workloads.hpp"

#include <coflux/version.hpp>

#include <utility>

int main(int argc, char** argv) {
    harness::app app{"coflux", COFLUX_VERSION, "coflux frame pool"};
    constexpr const char* serial = "the same coroutines on a worker_executor: one thread, whatever --threads says";
    app.add("fork_noop", lab::fork_noop, "fork on noop_executor, awaited at once");
    constexpr const char* by_hand = "the forks are awaited by hand, from the youngest on";
    app.add("fork_pool", lab::fork_pool, "forks of a pool task; final: kept in a vector, under when_all");
    app.add_expert("fork_pool", lab::fork_pool_expert,
                   "immediate: each child is a call; final: awaited by hand, from the youngest on");
    app.add("pipeline", lab::pipeline, "each stage is a fork on the pool");
    app.add_expert("pipeline", lab::pipeline_expert, "each stage is a call");
    app.add("spawn_join", lab::spawn_join, "forks of a pool task, kept in a vector, under when_all");
    app.add_expert("spawn_join", lab::spawn_join_expert, by_hand);
    app.add("yield", lab::yield, "co_await coflux::yield()");
    app.add("call_overhead", lab::call_overhead, "co_await of a call");
    app.add_expert("call_overhead", lab::call_overhead_expert,
                   "the same coroutine on a worker_executor, where a callee runs in its caller's await");
    app.add("fairness", lab::fairness, "a fork whose handle is kept; forks of a pool task, awaited at once");
    app.add("fib", lab::fib, "fork n-1, call n-2, await the fork");
    app.add("skynet", lab::skynet, "an array of ten forks a node, under when_all");
    app.add_expert("skynet", lab::skynet_expert,
                   "nine forks and a call a node; the forks are awaited from the youngest on");
    app.add("nqueens", lab::nqueens, "a fork for each safe row in a vector, under when_all");
    app.add_expert("nqueens", lab::nqueens_expert, by_hand);
    app.add("matmul", lab::matmul, "forks that borrow the matrices, four at a time under when_all");
    app.add("channel_spsc", lab::channel_spsc, "make_spsc; a fork on each side");
    app.add_expert("channel_spsc", lab::channel_spsc_expert, serial);
    app.add("channel_mpmc", lab::channel_mpmc, "dynamic_channel, closed after the last send");
    app.add_expert("channel_mpmc", lab::channel_mpmc_expert, serial);
    app.add("channel_rendezvous", lab::channel_rendezvous, "channel<T[]>");
    app.add("mpsc_batches", lab::mpsc_batches, "make_unbounded_mpsc of vectors");
    app.add_expert("mpsc_batches", lab::mpsc_batches_expert, serial);
    app.add("mutex_handoff", lab::mutex_handoff, "co_await of mutex.lock(); first come, first served");
    app.add("timer_storm", lab::timer_storm, "co_await of sleep_for in a fork a sleeper");
    app.add_expert("timer_storm", lab::timer_storm_expert, serial);
    app.add("cachecalc", lab::cachecalc,
            "a fork a task, on a worker_executor, on a strand, or under a mutex on a pool");
    app.add("cachecalc_sharded", lab::cachecalc_sharded, "a shard_group, a fork a task");
    app.unsupported("cachecalc_variants", "the document's programs for other runtimes; Coflux's stand under cachecalc");
    app.add("partition_receiver", lab::partition_receiver,
            "make_unbounded_mpsc between two forks; parks: a receive that waits");
    app.add("record_path", lab::record_path, "make_spsc to each partition; shared: a mutex, taken for each record");
    app.add_dress(
        "record_path", "stream", lab::record_path_as_jobs,
        "a stream job a path, with a worker a thread and a slot a partition; shared: call_each takes the mutex");
    app.add("stream_scenarios", lab::stream_scenarios,
            "a stream job a scenario, with a worker a thread and a slot a partition");
    app.add("nexmark", lab::nexmark_query, "a stream job a query, with one worker; values are pointers to events");
    app.add("nexmark_source", lab::nexmark_source, "a stream job a query, with one worker; values are events");
#ifdef LAB_HAS_KAFKA
    app.add("kafka_job", lab::kafka_job, "a stream job on Kafka, with one worker");
#else
    app.unsupported("kafka_job", "built without coflux::kafka: install librdkafka-dev");
#endif
    app.add("dispatcher", lab::dispatcher,
            "forks of a pool task under when_all; make_unbounded_mpsc between two forks; co_await of sleep_for");
    app.add("fib_tasks", lab::fib_tasks, "a fork a task on the pool; a generator");
    app.add("coroutine_costs", lab::coroutine_costs, "a generator, its frame from the frame pool");
    app.add("wait", lab::wait, "co_await of sleep_for on a worker_executor");
    app.add("suspend_chain", lab::suspend_chain, "make_spsc of one place between two forks");
    app.add("outside_wake", lab::outside_wake, "get() of a task");
    app.add("inject", lab::inject, "spawn() of a task_scope that a task keeps open");
    app.add("latency_under_load", lab::latency_under_load, "spawn() of a task_scope that a task keeps open");
    app.add("idle_tasks", lab::idle_tasks, "co_await of sleep_for in a fork a sleeper");
    app.add("memory_after", lab::memory_after, "forks of a pool task, as in spawn_join");
    app.add_expert("memory_after", lab::memory_after_expert, by_hand);
    app.add("oversubscribed", lab::oversubscribed, "dynamic_channel; forks of a pool task, as in spawn_join");
    app.add("unbalanced", lab::unbalanced, "a fork for each child in a vector, under when_all");
    app.add_expert("unbalanced", lab::unbalanced_expert, by_hand);
    app.add("echo", lab::echo, "forks on a worker_executor; read_exactly and write_all, receive and send");
    app.add("echo_many", lab::echo_many, "serve() on a worker_executor; read_some and write_all in a call");
    app.add("echo_pool", lab::echo_pool, "serve() on a thread_pool, which has epoll; a task that computes and yields");
    app.add("accept_churn", lab::accept_churn, "serve() on a worker_executor; read_some and write_all in a call");
    app.add("io_socket", lab::io_socket, "a worker_executor for each side, a fork a connection");
    app.add("file_read", lab::file_read, "co_await of file.read_at() on a worker_executor");
    using io_workload = std::pair<const char*, harness::measured (*)(const harness::request&)>;
    for (const auto& [name, run] :
         {io_workload{"echo", lab::echo}, io_workload{"echo_many", lab::echo_many},
          io_workload{"accept_churn", lab::accept_churn}, io_workload{"io_socket", lab::io_socket},
          io_workload{"file_read", lab::file_read}}) {
        app.add_dress(name, "epoll", lab::on_epoll(run), "with COFLUX_IO=epoll");
    }
    return app.main(argc, argv);
}
