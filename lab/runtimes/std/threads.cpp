#include "threads.hpp"

#include "board.hpp"
#include "definitions.hpp"
#include "inplace_vector.hpp"
#include "loads.hpp"
#include "matrices.hpp"
#include "uts.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <limits>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <vector>

namespace lab {
namespace {

// The first number of a file of the kernel; no limit where there is none ("max", or no such file).
std::uint64_t limit_in(const char* path) {
    std::uint64_t limit = 0;
    return std::ifstream{path} >> limit ? limit : std::numeric_limits<std::uint64_t>::max();
}

// How many threads can exist at once. A finished std::async keeps its stack until its future is waited for, and a stack
// is two mappings, itself and its guard page; so max_map_count is the limit that is met first on most machines.
std::uint64_t thread_limit() {
    rlimit processes{};
    getrlimit(RLIMIT_NPROC, &processes);
    return std::min({limit_in("/proc/sys/vm/max_map_count") / 2, limit_in("/proc/sys/kernel/threads-max"),
                     limit_in("/proc/sys/kernel/pid_max"), limit_in("/sys/fs/cgroup/pids.max"),
                     std::uint64_t{processes.rlim_cur}});
}

void require_threads(std::uint64_t threads) {
    if (const std::uint64_t limit = thread_limit(); threads > limit) {
        throw harness::unsupported_params{"std::async is a thread a task: " + std::to_string(threads) +
                                          " threads, and this system allows about " + std::to_string(limit)};
    }
}

// The limits are the system's, and others use it too: what it refuses in the end is no failure of the runtime.
template <typename Measure>
harness::measured with_threads(std::uint64_t threads, Measure measure) {
    require_threads(threads);
    try {
        return measure();
    } catch (const std::system_error& refused) {
        throw harness::unsupported_params{"std::async is a thread a task: " + std::to_string(threads) +
                                          " threads were refused: " + refused.what()};
    }
}

template <typename Body>
harness::measured measure_threads(const harness::request& r, std::uint64_t threads, Body body) {
    return with_threads(threads, [&] { return harness::measure(r, body); });
}

std::uint64_t fib_of(std::uint64_t n) {
    if (n < 2) {
        return n;
    }
    std::future<std::uint64_t> forked = std::async(std::launch::async, fib_of, n - 1);
    const std::uint64_t second = fib_of(n - 2);
    return second + forked.get();
}

std::uint64_t node(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) {
        return first;
    }
    const std::uint64_t share = leaves / 10;
    std::array<std::future<std::uint64_t>, 10> children;
    for (std::size_t i = 0; i < children.size(); ++i) {
        children[i] = std::async(std::launch::async, node, first + i * share, share);
    }
    std::uint64_t sum = 0;
    for (auto& child : children) {
        sum += child.get();
    }
    return sum;
}

template <std::size_t N>
std::uint64_t completions(harness::board<N> board) {
    if (board.full()) {
        return 1;
    }
    harness::inplace_vector<std::future<std::uint64_t>, N> children;
    for (int row = 0; row < board.size; ++row) {
        if (board.safe(row)) {
            children.push_back(std::async(std::launch::async, completions<N>, board.with(row)));
        }
    }
    std::uint64_t sum = 0;
    for (; !children.empty(); children.pop_back()) {
        sum += children.back().get();
    }
    return sum;
}

void multiply(harness::matrices& matrices, harness::block_product product) {
    if (product.is_leaf()) {
        matrices.multiply(product);
        return;
    }
    for (const auto& round : product.rounds()) {
        std::array<std::future<void>, 4> parts;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            parts[i] = std::async(std::launch::async, multiply, std::ref(matrices), round[i]);
        }
        for (auto& part : parts) {
            part.get();
        }
    }
}

// How many parts of a product of n by n matrices exist at once: four below each that is no leaf, and one round at a
// time.
std::uint64_t parts_at_once(std::uint64_t n) {
    return n <= 32 ? 0 : 4 * (1 + parts_at_once(n / 2));
}

std::uint64_t spawn_then_join(std::uint64_t count, harness::stopwatch& watch) {
    std::vector<std::future<std::uint64_t>> handles;
    handles.reserve(count);
    watch.start();
    for (std::uint64_t i = 0; i < count; ++i) {
        handles.push_back(std::async(std::launch::async, [i] { return i; }));
    }
    std::uint64_t sum = 0;
    for (auto& handle : handles) {
        sum += handle.get();
    }
    watch.stop();
    return sum;
}

std::uint64_t nodes_below(const harness::uts_tree& tree, harness::uts_node node) {
    std::vector<std::future<std::uint64_t>> children;
    for (std::uint32_t c = 0; c < tree.children_of(node); ++c) {
        children.push_back(
            std::async(std::launch::async, nodes_below, std::cref(tree), harness::uts_tree::child_of(node, c)));
    }
    std::uint64_t nodes = 1;
    for (auto& child : children) {
        nodes += child.get();
    }
    return nodes;
}

}  // namespace

harness::measured spawn_join(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    return measure_threads(r, count, [count](harness::stopwatch& watch) { return spawn_then_join(count, watch); });
}

harness::measured memory_after(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    return with_threads(count, [&] {
        return harness::measure_rest(r, [count](harness::stopwatch& watch) { return spawn_then_join(count, watch); });
    });
}

harness::measured unbalanced(const harness::request& r) {
    const harness::uts_tree tree{r};
    return measure_threads(r, tree.nodes() - 1, [&tree] { return nodes_below(tree, tree.root()); });
}

harness::measured yield(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t yields = r.integer("yields");
    return measure_threads(r, tasks, [&](harness::stopwatch& watch) {
        std::vector<std::uint64_t> done(tasks);
        std::latch created{static_cast<std::ptrdiff_t>(tasks) + 1};
        std::vector<std::jthread> threads;
        threads.reserve(tasks);
        for (std::uint64_t& mine : done) {
            threads.emplace_back([&] {
                created.arrive_and_wait();
                std::uint64_t counted = 0;
                for (; counted < yields; ++counted) {
                    std::this_thread::yield();
                }
                mine = counted;
            });
        }
        watch.start();
        created.arrive_and_wait();
        threads.clear();
        watch.stop();
        std::uint64_t total = 0;
        for (const std::uint64_t counted : done) {
            total += counted;
        }
        return total;
    });
}

harness::measured fib(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return measure_threads(r, harness::fib_forks(n), [n] { return fib_of(n); });
}

harness::measured skynet(const harness::request& r) {
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t leaves = harness::skynet_leaves(depth);
    // The root is no thread of its own.
    return measure_threads(r, harness::skynet_tasks(depth) - 1, [leaves] { return node(0, leaves); });
}

harness::measured nqueens(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return harness::with_empty_board(n, [&](auto empty) {
        return measure_threads(r, harness::nqueens_tasks(n) - 1, [empty] { return completions(empty); });
    });
}

harness::measured matmul(const harness::request& r) {
    const std::uint64_t n = r.integer("n");
    return measure_threads(r, parts_at_once(n), [n](harness::stopwatch& watch) {
        watch.start();
        harness::matrices matrices{n};
        multiply(matrices, matrices.whole());
        watch.stop();
        return matrices.right();
    });
}

harness::measured idle_tasks(const harness::request& r) {
    harness::idlers all{r};
    return with_threads(all.count(), [&] {
        return harness::measure_once([&all](harness::stopwatch& watch) {
            all.spawning(watch);
            std::vector<std::future<std::uint64_t>> sleepers;
            sleepers.reserve(all.count());
            for (std::uint64_t i = 0; i < all.count(); ++i) {
                sleepers.push_back(std::async(std::launch::async, [&all] {
                    const auto began = all.falls_asleep();
                    std::this_thread::sleep_for(all.length());
                    return all.wakes(began);
                }));
            }
            while (!all.all_sleep()) {
                std::this_thread::sleep_for(harness::idlers::look);
            }
            all.sleeping(watch);
            std::uint64_t sum = 0;
            for (auto& sleeper : sleepers) {
                sum += sleeper.get();
            }
            return all.answer(sum);
        });
    });
}

// The only timer of the standard library is a thread that sleeps.
harness::measured timer_storm(const harness::request& r) {
    const harness::storm storm{r};
    return measure_threads(r, storm.sleepers(), [&storm](harness::stopwatch& watch) {
        std::vector<std::future<std::uint64_t>> sleepers;
        sleepers.reserve(storm.sleepers());
        watch.start();
        for (std::uint64_t i = 0; i < storm.sleepers(); ++i) {
            sleepers.push_back(std::async(std::launch::async, [length = storm.length(i)] {
                const auto began = harness::storm::clock::now();
                std::this_thread::sleep_for(length);
                return harness::storm::woke(began, length);
            }));
        }
        std::uint64_t sum = 0;
        for (auto& sleeper : sleepers) {
            sum += sleeper.get();
        }
        watch.stop();
        return sum;
    });
}

}  // namespace lab
