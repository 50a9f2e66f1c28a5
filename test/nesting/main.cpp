// Every combinator and scope nested in itself and in each other, 1 000 to 100 000 deep, on one and on two workers: how
// long a stop takes, and how long the thread that requests it stands still.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

#include "support/nesting.hpp"

namespace {

using pool = coflux::thread_pool_executor;
using nesting = coflux_test::nesting<pool>;

// The promise for an optimised build: seconds of processor time, whatever else the machine does.
constexpr double longest_request = 1e-3;
constexpr double longest_stop = 1.0;
// The growth of the time of a level, from 10 000 of them to 100 000. That of 1 000 is not compared: they lie in the
// caches.
constexpr double most_growth = 2.0;
// The least of these counts: what else runs takes caches, and cores that share their units. Only a limit that was
// passed in all of them was passed by the library.
constexpr int fewest_runs = 3;
constexpr int most_runs = 12;

double seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct figures {
    double request = 1e9;  // seconds that the thread computes
    double stop = 1e9;     // seconds, from the request to the end of all
    double busy = 1e9;     // seconds that the process computes meanwhile

    void keep_least(const figures& other) {
        request = std::min(request, other.request);
        stop = std::min(stop, other.stop);
        busy = std::min(busy, other.busy);
    }
    [[nodiscard]] bool are_bad(double longest_busy) const {
        return request > longest_request || busy > longest_stop || busy > longest_busy;
    }
};

coflux::task<void, pool> stops(coflux::environment&, nesting* of, int levels, figures* f) {
    auto&& here = co_await coflux::context();
    auto all = nesting::made(here, of, levels);
    co_await of->reached.wait();
    co_await std::chrono::milliseconds(1);
    const double begun = seconds(CLOCK_MONOTONIC);
    const double busy = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double before = seconds(CLOCK_THREAD_CPUTIME_ID);
    all.request_stop();
    f->request = seconds(CLOCK_THREAD_CPUTIME_ID) - before;
    (void)co_await coflux::as_outcome(std::move(all));
    f->stop = seconds(CLOCK_MONOTONIC) - begun;
    f->busy = seconds(CLOCK_PROCESS_CPUTIME_ID) - busy;
}

int measure(pool& workers, std::size_t a, std::size_t b, int deepest) {
    int failed = 0;
    double level = 0;  // seconds of processor time
    for (int levels = 1'000; levels <= deepest; levels *= 10) {
        figures best;
        const double longest_busy = levels > 10'000 ? most_growth * level * levels : longest_stop;
        int runs = 0;
        for (; runs < fewest_runs || (runs < most_runs && best.are_bad(longest_busy)); ++runs) {
            auto env = coflux::make_environment(workers);
            nesting of(a, b);
            figures f;
            stops(env, &of, levels, &f).get();
            best.keep_least(f);
        }
        const bool bad = best.are_bad(longest_busy);
        level = best.busy / levels;
        failed += bad ? 1 : 0;
        std::printf("%zu %-24s %-24s %7d levels, %d runs: request %7.1f us, stop %8.3f ms, level %6.0f ns%s\n",
                    workers.size(), nesting::kinds[a].name, nesting::kinds[b].name, levels, runs, 1e6 * best.request,
                    1e3 * best.stop, 1e9 * level, bad ? "  FAILED" : "");
        std::fflush(stdout);
    }
    return failed;
}

}  // namespace

int main(int count, char** arguments) {
    const int deepest = count > 1 ? std::atoi(arguments[1]) : 100'000;
    const std::string only = count > 2 ? arguments[2] : "";
    int failed = 0;
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
        pool workers(threads);
        for (std::size_t a = 0; a != nesting::kinds_count; ++a) {
            for (std::size_t b = a; b != nesting::kinds_count; ++b) {
                if (only.empty() || (a == b && only == nesting::kinds[a].name))
                    failed += measure(workers, a, b, deepest);
            }
        }
    }
    std::printf("%d failed\n", failed);
    return failed == 0 ? 0 : 1;
}
