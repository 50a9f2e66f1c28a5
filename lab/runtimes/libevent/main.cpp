#include "workloads.hpp"

#include <event2/event.h>

int main(int argc, char** argv) {
    harness::app app{"libevent", event_get_version(), "malloc"};
    const char* const by_events = "events, and the system's calls";
    app.add("echo", lab::echo, "bufferevents for streams, events for the others; one loop");
    app.add_expert("echo", lab::echo_expert, by_events);
    app.add("echo_many", lab::echo_many, "bufferevents, whose input becomes their output");
    app.add_expert("echo_many", lab::echo_many_expert, by_events);
    app.add("accept_churn", lab::accept_churn, "bufferevents");
    app.add_expert("accept_churn", lab::accept_churn_expert, by_events);
    app.add("io_socket", lab::io_socket, "bufferevents; a loop and a thread for each side");
    app.unsupported("file_read", "libevent waits for what may be ready later, which a file always is");
    for (const char* const name : {"cachecalc",
                                   "cachecalc_sharded",
                                   "cachecalc_variants",
                                   "call_overhead",
                                   "channel_mpmc",
                                   "channel_rendezvous",
                                   "channel_spsc",
                                   "coroutine_costs",
                                   "fairness",
                                   "fib",
                                   "fib_tasks",
                                   "fork_noop",
                                   "fork_pool",
                                   "idle_tasks",
                                   "inject",
                                   "latency_under_load",
                                   "matmul",
                                   "memory_after",
                                   "mpsc_batches",
                                   "mutex_handoff",
                                   "nqueens",
                                   "outside_wake",
                                   "oversubscribed",
                                   "partition_receiver",
                                   "pipeline",
                                   "record_path",
                                   "skynet",
                                   "spawn_join",
                                   "suspend_chain",
                                   "timer_storm",
                                   "unbalanced",
                                   "wait",
                                   "yield"}) {
        app.unsupported(name, "libevent is callbacks for I/O and timers, and no runtime for tasks");
    }
    return app.main(argc, argv);
}
