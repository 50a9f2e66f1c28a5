// Random programs on the threads of a pool, whose schedules are the machine's: what only threads have, as priorities,
// and what a simulation has not, as processes.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "options.hpp"
#include "trial.hpp"

namespace coflux_simulations {

programs& all_programs() {
    static programs list;
    return list;
}

namespace {

/// One run; empty if all held. Half of the seeds use frames of the default pool.
std::string run(const program& p, std::uint64_t seed, bool says_programs) {
    using coflux::priority;
    counted_frames frames;
    std::string text;
    trial t(seed);
    t.says_programs = says_programs;
    auto high = t.first.at<priority::high>();
    auto low = t.first.at<priority::low>();
    try {
        auto env = seed % 2 == 0 ? coflux::make_environment(&frames, t.first, high, low)
                                 : coflux::make_environment(t.first, high, low);
        p.begin(env, borrowed(t)).join();
    } catch (const std::exception& e) {
        text = e.what();
    }
    if (t.broken() != nullptr) return std::string("does not hold: ") + t.broken();
    if (text.empty() && frames.live != 0) return std::to_string(frames.live.load()) + " frames are alive";
    if (text.empty() && t.live != 0) return std::to_string(t.live.load()) + " parts are alive";
    return text;
}

}  // namespace
}  // namespace coflux_simulations

int main(int argc, char** argv) {
    using namespace coflux_simulations;
    options wanted;
    if (!read_options(argc, argv, wanted)) return 2;
    tell_when_aborted();
    const auto begin = std::chrono::steady_clock::now();
    const program& generated = all_programs().front();
    std::uint64_t runs = 0;
    bool passed = true;
    for (; passed && runs != wanted.seeds; ++runs) {
        const std::uint64_t seed = wanted.seed + runs;
        announce("programs_on_pool", seed);
        const std::string why = run(generated, seed, wanted.seeds == 1);
        if (why.empty()) continue;
        std::fprintf(stderr, "seed %llu: %s; --seeds 1 --seed %llu prints the program\n",
                     static_cast<unsigned long long>(seed), why.c_str(), static_cast<unsigned long long>(seed));
        passed = false;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%llu programs, %.2f s\n", static_cast<unsigned long long>(runs), took.count());
    const report figures{
        "L4",   "programs_on_pool", "random programs on the threads of a pool", "programs", runs, took.count(),
        passed, wanted.seed};
    return passed && runs != 0 && write_report(wanted, figures) ? 0 : 1;
}
