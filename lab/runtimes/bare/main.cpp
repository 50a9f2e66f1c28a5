// The floor: coroutines written by hand for one workload each, with nothing but what the workload needs. No structure,
// no stop, no errors, no other thread; ramps are not inlined, because an elided coroutine is no coroutine.
#include "cachecalc.hpp"
#include "crew.hpp"
#include "definitions.hpp"
#include "fresh_pages.hpp"
#include "harness.hpp"
#include "io.hpp"
#include "nexmark/loop.hpp"
#include "nexmark_work.hpp"
#include "pinning.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory_resource>
#include <new>
#include <utility>
#include <vector>

namespace {

/// A thread's free lists by 32-byte class; never given back.
struct free_lists {
    struct block {
        block* next;
    };
    static constexpr std::size_t classes = 16;
    static inline constinit thread_local block* heads[classes]{};

    static void* take(std::size_t size) {
        const std::size_t c = (size - 1) / 32;
        if (c >= classes) {
            return ::operator new(size);
        }
        if (block* const b = heads[c]) {
            heads[c] = b->next;
            return b;
        }
        return ::operator new((c + 1) * 32);
    }
    static void give(void* p, std::size_t size) noexcept {
        const std::size_t c = (size - 1) / 32;
        if (c >= classes) {
            return ::operator delete(p);
        }
        heads[c] = ::new (p) block{heads[c]};
    }
};

struct frames_from_lists {
    static void* operator new(std::size_t size) { return free_lists::take(size); }
    static void operator delete(void* p, std::size_t size) noexcept { free_lists::give(p, size); }
};

/// The resource is a parameter, remembered behind the frame.
struct frames_from_resource {
    static void* operator new(std::size_t size, std::pmr::memory_resource& memory, std::uint64_t) {
        void* const p = memory.allocate(size + sizeof(void*));
        ::new (static_cast<char*>(p) + size) std::pmr::memory_resource*(&memory);
        return p;
    }
    static void operator delete(void* p, std::size_t size) noexcept {
        std::pmr::memory_resource* const memory =
            *std::launder(reinterpret_cast<std::pmr::memory_resource**>(static_cast<char*>(p) + size));
        memory->deallocate(p, size + sizeof(void*));
    }
};

/// Runs when it is made; its result waits in the frame.
template <typename Frames>
struct eager {
    struct promise_type : Frames {
        std::uint64_t value;
        eager get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        void return_value(std::uint64_t v) noexcept { value = v; }
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;

    ~eager() { frame.destroy(); }
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    std::uint64_t await_resume() const noexcept { return frame.promise().value; }
};

/// Runs when it is awaited, by symmetric transfer both ways.
struct lazy {
    struct promise_type : frames_from_lists {
        std::coroutine_handle<> continuation;
        std::uint64_t value;
        lazy get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        struct end_awaiter {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) const noexcept {
                return h.promise().continuation;
            }
            void await_resume() const noexcept {}
        };
        end_awaiter final_suspend() const noexcept { return {}; }
        void return_value(std::uint64_t v) noexcept { value = v; }
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;

    ~lazy() { frame.destroy(); }
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        frame.promise().continuation = h;
        return frame;
    }
    std::uint64_t await_resume() const noexcept { return frame.promise().value; }
};

struct root {
    struct promise_type {
        root get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
};

__attribute__((noinline)) eager<frames_from_lists> listed_child(std::uint64_t i) {
    co_return i;
}
__attribute__((noinline)) eager<frames_from_resource> resource_child(std::pmr::memory_resource&, std::uint64_t i) {
    co_return i;
}

root await_children(std::pmr::memory_resource* memory, std::uint64_t count, harness::stopwatch& watch,
                    std::uint64_t& sum) {
    watch.start();
    if (memory == nullptr) {
        for (std::uint64_t i = 0; i < count; ++i) {
            sum += co_await listed_child(i);
        }
    } else {
        for (std::uint64_t i = 0; i < count; ++i) {
            sum += co_await resource_child(*memory, i);
        }
    }
    watch.stop();
}

std::uint64_t run_in(std::pmr::memory_resource* memory, std::uint64_t count, harness::stopwatch& watch) {
    std::uint64_t sum = 0;
    const root r = await_children(memory, count, watch, sum);
    r.frame.resume();
    r.frame.destroy();
    return sum;
}

harness::measured fork_noop(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::string resource = r.choice("resource", {"monotonic", "fresh", "pool", "frame_pool"});
    harness::measured m;
    if (resource == "frame_pool") {
        m = harness::measure(r, [&](harness::stopwatch& watch) { return run_in(nullptr, count, watch); });
    } else if (resource == "fresh") {
        m = harness::measure(r, [&](harness::stopwatch& watch) {
            const harness::fresh_pages pages{count * 192 + 4096};
            std::pmr::monotonic_buffer_resource monotonic(pages.data(), pages.size());
            return run_in(&monotonic, count, watch);
        });
        m.allocator = "std::pmr monotonic";
    } else {
        std::vector<std::byte> buffer(resource == "monotonic" ? count * 192 + 4096 : std::size_t{1} << 24);
        m = harness::measure(r, [&](harness::stopwatch& watch) {
            std::pmr::monotonic_buffer_resource monotonic(buffer.data(), buffer.size());
            if (resource == "monotonic") {
                return run_in(&monotonic, count, watch);
            }
            std::pmr::unsynchronized_pool_resource pool_resource(&monotonic);
            return run_in(&pool_resource, count, watch);
        });
        m.allocator = "std::pmr " + resource;
    }
    return m;
}

__attribute__((noinline)) lazy next(std::uint64_t x) {
    co_return harness::opaque(x) + 1;
}

root await_calls(std::uint64_t calls, harness::stopwatch& watch, std::uint64_t& x) {
    watch.start();
    for (std::uint64_t i = 0; i < calls; ++i) {
        x = co_await next(x);
    }
    watch.stop();
}

harness::measured call_overhead(const harness::request& r) {
    const std::uint64_t calls = r.integer("calls");
    return harness::measure(r, [&](harness::stopwatch& watch) {
        std::uint64_t x = 0;
        const root body = await_calls(calls, watch, x);
        body.frame.resume();
        body.frame.destroy();
        return x;
    });
}

/// A ready queue of one thread.
class ready_queue {
public:
    explicit ready_queue(std::size_t capacity) : ring_(capacity) {}
    void push(std::coroutine_handle<> h) noexcept { ring_[tail_++ % ring_.size()] = h; }
    void run() {
        while (head_ != tail_) {
            ring_[head_++ % ring_.size()].resume();
        }
    }

private:
    std::vector<std::coroutine_handle<>> ring_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
};

struct yield_to {
    ready_queue& queue;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { queue.push(h); }
    void await_resume() const noexcept {}
};

root yielder(ready_queue& queue, std::uint64_t yields, std::uint64_t& done, harness::roll_call& all) {
    all.come();
    while (all.waits()) {
        co_await yield_to{queue};
    }
    for (std::uint64_t i = 0; i < yields; ++i) {
        co_await yield_to{queue};
        ++done;
    }
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    return harness::measure(r, [&](harness::stopwatch& watch) {
        ready_queue queue(64);
        std::vector<root> all;
        std::uint64_t done = 0;
        harness::roll_call roll{tasks};
        for (std::uint64_t t = 0; t < tasks; ++t) {
            all.push_back(yielder(queue, yields, done, roll));
            queue.push(all.back().frame);
        }
        watch.start();
        queue.run();
        watch.stop();
        for (const root& t : all) {
            t.frame.destroy();
        }
        return roll.complete() ? done : 0;
    });
}

// Whatever the idiom: the floor is beside each of them.
harness::measured cachecalc(const harness::request& r) {
    const harness::cache_work work{r};
    return harness::measure(r, [&work] { return work.compute_alone(); });
}

// The shards do not wait for one another between the rounds.
harness::measured cachecalc_sharded(const harness::request& r) {
    const harness::cache_work work{r};
    const std::uint64_t shards = r.integer("shards");
    return harness::measure(r, [&work, shards](harness::stopwatch& watch) {
        std::atomic<std::uint64_t> sum{0};
        harness::crew threads{shards};
        for (std::uint64_t shard = 0; shard < shards; ++shard) {
            threads.add([&work, &sum, shard] {
                harness::pin_this_thread(shard);
                sum.fetch_add(work.compute_alone());
            });
        }
        threads.run(watch);
        return sum.load();
    });
}

// The plain loop, whatever the path.
harness::measured record_path(const harness::request& r) {
    const harness::record_work work{r};
    return harness::measure(r, [&work] {
        harness::engine own{work};
        for (std::uint64_t b = 0; b < work.batches(); ++b) {
            own.process(work.read(b));
        }
        return own.answer();
    });
}

harness::measured nexmark(const harness::request& r) {
    const harness::nexmark_work work{r};
    return harness::measure(r, [&work] { return lab::nexmark::run_loop(work.query, work.events).value(); });
}

}  // namespace

int main(int argc, char** argv) {
    harness::app app{"bare", "1", "free lists by hand"};
    app.add("fork_noop", fork_noop, "an eager coroutine whose result waits in its frame");
    app.add("call_overhead", call_overhead, "a lazy coroutine, symmetric transfer both ways");
    app.add("yield", yield, "a ready queue on one thread, whatever --threads says");
    app.add("cachecalc", cachecalc, "the calculations alone, on one thread, whatever the idiom");
    app.add("cachecalc_sharded", cachecalc_sharded, "the calculations alone, on a thread a shard");
    app.add("echo", bare::echo, "epoll by hand, level-triggered; shared memory by spinning and by semaphores");
    app.add("echo_many", bare::echo_many, "epoll by hand, level-triggered");
    app.add("accept_churn", bare::accept_churn, "epoll by hand, level-triggered");
    app.add("io_socket", bare::io_socket, "epoll by hand, level-triggered, a thread for each side");
    app.add("file_read", bare::file_read, "pread");
    const char* const ring = "io_uring by its system calls, DEFER_TASKRUN";
    app.add_dress("echo", "ring", bare::echo_on_ring, ring);
    app.add_dress("echo_many", "ring", bare::echo_many_on_ring, ring);
    app.add_dress("accept_churn", "ring", bare::accept_churn_on_ring, ring);
    app.add_dress("io_socket", "spin", bare::io_socket_that_spins,
                  "epoll by hand, which looks again and again and never sleeps");
    app.add_dress("io_socket", "ring", bare::io_socket_on_ring, ring);
    app.add_dress("file_read", "ring", bare::file_read_on_ring, ring);
    app.add("cachecalc_variants", cachecalc, "the calculations alone, on one thread, whatever the variant");
    app.add("dispatcher", lab::dispatcher, "clone: unordered maps by name");
    app.add("fib_tasks", lab::fib_tasks, "one thread, whatever --threads says");
    app.add("coroutine_costs", lab::coroutine_costs, "frames from the heap, or from one free list");
    app.add("record_path", record_path, "the plain loop on one thread, whatever the path");
    app.add("nexmark", nexmark, "a loop for each query, on one thread");
    app.add("nexmark_source", lab::nexmark_source, "all events are read into memory; then the loop of nexmark");
    app.add("stream_scenarios", lab::stream_scenarios, "a loop for each scenario, on one thread");
#ifdef LAB_HAS_KAFKA
    app.add("kafka_job", lab::kafka_job, "librdkafka by hand, batches of its queue");
#else
    app.unsupported("kafka_job", "built without librdkafka: install librdkafka-dev");
#endif
    app.unsupported("wait", "to wait is the system's: std has it");
    app.unsupported("echo_pool", "a pool whose workers share connections would be a runtime: echo_many is the floor");
    app.unsupported("partition_receiver",
                    "hand-written coroutines have no scheduler; a floor for this would be a runtime");
    for (const char* const name :
         {"fork_pool",      "pipeline",     "spawn_join",         "fib",          "skynet",
          "nqueens",        "matmul",       "channel_spsc",       "channel_mpmc", "channel_rendezvous",
          "fairness",       "mpsc_batches", "mutex_handoff",      "timer_storm",  "suspend_chain",
          "outside_wake",   "inject",       "latency_under_load", "idle_tasks",   "memory_after",
          "oversubscribed", "unbalanced"}) {
        app.unsupported(name, "hand-written coroutines have no scheduler; a floor for this would be a runtime");
    }
    return app.main(argc, argv);
}
