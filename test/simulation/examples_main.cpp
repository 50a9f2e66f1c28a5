// Runs an example, as it is, in simulated worlds: linked with its object file, whose main() is called once for each
// seed.
//
// The linker gives us what the example and the library mean by main, printf and the waits of a thread (--wrap,
// CMakeLists.txt): output is compared with what is expected, and a thread that would block lets the simulation go on.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

#include <linux/futex.h>
#include <sys/syscall.h>

#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/task.hpp>
#include <coflux/testing/fault_point.hpp>
#include <coflux/testing/simulation.hpp>

#include "allocation_faults.hpp"
#include "injection.hpp"
#include "isolated.hpp"
#include "options.hpp"
#include "schedules.hpp"

namespace coflux_simulations {
namespace {

using coflux::testing::simulation;

std::string printed;

/// The simulation that a thread outside all coroutines may drive, or nullptr.
simulation* idle_world() noexcept {
    return coflux::detail::this_thread.current == nullptr ? simulation::current() : nullptr;
}

/// Instead of a wait of the thread.
void steps(simulation& world) {
    const main_waits here;
    if (world.step()) return;
    std::fputs("deadlock: main() waits, and no coroutine can run\n", stderr);
    std::abort();
}

}  // namespace
}  // namespace coflux_simulations

using coflux_simulations::idle_world;
using coflux_simulations::printed;
using coflux_simulations::simulation_at_work;

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier): the names that the linker gives
int __real_main(int, char**);
long __real_syscall(long number, ...);
int __real_sched_yield();

int __wrap_printf(const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const simulation_at_work here;
    printed += line;
    return length;
}
int __wrap_puts(const char* line) {
    const simulation_at_work here;
    printed += line;
    printed += '\n';
    return 1;
}
int __wrap_putchar(int c) {
    const simulation_at_work here;
    printed += static_cast<char>(c);
    return c;
}

/// std::atomic::wait() of the main thread ends in a futex.
long __wrap_syscall(long number, ...) {
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (long& a : arguments) a = va_arg(list, long);
    va_end(list);
    auto* const world = number == SYS_futex ? idle_world() : nullptr;
    if (world == nullptr || (arguments[1] & FUTEX_CMD_MASK) != FUTEX_WAIT)
        return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                              arguments[5]);
    coflux_simulations::steps(*world);
    return 0;  // woken, perhaps for nothing: as a futex may
}
int __wrap_sched_yield() {
    return idle_world() == nullptr ? __real_sched_yield() : 0;
}

void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable*,
                                                                      std::unique_lock<std::mutex>&);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable* of,
                                                                      std::unique_lock<std::mutex>& held) {
    auto* const world = idle_world();
    if (world == nullptr) return __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(of, held);
    held.unlock();
    coflux_simulations::steps(*world);
    held.lock();
}
// NOLINTEND(bugprone-reserved-identifier)

}  // extern "C"

namespace coflux_simulations {
namespace {

std::string expected;
bool compares = false;

/// The main() of the example, without arguments.
int run_main() {
    char name[] = "example";
    char* arguments[] = {name, nullptr};
    return __real_main(1, arguments);
}

/// One run of the example.
failure run(coflux::testing::chooser& chooser, schedule* made) {
    std::string text;
    printed.clear();
    simulation world(chooser);
    try {
        const int status = run_main();
        if (status != 0) text = "main() returned " + std::to_string(status);
    } catch (const std::exception& e) {
        text = e.what();
    }
    if (text.empty() && compares && printed != expected) text = "printed something else:\n" + printed;
    if (made != nullptr) *made = world.schedule();
    return text;
}

bool explore(const options& wanted) {
    for (std::uint64_t seed = wanted.seed; seed != wanted.seed + wanted.seeds; ++seed) {
        announce(wanted.name.c_str(), seed);
        seeded_chooser chooser(seed);
        const failure why = run(chooser, nullptr);
        if (why.empty()) continue;
        seeded_chooser again(seed);
        schedule failing;
        (void)run(again, &failing);
        const auto with = [](coflux::testing::chooser& c, schedule& list) { return run(c, &list); };
        std::fprintf(stderr, "%s fails: --seeds 1 --seed %llu\n  %s\n  %s\n", wanted.name.c_str(),
                     static_cast<unsigned long long>(seed), why.c_str(), shrunk(with, failing).c_str());
        return false;
    }
    return true;
}

/// One run that is stopped at its n-th point. It may print less, and end with an exception: get() finds no value, or
/// the example has one for when nothing succeeds.
failure run_stopped(std::size_t n, std::uint64_t seed, bool& fired) {
    printed.clear();
    std::string text;
    seeded_chooser chooser(seed);
    simulation world(chooser);
    const stop_injection point(world, n);
    try {
        (void)run_main();
    } catch (const coflux::testing::simulation_error& e) {
        text = e.what();
    } catch (const std::exception& e) {
        if (!point.fired()) text = e.what();
    }
    fired = point.fired();
    if (text.empty() && !fired && compares && printed != expected) text = "printed something else:\n" + printed;
    return text;
}

/// A stop at the 1st, 2nd, ... point of some schedules, until a run gets to its end without.
bool inject_stops(const options& wanted, std::uint64_t& points) {
    for (std::uint64_t seed = wanted.seed; seed != wanted.seed + wanted.seeds; ++seed) {
        announce(wanted.name.c_str(), seed);
        bool fired = true;
        for (std::size_t n = 1; fired; n += wanted.stride) {
            announce_point("stop", n);
            const failure why = run_stopped(n, seed, fired);
            points += fired ? 1 : 0;
            if (why.empty()) continue;
            std::fprintf(stderr, "%s fails: a stop at point %zu, --inject stop --seeds 1 --seed %llu\n  %s\n",
                         wanted.name.c_str(), n, static_cast<unsigned long long>(seed), why.c_str());
            return false;
        }
    }
    return true;
}

/// The fault in a run of a process of its own.
struct fault_kind {
    const char* name;
    const char* what;     ///< in reports
    const char* message;  ///< what went wrong, for people
    bool by_await;        ///< an await throws; else an allocation fails
};
constexpr fault_kind fault_kinds[] = {
    {"allocation", "no memory at each allocation of an example", "no memory at allocation", false},
    {"exception", "an exception at each await of an example", "an exception at await", true},
};

/// The end of a run with a fault.
enum ended { unhurt = 10, hurt = 11, stuck = 12, wrong = 13 };

/// One run in which something goes wrong at the n-th point; in a process of its own. It may end with any exception.
int run_with_fault(const fault_kind& kind, std::size_t n, std::uint64_t seed) {
    seeded_chooser chooser(seed);
    simulation world(chooser);
    bool thrown = false;
    if (kind.by_await) {
        world.on_await([&](std::size_t await) {
            if (await != n) return;
            thrown = true;
            throw coflux::testing::injected_fault();
        });
    }
    // A deadlock that was found says more than the error after it, which is not observed.
    std::set_terminate([] {
        if (const simulation* const in = simulation::current(); in != nullptr)
            std::fputs(in->failure().c_str(), stderr);
        std::abort();
    });
    std::string text;
    {
        const allocation_faults point(kind.by_await ? 0 : n);
        try {
            (void)run_main();
        } catch (const coflux::testing::simulation_error& e) {
            const simulation_at_work here;
            std::fputs(e.what(), stderr);
            return stuck;
        } catch (const std::exception& e) {
            const simulation_at_work here;
            if (!allocation_faults::fired() && !thrown) text = e.what();
        }
    }
    if (const std::size_t left = allocation_faults::frames; left != 0)
        text += std::to_string(left) + " frames are left";
    const bool fired = allocation_faults::fired() || thrown;
    if (text.empty() && !fired && compares && printed != expected) text = "printed something else:\n" + printed;
    if (text.empty()) return fired ? hurt : unhurt;
    std::fprintf(stderr, "%s\n", text.c_str());
    return wrong;
}

/// True for an end of a program that does not reckon with an error: memory that must be there, in the words of the
/// check.
bool ends_by_design(const std::string& written) {
    return written.find("out of memory") != std::string::npos;
}

/// Something goes wrong at the 1st, 2nd, ... point, until a run gets to its end without.
bool inject(const fault_kind& kind, const options& wanted, std::uint64_t& points, std::uint64_t& by_design) {
    for (std::uint64_t seed = wanted.seed; seed != wanted.seed + wanted.seeds; ++seed) {
        {
            // Here the simulation allocates what it keeps from run to run, and more than one run needs.
            seeded_chooser chooser(seed);
            simulation world(chooser);
            for (int i = 0; i < 8; ++i) (void)run_main();
        }
        if (wanted.point != 0) {
            const int how = run_with_fault(kind, wanted.point, seed);
            ++points;
            return how == hurt || how == unhurt;
        }
        for (std::size_t n = 1;; n += wanted.stride) {
            printed.clear();
            const ending how = isolated([&kind, n, seed] { return run_with_fault(kind, n, seed); });
            if (how.status == unhurt) break;
            ++points;
            if (how.status == hurt) continue;
            if (how.status != wrong && ends_by_design(how.written)) {
                ++by_design;
                continue;
            }
            std::fprintf(stderr, "%s fails: %s %zu, --inject %s --point %zu --seeds 1 --seed %llu\n%s\n",
                         wanted.name.c_str(), kind.message, n, kind.name, n, static_cast<unsigned long long>(seed),
                         how.written.c_str());
            return false;
        }
    }
    return points != 0;
}

}  // namespace
}  // namespace coflux_simulations

extern "C" int __wrap_main(int argc, char** argv) {  // NOLINT(bugprone-reserved-identifier)
    using namespace coflux_simulations;
    options wanted;
    if (!read_options(argc, argv, wanted)) return 2;
    tell_when_aborted();
    if (std::ifstream file(wanted.expected); file) {
        expected.assign(std::istreambuf_iterator<char>(file), {});
        compares = true;
    }
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t count = wanted.inject.empty() ? wanted.seeds : 0;
    std::uint64_t by_design = 0;
    const fault_kind* const kind = std::find_if(std::begin(fault_kinds), std::end(fault_kinds),
                                                [&](const fault_kind& k) { return wanted.inject == k.name; });
    const bool has_kind = kind != std::end(fault_kinds);
    if (!has_kind && !wanted.inject.empty() && wanted.inject != "stop") {
        std::fprintf(stderr, "--inject %s: there are stop, allocation, exception\n", wanted.inject.c_str());
        return 2;
    }
    const bool passed = wanted.inject.empty() ? explore(wanted)
                        : has_kind            ? inject(*kind, wanted, count, by_design)
                                              : inject_stops(wanted, count);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const char* const unit = wanted.inject.empty() ? "seeds" : "points";
    std::fprintf(stderr, "%-28s %llu %s, %.2f s\n", wanted.name.c_str(), static_cast<unsigned long long>(count), unit,
                 took.count());
    if (by_design != 0)
        std::fprintf(stderr, "%llu of them end the process, as they must\n",
                     static_cast<unsigned long long>(by_design));
    const report figures{wanted.inject.empty() ? "L4" : "L5",
                         wanted.name,
                         wanted.inject.empty() ? "an example in a world of random schedules"
                         : has_kind            ? kind->what
                                               : "a stop at each resumption of an example",
                         unit,
                         count,
                         took.count(),
                         passed,
                         wanted.seed};
    return write_report(wanted, figures) && passed ? 0 : 1;
}
