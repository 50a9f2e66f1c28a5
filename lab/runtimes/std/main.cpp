#include "channels.hpp"
#include "io.hpp"
#include "threads.hpp"

#include <cstdint>
#include <future>
#include <string>

namespace {

// std::async(deferred) is the one thing of the standard library that is created, run inline, awaited and destroyed.
harness::measured fork_noop(const harness::request& r) {
    if (r.text("resource") != "frame_pool") {
        throw harness::unsupported_params{"std::async takes no memory resource; its shared state comes from the heap"};
    }
    const std::uint64_t count = r.integer("count");
    return harness::measure(r, [count] {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            sum += std::async(std::launch::deferred, [](std::uint64_t x) { return x; }, harness::opaque(i)).get();
        }
        return sum;
    });
}

[[gnu::noinline]] std::uint64_t next(std::uint64_t x) {
    return x + 1;
}

// The floor of a call: a function that the optimiser cannot see through, and no coroutine at all.
harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    return harness::measure(r, [calls] {
        std::uint64_t (*const callee)(std::uint64_t) = harness::opaque(&next);
        std::uint64_t x = 0;
        for (std::uint64_t i = 0; i < calls; ++i) {
            x = callee(harness::opaque(x));
        }
        return x;
    });
}

std::string library_version() {
#if defined(__GLIBCXX__)
    return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE) + " (" + std::to_string(__GLIBCXX__) + ")";
#else
    return "libc++ " + std::to_string(_LIBCPP_VERSION);
#endif
}

}  // namespace

int main(int argc, char** argv) {
    const char* no_pool = "the standard library has no pool: std::async starts a thread for each task";
    harness::app app{"std", library_version(), "malloc"};
    app.add("fork_noop", fork_noop, "std::async(launch::deferred).get(); resource frame_pool stands for the heap");
    app.add("call_overhead", call_overhead, "a plain function behind an opaque pointer: the floor of any call");
    app.add("spawn_join", lab::spawn_join, "std::async(launch::async): a thread a task");
    app.add("yield", lab::yield, "std::this_thread::yield in one thread a task; --threads does not apply");
    app.add("fib", lab::fib, "std::async(launch::async): a thread a fork, so small n only");
    app.add("skynet", lab::skynet, "std::async(launch::async): a thread a node, so small depths only");
    app.add("nqueens", lab::nqueens, "std::async(launch::async): a thread a board, so small n only");
    app.add("matmul", lab::matmul, "std::async(launch::async): a thread a part");
    app.add("timer_storm", lab::timer_storm, "std::this_thread::sleep_for in a thread a sleeper, so few sleepers only");
    app.add("cachecalc", lab::cachecalc, "eight threads, std::mutex and std::this_thread::sleep_for; idiom mutex only");
    app.add("cachecalc_sharded", lab::cachecalc_sharded, "a thread a shard, which sleeps through its tasks in turn");
    app.add("channel_spsc", lab::channel_spsc, "mutex, two condition variables and a deque between two threads");
    app.add("channel_mpmc", lab::channel_mpmc, "mutex, two condition variables and a deque; a thread a task");
    app.add("channel_rendezvous", lab::channel_rendezvous, "mutex and two condition variables between two threads");
    app.add("mpsc_batches", lab::mpsc_batches, "mutex, condition variable and a deque between two threads");
    app.add("mutex_handoff", lab::mutex_handoff,
            "std::mutex with a turn and a condition variable a thread: it would let the last owner in again");
    app.add("cachecalc_variants", lab::cachecalc_variants, "the document's four programs for the standard library");
    app.add("partition_receiver", lab::partition_receiver, "two threads and the queue of mpsc_batches");
    app.add("record_path", lab::record_path,
            "a thread for the coordinator and one a partition, with the queue of channel_spsc");
    app.add("fib_tasks", lab::fib_tasks, "std::thread; all are made before the first is joined");
    app.add("coroutine_costs", lab::coroutine_costs, "std::thread; step thread only");
    app.add("wait", lab::wait, "std::this_thread::sleep_for; devzero: reads by an ifstream");
    app.add("echo", lab::echo, "a thread for each side, and calls that block");
    app.add("echo_many", lab::echo_many, "a thread a connection, and calls that block; --threads does not apply");
    app.add("accept_churn", lab::accept_churn, "a new thread for each connection; --threads does not apply");
    app.add("io_socket", lab::io_socket, "a thread for each end of a connection; --threads does not apply");
    app.add("file_read", lab::file_read, "std::filebuf without a buffer");
    app.add("suspend_chain", lab::suspend_chain,
            "mutex, condition variables and a deque of one place; a thread a stage");
    app.add("outside_wake", lab::outside_wake,
            "threads that wait at a mutex, a condition variable and a deque; a future");
    app.add("idle_tasks", lab::idle_tasks, "std::this_thread::sleep_for in a thread a sleeper, so few sleepers only");
    app.add("memory_after", lab::memory_after, "std::async(launch::async): a thread a task, so small bursts only");
    app.add("unbalanced", lab::unbalanced, "std::async(launch::async): a thread a node, so the small tree only");
    for (const char* const name :
         {"echo_pool", "fork_pool", "inject", "latency_under_load", "oversubscribed", "pipeline"}) {
        app.unsupported(name, no_pool);
    }
    for (const char* const name : {"nexmark", "stream_scenarios"}) {
        app.unsupported(name, "no stream engine: its part would be the loop that bare has");
    }
    app.unsupported("fairness",
                    "the standard library has no pool: each task would be a thread, and the kernel would let it begin");
    return app.main(argc, argv);
}
