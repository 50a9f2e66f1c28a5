#include "workloads.hpp"

#include <string>

namespace {

using workload = harness::measured (*)(const harness::request&, lab::waiting);

// Both dresses are one program: they differ in how a reactor waits for work.
void add(harness::app& app, const std::string& name, workload run, const std::string& note) {
    app.add(
        name, [run](const harness::request& r) { return run(r, lab::waiting::sleeps); }, note + "; --overprovisioned");
    app.add_expert(
        name, [run](const harness::request& r) { return run(r, lab::waiting::polls); },
        note + "; --idle-poll-time-us 200, and a CPU for each shard");
}

}  // namespace

int main(int argc, char** argv) {
    harness::app app{"seastar", LAB_SEASTAR_VERSION, "Seastar's, a part of the memory for each shard"};
    add(app, "fork_noop", lab::fork_noop, "co_await of a coroutine on one shard; resource frame_pool only");
    add(app, "call_overhead", lab::call_overhead, "co_await of a coroutine on one shard");
    add(app, "spawn_join", lab::spawn_join, "submit_to of the shards in turn; in place for the caller's own");
    add(app, "yield", lab::yield, "yield(); the tasks are on the shards in turn");
    add(app, "fib_tasks", lab::fib_tasks, "submit_to of the shards in turn");
    add(app, "timer_storm", lab::timer_storm, "each shard makes its own sleepers; sleep()");
    add(app, "idle_tasks", lab::idle_tasks, "submit_to of the shards in turn; sleep()");
    add(app, "outside_wake", lab::outside_wake, "alien::submit_to of the shards in turn");
    add(app, "inject", lab::inject, "alien::run_on of the shards in turn: a function, no coroutine");
    add(app, "latency_under_load", lab::latency_under_load,
        "alien::run_on of the shards in turn: a function, no coroutine");
    add(app, "wait", lab::wait, "sleep() on one shard");
    add(app, "channel_spsc", lab::channel_spsc, "seastar::queue, both sides on one shard");
    app.unsupported("channel_mpmc", "seastar::queue has one producer and one consumer");
    app.unsupported("channel_rendezvous", "seastar::queue does not wait until a value was taken");
    add(app, "mpsc_batches", lab::mpsc_batches, "seastar::queue, both sides on one shard");
    add(app, "mutex_handoff", lab::mutex_handoff, "a semaphore of one unit, all tasks on one shard");
    add(app, "echo_many", lab::echo_many, "a coroutine a connection on one shard");
    add(app, "accept_churn", lab::accept_churn, "a coroutine a connection on one shard");
    add(app, "cachecalc", lab::cachecalc,
        "worker: parallel_for_each on one shard; compute: the floor of this compiler; sleep()");
    add(app, "cachecalc_sharded", lab::cachecalc_sharded, "the document's: a sharded<> service, new in each round");
    add(app, "cachecalc_variants", lab::cachecalc_variants,
        "the document's: one cache on shard 0, waits on all shards");
    app.rest_unsupported("the adapter has what one shard does, and all shards without moving a task: they share "
                         "nothing");
    return app.main(argc, argv);
}
