// Coroutines by hand that only compute, and the steps of a coroutine's life.
#include "coroutine_steps.hpp"
#include "dispatcher.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace lab {
namespace {

// Frames from a list, in which one waits that was given back; never more than one size, and one thread.
struct listed {
    struct block {
        block* next;
    };
    static inline constinit block* free = nullptr;

    static void* operator new(std::size_t size) {
        if (block* const first = free) {
            free = first->next;
            return first;
        }
        return ::operator new(size);
    }
    static void operator delete(void* p, std::size_t) noexcept { free = ::new (p) block{free}; }
};

struct from_the_heap {};

// Owns a coroutine that is suspended before its body begins, as the document's.
template <typename Frames>
class owner {
public:
    struct promise_type : Frames {
        std::uint64_t value = 0;
        owner get_return_object() noexcept { return owner{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        std::suspend_always yield_value(std::uint64_t v) noexcept {
            value = v;
            return {};
        }
        void return_value(std::uint64_t v) noexcept { value = v; }
        void unhandled_exception() noexcept { std::terminate(); }
    };

    owner(owner&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;
    owner& operator=(owner&&) = delete;
    ~owner() {
        if (frame_) {
            frame_.destroy();
        }
    }
    std::uint64_t resume() {
        frame_.resume();
        return frame_.promise().value;
    }
    // A handle that the optimiser does not know, so that it calls through it.
    [[nodiscard]] std::coroutine_handle<> opaque_handle() const noexcept {
        return std::coroutine_handle<>::from_address(harness::opaque(frame_.address()));
    }

private:
    explicit owner(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}

    std::coroutine_handle<promise_type> frame_;
};

__attribute__((noinline)) owner<from_the_heap> heap_coroutine(std::uint64_t i) {
    co_return i;
}
__attribute__((noinline)) owner<listed> listed_coroutine(std::uint64_t i) {
    co_return i;
}

struct endless {
    struct promise_type {
        endless get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
};

endless suspend_for_ever() {
    for (;;) {
        co_await std::suspend_always{};
    }
}

owner<from_the_heap> computing(std::uint64_t n) {
    co_return harness::fib_by_recursion(n);
}

owner<from_the_heap> generating(std::uint64_t n) {
    for (;;) {
        co_yield harness::fib_by_recursion(n);
    }
}

__attribute__((noinline)) owner<from_the_heap> counting(std::uint64_t from) {
    for (;; ++from) {
        co_yield from;
    }
}

std::uint64_t compute_in_coroutines(std::uint64_t n, std::uint64_t tasks) {
    std::uint64_t sum = 0;
    for (std::uint64_t t = 0; t < tasks; ++t) {
        auto one = computing(n);
        sum += one.resume();
    }
    return sum;
}

std::uint64_t compute_in_a_generator(std::uint64_t n, std::uint64_t tasks) {
    auto all = generating(n);
    std::uint64_t sum = 0;
    for (std::uint64_t t = 0; t < tasks; ++t) {
        sum += all.resume();
    }
    return sum;
}

std::uint64_t compute(std::uint64_t n, std::uint64_t tasks) {
    std::uint64_t sum = 0;
    for (std::uint64_t t = 0; t < tasks; ++t) {
        sum += harness::fib_by_recursion(n);
    }
    return sum;
}

// As the document's clock.
void read_time_stamp() {
#if defined(__x86_64__)
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("mfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
#else
    throw harness::unsupported_params("only x86 has rdtsc");
#endif
}

// The size of the frame of the document's coroutine.
constexpr std::size_t frame_size = 48;

template <typename Step>
harness::measured measure_steps(const harness::request& r, Step step) {
    const std::uint64_t count = r.integer("count");
    return harness::measure(
        r, [count, step](harness::stopwatch& watch) { return harness::timed_steps(watch, count, step); });
}

}  // namespace

harness::measured fib_tasks(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    const std::uint64_t tasks = r.integer("tasks");
    const std::string shape = harness::shape_of(r);
    if (shape == "thread" || shape == "held_thread") {
        throw harness::unsupported_params("a thread is the system's: std has it");
    }
    const auto run = shape == "coroutine"   ? compute_in_coroutines
                     : shape == "generator" ? compute_in_a_generator
                                            : compute;
    return harness::measure(r, [=] { return run(n, tasks); });
}

harness::measured dispatcher(const harness::request& r) {
    const harness::dispatcher_work work{r};
    if (work.what != harness::dispatcher_work::program::clone) {
        throw harness::unsupported_params("needs a scheduler; a record's copy does not");
    }
    return harness::measure(r, [&work] { return harness::copy_records(work.count); });
}

harness::measured coroutine_costs(const harness::request& r) {
    const std::string step = harness::step_of(r);
    if (step == "clock") {
        return measure_steps(r, [](std::uint64_t) { harness::escape(std::chrono::steady_clock::now()); });
    }
    if (step == "rdtsc") {
        return measure_steps(r, [](std::uint64_t) { read_time_stamp(); });
    }
    if (step == "allocate") {
        return measure_steps(r, [](std::uint64_t) {
            void* const p = harness::opaque(::operator new(frame_size));
            ::operator delete(p, frame_size);
        });
    }
    if (step == "create_destroy") {
        return measure_steps(r, [](std::uint64_t i) { harness::escape(heap_coroutine(i)); });
    }
    if (step == "create_destroy_pooled") {
        return measure_steps(r, [](std::uint64_t i) { harness::escape(listed_coroutine(i)); });
    }
    if (step == "create_run_destroy") {
        return measure_steps(r, [](std::uint64_t i) {
            const auto one = heap_coroutine(i);
            one.opaque_handle().resume();
        });
    }
    if (step == "create_live" || step == "destroy_live") {
        const harness::live_steps live{r};
        return harness::measure(
            r, [&live](harness::stopwatch& watch) { return live.timed<owner<from_the_heap>>(watch, heap_coroutine); });
    }
    if (step == "switch") {
        const endless one = suspend_for_ever();
        const harness::measured m = measure_steps(r, [&one](std::uint64_t) {
            std::coroutine_handle<>::from_address(harness::opaque(one.frame.address())).resume();
        });
        one.frame.destroy();
        return m;
    }
    if (step == "co_yield") {
        auto all = counting(0);
        return measure_steps(r, [&all](std::uint64_t) {
            all.opaque_handle().resume();
            harness::escape(all);
        });
    }
    throw harness::unsupported_params("a thread is the system's: std has it");
}

}  // namespace lab
