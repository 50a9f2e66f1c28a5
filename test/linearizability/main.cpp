// Plays and checks histories of Coflux's primitives. See --help, and docs/design/linearizability.md.
#include <array>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linearizability/objects/objects.hpp"
#include "support/iterations.hpp"
#include "support/rung_program.hpp"

namespace {

namespace lin = coflux_test::linearizability;

constexpr const char* usage =
    "usage: coflux_linearizability [--object NAME] [--count N] [--seed S] [--same-seed] [--report FILE]\n"
    "\n"
    "Plays short histories of Coflux's primitives on real threads, and looks for one that no sequential object could have had.\n"
    "  --object NAME   one of them; --list lists them (default: all, each with its share of N)\n"
    "  --count N       histories in all\n"
    "  --seed S        of the first history; the next ones have the next numbers\n"
    "  --same-seed     all N histories from the seed S: programs and delays are the same, the schedule is not\n"
    "  --report FILE   writes what was done as a JSON object\n";

/// Ends the process, with the seed of the history that hangs, when none has ended for a long time.
class hang_watch {
public:
    hang_watch(const lin::pulse& p, std::string_view what) : pulse_(p), what_(what), thread_([this] { watch(); }) {}
    hang_watch(const hang_watch&) = delete;
    hang_watch& operator=(const hang_watch&) = delete;
    ~hang_watch() {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

private:
    void watch() {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            const std::uint64_t before = pulse_.ended.load(std::memory_order_relaxed);
            if (changed_.wait_for(guard, std::chrono::seconds(60), [this] { return over_; })) return;
            if (pulse_.ended.load(std::memory_order_relaxed) != before) continue;
            std::fprintf(stderr, "%s: no history has ended for a minute; seed %" PRIu64 "\n", what_.c_str(),
                         pulse_.seed.load(std::memory_order_relaxed));
            std::abort();
        }
    }

    const lin::pulse& pulse_;
    std::string what_;
    std::mutex lock_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;  // last: it uses the members above
};

/// Histories of one object, on pools of two, three and four threads.
lin::findings check(const lin::object& o, lin::order_of_play order) {
    lin::pulse pulse;
    const hang_watch watch(pulse, o.name);
    lin::findings all;
    const std::uint64_t count = order.count;
    for (std::uint64_t third = 0; third < 3 && !all.failed; ++third) {
        order.count = count * (third + 1) / 3 - count * third / 3;
        order.threads = 2 + third;
        all.add(o.play(order, pulse));
        if (!order.same_seed) order.seed += order.count;
    }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    coflux_test::rung_options options(argc, argv, usage);
    std::vector<lin::object> objects;
    for (const auto& family : {lin::sync_objects(), lin::channel_objects()})
        objects.insert(objects.end(), family.begin(), family.end());
    if (options.flag("--list")) {
        for (const lin::object& o : objects) std::printf("%.*s\n", static_cast<int>(o.name.size()), o.name.data());
        return 0;
    }
    const std::string only = options.text("--object", "");
    const std::string report_file = options.text("--report", "");
    lin::order_of_play order;
    const std::uint64_t count = options.number("--count", coflux_test::repetitions(1'000'000));
    order.seed = options.number("--seed", 1);
    order.same_seed = options.flag("--same-seed");
    options.check();
    if (!only.empty()) {
        std::erase_if(objects, [&](const lin::object& o) { return o.name != only; });
        if (objects.empty()) options.fail("no object is called '" + only + "'");
    }

    coflux_test::rung_report report{"L6",
                                    only.empty() ? "linearizability" : "linearizability of " + only,
                                    "histories on real threads, explained by a sequential object (Wing and Gong)",
                                    0,
                                    "histories",
                                    0,
                                    true,
                                    order.seed};
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < objects.size() && report.passed; ++i) {
        const auto began = std::chrono::steady_clock::now();
        order.count = count * (i + 1) / objects.size() - count * i / objects.size();
        const lin::findings f = check(objects[i], order);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        report.count += f.histories;
        report.passed = !f.failed;
        std::printf("%-16s %8" PRIu64
                    " histories  %5.1f s  %4.1f operations each  %3.0f %% parallel  %4.1f %% of the operations "
                    "stopped  %5.1f configurations a check\n",
                    objects[i].name.data(), f.histories, took.count(),
                    static_cast<double>(f.operations) / static_cast<double>(f.histories),
                    100.0 * static_cast<double>(f.parallel) / static_cast<double>(f.histories),
                    100.0 * static_cast<double>(f.stopped) / static_cast<double>(f.operations),
                    static_cast<double>(f.looked_at) / static_cast<double>(f.histories));
        if (f.failed) {
            std::printf("%s IS NOT LINEARIZABLE: --object %s --seed %" PRIu64 " --same-seed\n%s",
                        objects[i].name.data(), objects[i].name.data(), f.failing_seed, f.picture.c_str());
        }
        std::fflush(stdout);
    }
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (!report_file.empty() && !report.write(report_file)) return 1;
    return report.passed ? 0 : 1;
}
