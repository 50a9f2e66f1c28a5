// Runs each program of the primitives with many seeds.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "options.hpp"
#include "schedules.hpp"
#include "trial.hpp"

namespace coflux_simulations {

programs& all_programs() {
    static programs list;
    return list;
}

namespace {

/// With one seed alone, a program that is generated is printed.
bool says_programs = false;

/// One run. The half of the seeds uses frames of the default pool, which is the path that programs take; the other one
/// counts.
failure run(const program& p, std::uint64_t seed, coflux::testing::chooser& chooser, schedule* made) {
    std::string text;
    counted_frames frames;
    int tokens = 0;
    simulation sim(chooser);
    {
        trial t(seed);
        t.says_programs = says_programs && made == nullptr;
        try {
            if (seed % 2 == 0) {
                auto env = coflux::make_environment(t.first, t.second, &frames);
                p.begin(env, borrowed(t)).join();
            } else {
                auto env = coflux::make_environment(t.first, t.second);
                p.begin(env, borrowed(t)).join();
            }
        } catch (const std::exception& e) {
            text = e.what();
        }
        if (t.broken() != nullptr) text = std::string("does not hold: ") + t.broken();
        tokens = t.live;
    }
    if (text.empty() && frames.live != 0) text = std::to_string(frames.live.load()) + " frames are alive";
    if (text.empty() && tokens != 0) text = std::to_string(tokens) + " values are alive";
    if (made != nullptr) *made = sim.schedule();
    return text;
}

bool explore(const program& p, const options& wanted) {
    for (std::uint64_t seed = wanted.seed; seed != wanted.seed + wanted.seeds; ++seed) {
        announce(p.name, seed);
        seeded_chooser chooser(seed);
        const failure why = run(p, seed, chooser, nullptr);
        if (why.empty()) continue;
        seeded_chooser again(seed);
        schedule failing;
        (void)run(p, seed, again, &failing);
        const auto with = [&](coflux::testing::chooser& c, schedule& made) { return run(p, seed, c, &made); };
        std::fprintf(stderr, "%s fails: --only %s --seeds 1 --seed %llu\n  %s\n  %s\n", p.name, p.name,
                     static_cast<unsigned long long>(seed), why.c_str(), shrunk(with, failing).c_str());
        return false;
    }
    return true;
}

}  // namespace
}  // namespace coflux_simulations

int main(int argc, char** argv) {
    using namespace coflux_simulations;
    options wanted;
    if (!read_options(argc, argv, wanted)) return 2;
    tell_when_aborted();
    says_programs = wanted.seeds == 1;
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t runs = 0;
    bool passed = true;
    for (const program& p : all_programs()) {
        if (std::string(p.name).find(wanted.only) == std::string::npos) continue;
        if (wanted.list) {
            std::printf("%s\n", p.name);
            continue;
        }
        const auto from = std::chrono::steady_clock::now();
        const bool good = explore(p, wanted);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
        if (good)
            std::printf("%-28s %llu seeds, %.2f s\n", p.name, static_cast<unsigned long long>(wanted.seeds),
                        took.count());
        runs += wanted.seeds;
        passed = passed && good;
    }
    if (wanted.list) return 0;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const report figures{"L4",    "primitives", "each primitive in a world of random schedules",
                         "seeds", runs,         took.count(),
                         passed,  wanted.seed};
    return passed && runs != 0 && write_report(wanted, figures) ? 0 : 1;
}
