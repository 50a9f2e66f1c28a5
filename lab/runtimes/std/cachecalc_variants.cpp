// EvaluateIPC's programs for the standard library, as its authors wrote them: a wait burns its thread's time.
#include "cachecalc.hpp"

#include "queue.hpp"
#include "seed_work.hpp"
#include "threads.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace lab {
namespace {

// num_tasks of the document's programs.
constexpr std::uint64_t eight = 8;

struct locked_cache {
    harness::cache values{};
    std::mutex mutex{};

    void calc() {
        const std::lock_guard held{mutex};
        values.calc();
    }
    void calc_wait_calc(std::chrono::microseconds wait) {
        calc();
        harness::read_zeros_for(wait);
        calc();
    }
};

void run_serial(locked_cache& cache, const harness::cache_work& work) {
    for (std::uint64_t task = 0; task < work.tasks; ++task) {
        cache.values.calc();
        harness::read_zeros_for(work.wait);
        cache.values.calc();
    }
}

void run_in_threads(locked_cache& cache, const harness::cache_work& work) {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < eight; ++t) {
        const std::uint64_t mine = work.tasks / eight + (t < work.tasks % eight ? 1 : 0);
        threads.emplace_back([&cache, &work, mine] {
            for (std::uint64_t task = 0; task < mine; ++task) {
                cache.calc_wait_calc(work.wait);
            }
        });
    }
}

// The policy is the default one, which here is a thread a task. The oldest is waited for where eight are on their way.
void run_async(locked_cache& cache, const harness::cache_work& work) {
    std::queue<std::future<void>> on_their_way;
    for (std::uint64_t task = 0; task < work.tasks; ++task) {
        on_their_way.push(std::async([&cache, &work] { cache.calc_wait_calc(work.wait); }));
        if (on_their_way.size() >= eight) {
            on_their_way.front().get();
            on_their_way.pop();
        }
    }
    for (; !on_their_way.empty(); on_their_way.pop()) {
        on_their_way.front().get();
    }
}

class simple_threadpool {
public:
    simple_threadpool() {
        for (std::uint64_t t = 0; t < eight; ++t) {
            threads_.emplace_back([this] {
                while (const auto job = jobs_.pop()) {
                    (*job)();
                }
            });
        }
    }
    ~simple_threadpool() { jobs_.close(); }
    simple_threadpool(const simple_threadpool&) = delete;
    simple_threadpool& operator=(const simple_threadpool&) = delete;

    void enqueue(std::function<void()> job) { jobs_.push(std::move(job)); }

private:
    blocking_queue<std::function<void()>> jobs_{blocking_queue<std::function<void()>>::unbounded};
    std::vector<std::jthread> threads_;
};

void run_on_simple_threadpool(locked_cache& cache, const harness::cache_work& work) {
    std::atomic<std::uint64_t> done{0};
    simple_threadpool pool;
    for (std::uint64_t task = 0; task < work.tasks; ++task) {
        pool.enqueue([&cache, &work, &done] {
            cache.calc_wait_calc(work.wait);
            done.fetch_add(1);
        });
    }
    while (done.load() < work.tasks) {
        std::this_thread::yield();
    }
}

}  // namespace

harness::measured cachecalc_variants(const harness::request& r) {
    const harness::cache_work work{r};
    const std::string variant = r.text("variant");
    if (variant.starts_with("boost_") || variant.starts_with("folly_") || variant.starts_with("seastar_")) {
        throw harness::unsupported_params("a program for Boost.Asio, for Folly or for Seastar");
    }
    (void)r.choice("variant", {"serial", "mutex", "async", "simple_threadpool"});
    const auto run = variant == "serial"  ? run_serial
                     : variant == "mutex" ? run_in_threads
                     : variant == "async" ? run_async
                                          : run_on_simple_threadpool;
    return harness::measure(r, [&work, run] {
        std::uint64_t sum = 0;
        for (std::uint64_t round = 0; round < work.rounds; ++round) {
            locked_cache cache;
            run(cache, work);
            sum += cache.values.answer();
        }
        return sum;
    });
}

}  // namespace lab
