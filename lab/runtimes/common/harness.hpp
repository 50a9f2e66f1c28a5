// The common part of every C++ adapter of the lab: the command line, the clocks and the one JSON object that a run
// prints.
//
//     int main(int argc, char** argv) {
//         harness::app app{"asio", "1.81.0", "malloc"};
//         app.add("yield", yield);                              // harness::measured yield(const harness::request&)
//         app.add_expert("yield", yield_as_experts_do, "why");  // another dress of it: a row of its own
//         app.unsupported("fork_noop", "no inline fork");
//         return app.main(argc, argv);
//     }
#pragma once

#include "latencies.hpp"

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace harness {

// Hides where a value comes from, so that the optimiser can neither fold nor hoist what is computed from it.
template <typename T>
    requires(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*))
[[nodiscard]] inline T opaque(T value) noexcept {
    asm volatile("" : "+r"(value));
    return value;
}

// The parameters are right, but this runtime cannot do them: a row of its own, not a failure.
struct unsupported_params : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws unsupported_params where `bytes` are more than the machine can spare: a runtime whose queue holds a whole tree
// at once would otherwise take the machine down with it instead of leaving a row that says why.
void require_memory(std::uint64_t bytes, std::string_view what);

// More threads than this are refused: each is a stack, and a slip of the finger would take the machine down.
inline constexpr unsigned most_threads = 1'024;

// The command line is wrong: exit status 2.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// One `run`: the numbers that the workload's owner chose. An adapter takes every number from here.
class request {
public:
    request(std::string workload, std::string_view params_json, unsigned threads, unsigned warmup,
            std::chrono::milliseconds least);
    ~request();
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    [[nodiscard]] std::string_view workload() const noexcept { return workload_; }
    [[nodiscard]] unsigned threads() const noexcept { return threads_; }
    [[nodiscard]] unsigned warmup() const noexcept { return warmup_; }
    // The work is done again until its timed parts together are as long as this.
    [[nodiscard]] std::chrono::nanoseconds least() const noexcept { return least_; }
    // These throw usage_error where the parameter is missing, of another kind, or none of the allowed words.
    [[nodiscard]] std::uint64_t integer(std::string_view name) const;
    // Where the workload chooses the threads of the runtime itself: the parameter workers, from 1 to most_threads.
    [[nodiscard]] unsigned workers() const;
    [[nodiscard]] std::string text(std::string_view name) const;
    [[nodiscard]] std::string choice(std::string_view name, std::initializer_list<std::string_view> allowed) const;

private:
    struct parsed;
    std::string workload_;
    std::unique_ptr<const parsed> params_;
    unsigned threads_;
    unsigned warmup_;
    std::chrono::nanoseconds least_;
};

struct measured {
    // The first pass's. Wall and CPU are the sums of all.
    std::uint64_t answer = 0;
    std::int64_t wall_ns = 0;
    std::int64_t cpu_ns = 0;
    std::uint64_t passes = 1;
    // The first pass that answered otherwise, counted from 1, and its answer. 0: none did.
    std::uint64_t differing_pass = 0;
    std::uint64_t differing_answer = 0;
    // Where the parameters choose the allocator; empty means the one that the app was registered with.
    std::string allocator = {};
    // The sum of all passes, from start() to stop(); wall_ns is another time where latencies are what is measured.
    std::int64_t elapsed_ns = 0;
    // Those of all passes together. Where there are any, the run prints p50_ns, p99_ns, p999_ns and max_ns of them.
    latencies waits = {};
    // Further figures, by name; one in nanoseconds ends in _ns. They are the last pass's, so a body whose figures are
    // of all passes sets all of them each time.
    named_figures figures = {};
};

// Wall and process CPU of what lies between start() and stop(). Both may be called on any thread, also on two different
// ones, as long as the calls are ordered; a second start() begins anew.
class stopwatch {
public:
    void start() noexcept;
    void stop() noexcept;
    // As start(), and what was timed before counts too: for steps between which something else must be done.
    void go_on() noexcept;
    // The figures of the pass beside its time. On one thread at a time.
    [[nodiscard]] latencies& waits() noexcept { return waits_; }
    void figure(std::string_view name, double value) { figures_.set(name, value); }
    // Where the pass measures how long each item took, and not how long all took together: wall is the sum of these.
    void item_took(std::chrono::nanoseconds latency);
    // Throws std::logic_error where start() and stop() were not both called.
    [[nodiscard]] measured result(std::uint64_t answer) const;

private:
    // The kernel accounts for a thread when it leaves its processor, at a tick, and when its clock is read: without
    // that the CPU of a thread that runs on counts where the next tick is, which may be behind the part that is timed.
    void account() const noexcept;

    latencies waits_;
    named_figures figures_;
    std::vector<clockid_t> clocks_;  // of the threads that were there at the start
    bool waits_are_the_wall_ = false;
    std::int64_t sum_of_waits_ns_ = 0;
    std::chrono::steady_clock::time_point began_{};
    std::int64_t cpu_began_ns_ = 0;
    std::int64_t wall_ns_ = -1;
    std::int64_t cpu_ns_ = 0;
};

// Adds a further pass to those before it.
void add_pass(measured& all, const measured& next);

// The warm-ups and then as many passes as the request asks for, for a body that is a coroutine and awaits each of them:
//     while (all.more()) { stopwatch watch; ...; all.add(watch.result(answer)); }
class passes {
public:
    explicit passes(const request& r) : warmups_{r.warmup()}, least_{r.least()} {}

    [[nodiscard]] bool more() const noexcept { return measured_ == 0 || all_.elapsed_ns < least_.count(); }
    void add(measured next) {
        if (warmups_ > 0) {
            --warmups_;
        } else if (measured_++ == 0) {
            all_ = std::move(next);
        } else {
            add_pass(all_, next);
        }
    }
    [[nodiscard]] measured result() const { return all_; }

private:
    unsigned warmups_;
    std::chrono::nanoseconds least_;
    std::uint64_t measured_ = 0;
    measured all_;
};

// The part of the process's memory that is in RAM now.
[[nodiscard]] std::uint64_t rss_bytes();

// One pass of what measure() takes, without a warm-up: where memory is measured, a pass before would leave its own.
template <typename Body>
    requires(std::is_invocable_r_v<std::uint64_t, Body&> || std::is_invocable_r_v<std::uint64_t, Body&, stopwatch&>)
[[nodiscard]] measured measure_once(Body&& body) {
    stopwatch watch;
    std::uint64_t answer = 0;
    if constexpr (std::is_invocable_r_v<std::uint64_t, Body&, stopwatch&>) {
        answer = body(watch);
    } else {
        watch.start();
        answer = body();
        watch.stop();
    }
    return watch.result(answer);
}

// The same, for a body that runs one whole pass and returns its answer.
// `body()` is timed as a whole; `body(stopwatch&)` decides itself which part is timed, which a workload with phases
// needs and which keeps the hand-over between the main thread and a pool out of the figure.
template <typename Body>
    requires(std::is_invocable_r_v<std::uint64_t, Body&> || std::is_invocable_r_v<std::uint64_t, Body&, stopwatch&>)
[[nodiscard]] measured measure(const request& r, Body body) {
    passes all{r};
    while (all.more()) {
        all.add(measure_once(body));
    }
    return all.result();
}

using workload_function = std::function<measured(const request&)>;

// One runtime's executable: what it can do, and its main().
class app {
public:
    app(std::string runtime, std::string version, std::string allocator);

    // `note` is for the reader of `describe`: what is special about the idiom.
    void add(std::string workload, workload_function run, std::string note = {});
    // The same workload as the runtime's experts would write it, beside the one that its users write: a row of its own,
    // and the verdict is against the faster of the two. The workload must have been added.
    void add_expert(std::string workload, workload_function run, std::string note);
    // Another dress: on another part of the system, for example. A row of its own, as the expert's.
    void add_dress(std::string workload, std::string dress, workload_function run, std::string note);
    void unsupported(std::string workload, std::string reason);
    // All workloads that nothing was said of. An adapter that has few calls it last.
    void rest_unsupported(const std::string& reason);

    // Exit status: 0, also for what is unsupported; 1 for a failure; 2 for wrong usage.
    [[nodiscard]] int main(int argc, const char* const* argv) const;

private:
    struct dressed {
        workload_function run;  // empty: unsupported, and note says why
        std::string note;
    };
    struct registered : dressed {
        std::map<std::string, dressed, std::less<>> dresses = {};  // beside the plain one
    };

    [[nodiscard]] std::string describe() const;
    [[nodiscard]] std::string run(const request& r, std::string_view dress) const;
    [[nodiscard]] std::string allowed() const;

    std::string runtime_;
    std::string version_;
    std::string allocator_;
    std::map<std::string, registered, std::less<>> workloads_;
};

}  // namespace harness
