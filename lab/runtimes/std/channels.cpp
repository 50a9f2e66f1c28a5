// Channels and locks between threads: mutexes and condition variables.
#include "channels.hpp"

#include "crew.hpp"
#include "definitions.hpp"
#include "loads.hpp"
#include "pinning.hpp"
#include "queue.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lab {

harness::measured channel_spsc(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    const std::uint64_t capacity = r.integer("capacity");
    return harness::measure(r, [=](harness::stopwatch& watch) {
        blocking_queue<std::uint64_t> queue{capacity};
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&queue, count] {
            for (std::uint64_t i = 1; i <= count; ++i) {
                queue.push(i);
            }
            queue.close();
        });
        threads.add([&queue, &sum] {
            while (const auto value = queue.pop()) {
                sum.add(*value);
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

harness::measured channel_mpmc(const harness::request& r) {
    const std::uint64_t capacity = r.integer("capacity");
    const std::uint64_t consumers = r.integer("consumers");
    const std::vector<harness::share> shares = harness::shares_of(r);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        blocking_queue<std::uint64_t> queue{capacity};
        std::atomic<std::uint64_t> sending{shares.size()};
        std::atomic<std::uint64_t> sum{0};
        harness::crew threads{shares.size() + consumers};
        for (const harness::share mine : shares) {
            threads.add([&queue, &sending, mine] {
                for (std::uint64_t i = mine.first; i <= mine.last; ++i) {
                    queue.push(i);
                }
                if (sending.fetch_sub(1) == 1) {
                    queue.close();
                }
            });
        }
        for (std::uint64_t c = 0; c < consumers; ++c) {
            threads.add([&queue, &sum] {
                std::uint64_t mine = 0;
                while (const auto value = queue.pop()) {
                    mine += *value;
                }
                sum.fetch_add(mine);
            });
        }
        threads.run(watch);
        return sum.load();
    });
}

harness::measured channel_rendezvous(const harness::request& r) {
    const std::uint64_t count = r.integer("count");
    return harness::measure(r, [count](harness::stopwatch& watch) {
        rendezvous channel;
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&channel, count] {
            for (std::uint64_t i = 1; i <= count; ++i) {
                channel.give(i);
            }
        });
        threads.add([&channel, &sum, count] {
            for (std::uint64_t i = 0; i < count; ++i) {
                sum.add(channel.take());
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

harness::measured mpsc_batches(const harness::request& r) {
    const std::uint64_t batches = r.integer("batches");
    const std::uint64_t batch = r.integer("batch");
    return harness::measure(r, [=](harness::stopwatch& watch) {
        using numbers = std::vector<std::uint64_t>;
        blocking_queue<numbers> queue{blocking_queue<numbers>::unbounded};
        harness::ordered_sum sum;
        harness::crew threads{2};
        threads.add([&queue, batches, batch] {
            for (std::uint64_t b = 0; b < batches; ++b) {
                queue.push(harness::batch_of(b, batch));
            }
            queue.close();
        });
        threads.add([&queue, &sum] {
            while (const auto received = queue.pop()) {
                sum.add(harness::sum_of(*received));
            }
        });
        threads.run(watch);
        return sum.value();
    });
}

// One value at a time, so that each stage waits when its value comes.
harness::measured suspend_chain(const harness::request& r) {
    const std::uint64_t chains = r.integer("chains");
    const std::uint64_t depth = r.integer("depth");
    const std::uint64_t values = r.integer("values");
    return harness::measure(r, [=](harness::stopwatch& watch) {
        using place = blocking_queue<std::uint64_t>;
        std::list<place> places;
        std::atomic<std::uint64_t> sum{0};
        harness::crew threads{chains * (depth + 1)};
        for (std::uint64_t c = 0; c < chains; ++c) {
            place& first = places.emplace_back(1);
            for (std::uint64_t d = 0; d < depth; ++d) {
                place& from = places.back();
                place& to = places.emplace_back(1);
                threads.add([&from, &to, values] {
                    for (std::uint64_t i = 0; i < values; ++i) {
                        to.push(*from.pop() + 1);
                    }
                });
            }
            threads.add([&first, &last = places.back(), &sum, values] {
                for (std::uint64_t i = 0; i < values; ++i) {
                    first.push(i);
                    sum.fetch_add(*last.pop());
                }
            });
        }
        threads.run(watch);
        return sum.load();
    });
}

// Threads that wait at a queue are the nearest thing to a pool.
harness::measured outside_wake(const harness::request& r) {
    harness::stay_on(r.integer("cpus"));
    using question = std::packaged_task<std::uint64_t()>;
    blocking_queue<question> questions{blocking_queue<question>::unbounded};
    std::vector<std::jthread> workers;
    for (unsigned w = 0; w < r.workers(); ++w) {
        workers.emplace_back([&questions] {
            while (auto question = questions.pop()) {
                (*question)();
            }
        });
    }
    const harness::measured m = harness::ask_often(r, [&questions](std::uint64_t request) {
        question asked{[request] { return request + 1; }};
        std::future<std::uint64_t> answer = asked.get_future();
        questions.push(std::move(asked));
        return answer.get();
    });
    questions.close();
    return m;
}

// std::mutex lets the thread in that has just unlocked it; a turn and a condition variable for each thread make it a
// lock that goes from one to the next.
harness::measured mutex_handoff(const harness::request& r) {
    const std::uint64_t tasks = r.integer("tasks");
    const std::uint64_t locks = r.integer("locks");
    return harness::measure(r, [tasks, locks](harness::stopwatch& watch) {
        std::mutex mutex;
        std::vector<std::condition_variable> my_turn(tasks);
        std::uint64_t turn = 0;
        std::uint64_t counter = 0;
        std::atomic<std::uint64_t> present{0};
        harness::crew threads{tasks};
        for (std::uint64_t me = 0; me < tasks; ++me) {
            const std::uint64_t next = (me + 1) % tasks;
            threads.add([&, me, next] {
                present.fetch_add(1);
                for (std::uint64_t i = 0; i < locks; ++i) {
                    {
                        std::unique_lock lock{mutex};
                        my_turn[me].wait(lock, [&turn, me] { return turn == me; });
                        const std::uint64_t before = counter;
                        // The first time, until all have come for the lock.
                        while (i == 0 && present.load() < tasks) {
                            std::this_thread::yield();
                        }
                        counter = before + 1;
                        turn = next;
                    }
                    my_turn[next].notify_one();
                }
            });
        }
        threads.run(watch);
        return counter;
    });
}

}  // namespace lab
