// Tasks that wait between two calculations, where to wait is to put a thread to sleep.
#include "cachecalc.hpp"

#include "pinning.hpp"
#include "threads.hpp"

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace lab {
namespace {

// As in the seed document. They share the tasks: a thread for each of a thousand would be mostly the making of threads.
constexpr std::uint64_t sharing_threads = 8;

std::uint64_t run_locked_round(const harness::cache_work& work) {
    harness::cache values;
    std::mutex mutex;
    const auto locked_calc = [&values, &mutex] {
        const std::lock_guard lock{mutex};
        values.calc();
    };
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < sharing_threads; ++t) {
            const std::uint64_t mine = work.tasks / sharing_threads + (t < work.tasks % sharing_threads ? 1 : 0);
            threads.emplace_back([&work, &locked_calc, mine] {
                for (std::uint64_t task = 0; task < mine; ++task) {
                    locked_calc();
                    std::this_thread::sleep_for(work.wait);
                    locked_calc();
                }
            });
        }
    }
    return values.answer();
}

std::uint64_t run_shard(const harness::cache_work& work) {
    harness::cache values;
    for (std::uint64_t task = 0; task < work.tasks; ++task) {
        values.calc();
        std::this_thread::sleep_for(work.wait);
        values.calc();
    }
    return values.answer();
}

}  // namespace

harness::measured cachecalc(const harness::request& r) {
    const harness::cache_work work{r};
    const std::string idiom = r.choice("idiom", {"compute", "worker", "strand", "mutex"});
    if (idiom == "compute") {
        throw harness::unsupported_params("the compiled loop of bare: no idiom of the library's is in it");
    }
    if (idiom != "mutex") {
        throw harness::unsupported_params(
            "the standard library has no executor: one thread would sleep through the tasks one after the other");
    }
    return harness::measure(r, [&work] {
        std::uint64_t sum = 0;
        for (std::uint64_t round = 0; round < work.rounds; ++round) {
            sum += run_locked_round(work);
        }
        return sum;
    });
}

harness::measured cachecalc_sharded(const harness::request& r) {
    const harness::cache_work work{r};
    const std::uint64_t shards = r.integer("shards");
    return harness::measure(r, [&work, shards] {
        std::uint64_t sum = 0;
        for (std::uint64_t round = 0; round < work.rounds; ++round) {
            std::vector<std::uint64_t> answers(shards);
            {
                std::vector<std::jthread> threads;
                for (std::uint64_t s = 0; s < shards; ++s) {
                    threads.emplace_back([&work, &answers, s] {
                        harness::pin_this_thread(s);
                        answers[s] = run_shard(work);
                    });
                }
            }
            for (const std::uint64_t answer : answers) {
                sum += answer;
            }
        }
        return sum;
    });
}

}  // namespace lab
