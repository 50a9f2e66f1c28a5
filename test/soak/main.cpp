// The soak: everything at the same time on many more threads than processors, for a long time. See --help.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "soak/job.hpp"
#include "soak/roster.hpp"
#include "support/rung_program.hpp"

namespace coflux_test::soak {

void expect(bool held, const char* what, const round& in) noexcept {
    if (held) return;
    std::fprintf(stderr, "NOT SO: %s (round with seed %" PRIu64 ")\n", what, in.seed);
    std::abort();
}

namespace {

constexpr const char* usage =
    "usage: coflux_soak [--minutes M | --seconds S] [--seed S] [--oversubscribe K] [--patience S] [--job NAME] [--report FILE]\n"
    "\n"
    "Runs a mixture of everything on K pools, each with as many workers as there are processors, and checks every result.\n"
    "Ctrl-C ends it cleanly. When a coroutine makes no progress it prints what waits where, and aborts.\n"
    "  --minutes M         how long (default: 10)\n"
    "  --seed S            of the first lane (default: 1)\n"
    "  --oversubscribe K   worker threads per processor (default: 8)\n"
    "  --patience S        how many seconds a round may last (default: 120)\n"
    "  --job NAME          only this kind of work; --list lists them\n"
    "  --report FILE       writes what was done as a JSON object\n";

std::atomic<bool> over{false};

using clock_type = std::chrono::steady_clock;

struct work {
    std::vector<job> jobs;
    std::deque<tally> tallies;
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<std::uint64_t> stopped{0};
};

/// Plays one round after the other; half of them are left alone, the rest is stopped or given too little time.
coflux::task<void, pool> plays(coflux::environment&, coflux::borrowed<work> w, coflux::borrowed<lane> l,
                               std::uint64_t seed) {
    auto&& here = co_await coflux::context();
    random_numbers random(seed);
    while (!over.load(std::memory_order_relaxed)) {
        const unsigned which = random.below(static_cast<unsigned>(w->jobs.size()));
        const round r{random(), &w->tallies[which]};
        l->job.store(w->jobs[which].name.data(), std::memory_order_relaxed);
        l->seed.store(r.seed, std::memory_order_relaxed);
        auto playing = w->jobs[which].play(here, r);
        bool stopped = false;
        const bool left_alone = w->jobs.size() == 1;
        if (left_alone) {
            co_await std::move(playing);
        } else if (random.one_in(8)) {
            const auto limit = std::chrono::microseconds(random.below(2000));
            const bool in_time = co_await coflux::timeout(std::move(playing), limit);
            stopped = !in_time;
        } else {
            if (random.one_in(3)) {
                for (unsigned left = random.below(8); left != 0; --left) co_await coflux::yield();
                playing.request_stop();
            }
            const auto end = co_await coflux::as_outcome(std::move(playing));
            if (end.has_error()) std::rethrow_exception(end.error());
            stopped = end.is_stopped();
        }
        if (stopped) w->stopped.fetch_add(1, std::memory_order_relaxed);
        w->rounds.fetch_add(1, std::memory_order_relaxed);
        l->rounds.fetch_add(1, std::memory_order_relaxed);
    }
    l->ended.store(true, std::memory_order_release);  // pairs with the watchdog's load
}

/// Memory that is in use, in MiB.
double resident() {
    std::ifstream in("/proc/self/statm");
    double pages = 0;
    in >> pages >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024 * 1024);
}

struct plan {
    double seconds;
    std::uint64_t seed;
    std::size_t oversubscribe;
    std::size_t processors;
    std::chrono::seconds patience;
};

/// The place of a lane: a pool, and its neighbour for what crosses.
struct site {
    site(pool& here, pool& there) : environment(coflux::make_environment(&memory, here, there)) {}
    coflux::counting_resource memory;
    decltype(coflux::make_environment(&memory, std::declval<pool&>(), std::declval<pool&>())) environment;
};

/// Runs the lanes until the time is over; returns the memory after a fifth of it, and the most after that.
std::pair<double, double> run(work& w, const plan& p) {
    std::deque<pool> pools;
    for (std::size_t i = 0; i < p.oversubscribe; ++i) pools.emplace_back(p.processors);
    // Two lanes for each worker, so that there is always something to steal.
    const std::size_t count = 2 * p.oversubscribe * p.processors;
    std::deque<lane> lanes(count);
    std::deque<site> sites;
    for (std::size_t i = 0; i < count; ++i) {
        sites.emplace_back(pools[i % pools.size()], pools[(i + 1) % pools.size()]);
        lanes[i].root = &sites[i].environment;
    }
    double early = 0;
    double most = 0;
    {
        std::vector<coflux::task<void, pool>> roots;
        for (std::size_t i = 0; i < count; ++i)
            roots.push_back(plays(sites[i].environment, coflux::borrowed(w), coflux::borrowed(lanes[i]), p.seed + i));
        const watchdog watch(lanes, p.patience);

        const clock_type::time_point begun = clock_type::now();
        clock_type::time_point reported = begun;
        for (;;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const clock_type::time_point now = clock_type::now();
            const double gone = std::chrono::duration<double>(now - begun).count();
            const double megabytes = resident();
            if (gone < p.seconds / 5) {
                early = std::max(early, megabytes);
            } else {
                most = std::max(most, megabytes);
            }
            if (now - reported >= std::chrono::seconds(10)) {
                reported = now;
                std::uint64_t operations = 0;
                for (const tally& t : w.tallies) operations += t.operations.load(std::memory_order_relaxed);
                std::printf("%6.0f s  %10" PRIu64 " rounds  %12" PRIu64
                            " operations  %8ld coroutines alive  %6.1f MiB\n",
                            gone, w.rounds.load(std::memory_order_relaxed), operations,
                            alive.load(std::memory_order_relaxed), megabytes);
                std::fflush(stdout);
            }
            if (gone >= p.seconds || over.load(std::memory_order_relaxed)) break;
        }
        over.store(true, std::memory_order_relaxed);
        for (auto& root : roots) root.get();
    }
    for (const site& at : sites) {
        if (at.memory.live() == 0) continue;
        std::fprintf(stderr, "NOT SO: no frame is alive at the end (%zu are)\n", at.memory.live());
        std::abort();
    }
    return {early, most};
}

}  // namespace
}  // namespace coflux_test::soak

int main(int argc, char** argv) {
    using namespace coflux_test::soak;
    coflux_test::rung_options options(argc, argv, usage);
    work w;
    for (const auto& family : {task_jobs(), sync_jobs(), channel_jobs()})
        w.jobs.insert(w.jobs.end(), family.begin(), family.end());
    if (options.flag("--list")) {
        for (const job& j : w.jobs) std::printf("%.*s\n", static_cast<int>(j.name.size()), j.name.data());
        return 0;
    }
    plan p{};
    p.seconds = static_cast<double>(options.number("--minutes", 10)) * 60;
    p.seconds = static_cast<double>(options.number("--seconds", static_cast<std::uint64_t>(p.seconds)));
    p.seed = options.number("--seed", 1);
    p.oversubscribe = std::max<std::size_t>(options.number("--oversubscribe", 8), 2);
    p.processors = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    p.patience = std::chrono::seconds(options.number("--patience", 120));
    const std::string only = options.text("--job", "");
    const std::string report_file = options.text("--report", "");
    options.check();
    if (!only.empty()) {
        w.jobs.insert(w.jobs.end(), faulty_jobs().begin(), faulty_jobs().end());
        std::erase_if(w.jobs, [&](const job& j) { return j.name != only; });
        if (w.jobs.empty()) options.fail("no job is called '" + only + "'");
    }
    while (w.tallies.size() < w.jobs.size()) w.tallies.emplace_back();
    std::signal(SIGINT, [](int) { over.store(true, std::memory_order_relaxed); });

    std::printf("soak: seed %" PRIu64 ", %zu pools of %zu workers, %.0f s\n", p.seed, p.oversubscribe, p.processors,
                p.seconds);
    std::fflush(stdout);
    const clock_type::time_point begun = clock_type::now();
    const auto [early, most] = run(w, p);
    const double seconds = std::chrono::duration<double>(clock_type::now() - begun).count();

    for (std::size_t i = 0; i < w.jobs.size(); ++i) {
        const std::uint64_t n = w.tallies[i].operations.load();
        std::printf("  %-16s %12" PRIu64 " operations  %10.0f a second\n", w.jobs[i].name.data(), n,
                    static_cast<double>(n) / seconds);
    }
    bool passed = true;
    if (alive.load() != 0) {
        std::printf("NOT SO: no coroutine is alive at the end (%ld are)\n", alive.load());
        passed = false;
    }
    // The bound is what a short run has not had time to reach, and then half as much again: a leak of one frame a round
    // is far more.
    if (most > 1.5 * early + 64) {
        std::printf("NOT SO: memory is bounded (%.1f MiB after a fifth of the time, %.1f MiB later)\n", early, most);
        passed = false;
    }
    coflux_test::rung_report report{"L7",
                                    "soak",
                                    "rounds of everything on " + std::to_string(p.oversubscribe) +
                                        " worker threads per processor, stopped at random",
                                    w.rounds.load(),
                                    "rounds",
                                    seconds,
                                    passed,
                                    p.seed};
    std::printf("soak: %" PRIu64 " rounds, %" PRIu64
                " of them stopped, in %.1f s; %.1f MiB, then at most %.1f MiB: %s\n",
                report.count, w.stopped.load(), seconds, early, most, passed ? "pass" : "FAIL");
    if (!report_file.empty() && !report.write(report_file)) return 1;
    return passed ? 0 : 1;
}
