// The main() of a program of scenarios, each of which runs in a simulated world under many seeds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <coflux/testing/explore.hpp>

#include "simulation/options.hpp"

namespace coflux_simulations {

struct scenario {
    const char* name;
    void (*body)();
};

/// Returns: the program's exit code.
inline int run_scenarios(int argc, char** argv, std::span<const scenario> scenarios, const char* name,
                         const char* what) {
    options o;
    if (!read_options(argc, argv, o)) return 2;
    tell_when_aborted();
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t runs = 0;
    bool passed = true;
    for (const scenario& s : scenarios) {
        if (std::string_view(s.name).find(o.only) == std::string_view::npos) continue;
        announce(s.name, o.seed);
        const auto r = coflux::testing::explore({.runs = static_cast<std::size_t>(o.seeds), .first_seed = o.seed},
                                                [&s](coflux::testing::simulation&) { s.body(); });
        runs += r.runs;
        if (r.ok()) {
            std::printf("%-24s %zu runs, %zu different  pass\n", s.name, r.runs, r.distinct);
            continue;
        }
        const std::string& failed = r.failure->what;
        std::printf("%s: %s in run %zu\n%s\n", s.name, failed.substr(0, failed.find('\n')).c_str(), r.runs,
                    r.report().c_str());
        passed = false;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    const bool written = write_report(o, {"L4", name, what, "runs", runs, seconds.count(), passed, o.seed});
    return !written ? 2 : passed ? 0 : 1;
}

}  // namespace coflux_simulations
