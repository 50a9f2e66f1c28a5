#include "model.hpp"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include <coflux/base/assert.hpp>

// Relacy replaces the simple forms only, and inline: these call them, so that all forms are replaced, in the whole
// program.
void operator delete(void* p, std::size_t) noexcept {
    ::operator delete(p);
}
void operator delete[](void* p, std::size_t) noexcept {
    ::operator delete[](p);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return ::operator new(size);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
    ::operator delete(p);
}

namespace coflux::model {

void fail_here(const char* what, const std::source_location& place) {
    rl::ctx().fail_test(what, rl::test_result_user_assert_failed, at(place));
}

void let_others_run() noexcept {
    rl::yield(1, at(std::source_location::current()));
}

namespace {

struct options {
    std::uint64_t iterations = 1'000'000;
    std::uint64_t seed = 1;
    bool exhaustive = false;
    std::string only;
    std::string report;
    bool history = false;
    bool usage = false;
};

constexpr const char* usage_text =
    "  --iterations N   random interleavings in all, spread evenly over the scenarios (default 1000000)\n"
    "  --seed N         which ones (default 1)\n"
    "  --exhaustive     instead: all interleavings of the scenarios for which that ends, within their bound\n"
    "  --only NAME      one scenario\n"
    "  --history        what happened in an interleaving that fails, step by step\n"
    "  --report FILE    writes the result as one JSON object\n";

options read(int count, char** arguments) {
    options o;
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        if (name == "--exhaustive") {
            o.exhaustive = true;
        } else if (name == "--history") {
            o.history = true;
        } else if (i + 1 == count) {
            o.usage = true;
        } else if (name == "--iterations") {
            o.iterations = std::stoull(arguments[++i]);
        } else if (name == "--seed") {
            o.seed = std::stoull(arguments[++i]);
        } else if (name == "--only") {
            o.only = arguments[++i];
        } else if (name == "--report") {
            o.report = arguments[++i];
        } else {
            o.usage = true;
        }
    }
    return o;
}

/// A stream that never allocates: what is allocated within an interleaving must be freed within it.
class fixed_buffer : public std::streambuf {
public:
    fixed_buffer() { setp(text_, text_ + sizeof text_); }
    [[nodiscard]] std::string text() const { return std::string(pbase(), pptr()); }

private:
    static inline char text_[1 << 22];
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Prints the failure and its interleaving; the history is long, and printed on demand.
void print_failure(const entry& e, std::uint64_t number, bool history, const std::string& told) {
    if (history) std::cout << told;
    std::istringstream lines(told);
    std::string line;
    std::getline(lines, line);
    std::cout << e.name << ": " << line << " in interleaving " << number
              << (history ? "\n" : "; --history prints it\n");
}

const entry* now_run = nullptr;

/// Relacy's view of a scenario.
template <rl::thread_id_t Threads>
struct suite : rl::test_suite<suite<Threads>, Threads> {
    any_scenario* const running = now_run->make();

    ~suite() {
        delete running;
        forget_atomics();
    }
    void before() {
        ++interleaving;
        running->before();
    }
    void thread(unsigned index) { running->thread(index); }
    void after() { running->after(); }
};

/// True if all held; else the failing interleaving ran again, and printed its history.
template <rl::thread_id_t Threads>
bool simulate_with(rl::test_params& params) {
    rl::ostringstream state;
    const auto run = [&](bool again) {
        if (params.search_type == rl::random_scheduler_type)
            return rl::run_test<suite<Threads>, rl::random_scheduler<Threads>>(params, state, again);
        return rl::run_test<suite<Threads>, rl::context_bound_scheduler<Threads>>(params, state, again);
    };
    const bool passed = run(false) == rl::test_result_success;
    drop_atomics();
    if (passed) return true;
    params.initial_state = state.str();
    params.collect_history = true;
    run(true);
    drop_atomics();
    return false;
}

/// Runs interleavings first … last of the random order, or all; returns how many, or 0 for a failure.
std::uint64_t simulate(const entry& e, std::uint64_t first, std::uint64_t count, const options& o) {
    rl::test_params params;
    fixed_buffer buffer;
    std::ostream told(&buffer);
    std::ostream nowhere(nullptr);
    params.output_stream = &told;
    params.progress_stream = &nowhere;
    params.execution_depth_limit = 20000;
    if (o.exhaustive) {
        params.search_type = rl::fair_context_bound_scheduler_type;
        params.context_bound = e.context_bound == 0 ? ~0U : e.context_bound;
    } else {
        params.search_type = rl::random_scheduler_type;
        params.initial_state = std::to_string(first) + " ";
        params.iteration_count = first + count - 1;
    }
    now_run = &e;
    const bool passed = e.threads == 2   ? simulate_with<2>(params)
                        : e.threads == 3 ? simulate_with<3>(params)
                                         : simulate_with<4>(params);
    if (!passed) {
        print_failure(e, params.stop_iteration - (o.exhaustive ? 0 : first - 1), o.history, buffer.text());
        return 0;
    }
    return o.exhaustive ? params.stop_iteration : count;
}

/// Relacy's random numbers depend on the interleaving's number alone, and bits 32 to 39 choose the generator: four
/// generators for each seed, so that no weakness of one decides what is seen. Those that shift by 16 or more are left
/// out: above 16, bit 16, which chooses between two threads, changes once in up to 65 536 steps, and the interleaving
/// is over its limit while one thread waits for the other.
std::uint64_t sample(const entry& e, std::uint64_t count, const options& o) {
    std::uint64_t done = 0;
    for (std::uint64_t part = 0; part < 4; ++part) {
        const std::uint64_t n = count / 4 + (part < count % 4 ? 1 : 0);
        if (n == 0) continue;
        const std::uint64_t number = o.seed * 4 + part;
        // The shift, less 8, and which increment.
        const std::uint64_t generator = (number & 7) + ((number >> 3) & 15) * 16;
        const std::uint64_t first = (generator << 32) + (o.seed >> 5) * 0x1000000 + 1;
        const std::uint64_t ran = simulate(e, first, n, o);
        if (ran == 0) return 0;
        done += ran;
    }
    return done;
}

}  // namespace

int run(int count, char** arguments, const char* core, const char* what, const std::vector<entry>& scenarios) {
    const options o = read(count, arguments);
    if (o.usage) {
        std::cerr << "usage: " << arguments[0] << " [options]\nModel of " << what << ".\n"
                  << usage_text << "scenarios:\n";
        for (const entry& e : scenarios)
            std::cerr << "  " << e.name << ": " << e.what << (e.ends ? " [search ends]" : "") << '\n';
        return 2;
    }
    std::vector<entry> chosen;
    for (const entry& e : scenarios) {
        if ((o.only.empty() || o.only == e.name) && (!o.exhaustive || e.ends)) chosen.push_back(e);
    }
    if (chosen.empty()) {
        std::cerr << "no such scenario\n";
        return 2;
    }
    const double begun = now();
    std::uint64_t all = 0;
    bool passed = true;
    for (const entry& e : chosen) {
        const double since = now();
        const std::uint64_t share = (o.iterations + chosen.size() - 1) / chosen.size();
        const std::uint64_t ran = o.exhaustive ? simulate(e, 0, 0, o) : sample(e, share, o);
        passed = ran != 0;
        std::printf("%-28s %10llu interleavings%s  %7.2f s  %s\n", e.name, static_cast<unsigned long long>(ran),
                    o.exhaustive ? e.context_bound == 0 ? ", all" : ", all within the bound" : "", now() - since,
                    passed ? "pass" : "FAIL");
        std::fflush(stdout);
        if (!passed) break;
        all += ran;
    }
    const double seconds = now() - begun;
    std::printf("model.%s: %llu interleavings%s, %.2f s, %s\n", core, static_cast<unsigned long long>(all),
                o.exhaustive ? " searched" : "", seconds, passed ? "pass" : "FAIL");
    if (!o.report.empty()) {
        std::ofstream report(o.report);
        report << "{\"rung\": \"L3\", \"unit\": \"interleavings\", \"name\": \"model." << core
               << (o.exhaustive ? ".search" : "") << "\", \"what\": \""
               << (o.exhaustive ? "interleavings searched: " : "random interleavings: ") << what
               << "\", \"count\": " << all << ", \"seconds\": " << seconds << ", \"result\": \""
               << (passed ? "pass" : "fail") << "\", \"seed\": " << o.seed << "}\n";
        if (!report) return 2;
    }
    return passed ? 0 : 1;
}

}  // namespace coflux::model

namespace coflux::detail {

// The library's always-on checks, in a model.
void fail(const char* file, int line, const char* expression, const char* format, ...) noexcept {
    char message[512];
    va_list values;
    va_start(values, format);
    std::vsnprintf(message, sizeof message, format, values);
    va_end(values);
    if (!model::runs()) {
        std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, expression, message);
        std::abort();
    }
    rl::ctx().fail_test(message, rl::test_result_user_assert_failed,
                        rl::debug_info(expression, file, static_cast<unsigned>(line)));
    std::abort();
}

/// In place of src/base/adaptive_lock.cpp.
void yield_processor() noexcept {
    cpu_pause();
}

}  // namespace coflux::detail
