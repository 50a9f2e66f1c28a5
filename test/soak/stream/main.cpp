// The soak of a stream job whose sink is slow: the memory that it holds is bounded, however long it runs. See --help.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "support/random_numbers.hpp"
#include "support/rung_program.hpp"

namespace coflux_test::soak {
namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr const char* usage =
    "usage: coflux_stream_soak [--minutes M | --seconds S] [--seed S] [--report FILE]\n"
    "\n"
    "Runs a stream job of four workers, whose source always has more, and whose sink waits, and fails now and then.\n"
    "It checks that the job holds no more records than docs/design/stream.md says, that no key loses a record or has\n"
    "one twice or out of order, and that the process does not grow. Ctrl-C ends it cleanly.\n"
    "  --minutes M    how long (default: 10)\n"
    "  --seed S       of the waits and failures (default: 1)\n"
    "  --report FILE  writes what was done as a JSON object\n";

constexpr std::size_t workers = 4;
constexpr std::size_t batch = 100;
constexpr std::size_t buffers = 4;
constexpr std::uint64_t keys = 1'000;
constexpr std::size_t partitions = 4;
// A link to each worker and one from it. A buffer is sent once it has a batch; what comes on top is less than what its
// producer takes at a time: the reader a batch, a worker a buffer of the reader's.
constexpr std::int64_t bound = workers * buffers * (2 * batch + 3 * batch) + batch;

/// A kibibyte, or as much as was moved out: nothing. Counts how many have it.
class payload {
public:
    payload() = default;
    explicit payload(std::uint64_t key) : bytes_(1024, static_cast<char>('a' + key % 26)) { note_one_more(); }
    payload(const payload& other) : bytes_(other.bytes_) {
        if (!bytes_.empty()) note_one_more();
    }
    payload(payload&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    payload& operator=(payload other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~payload() {
        if (!bytes_.empty()) alive_.fetch_sub(1, std::memory_order_relaxed);
    }

    [[nodiscard]] bool is_of(std::uint64_t key) const noexcept {
        return bytes_.size() == 1024 && bytes_.front() == static_cast<char>('a' + key % 26);
    }
    [[nodiscard]] static std::int64_t most() noexcept { return most_.load(std::memory_order_relaxed); }
    [[nodiscard]] static std::int64_t alive() noexcept { return alive_.load(std::memory_order_relaxed); }

private:
    static void note_one_more() noexcept {
        const std::int64_t now = alive_.fetch_add(1, std::memory_order_relaxed) + 1;
        std::int64_t most = most_.load(std::memory_order_relaxed);
        while (now > most && !most_.compare_exchange_weak(most, now, std::memory_order_relaxed)) continue;
    }

    // Relaxed: they are counts, and publish nothing.
    static inline std::atomic<std::int64_t> alive_{0};
    static inline std::atomic<std::int64_t> most_{0};

    std::string bytes_;
};

struct item {
    std::uint64_t key = 0;
    std::uint64_t number = 0;  // of the key, from 1 on
    payload bytes{};
};

/// Counts that the program looks at while the job runs.
struct progress {
    std::atomic<std::uint64_t> given{0};
    std::atomic<std::uint64_t> written{0};
    std::atomic<bool> in_order{true};
};

/// Always has more. A key is in one partition.
class endless {
public:
    using value_type = item;

    explicit endless(progress& counts) : counts_(counts) {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<item>& into, std::size_t most) {
        for (std::size_t i = 0; i != most; ++i, ++next_) {
            const std::uint64_t key = next_ % keys;
            const std::uint64_t number = next_ / keys + 1;
            const std::size_t p = key % partitions;
            const stream::event_time time{std::chrono::milliseconds(next_)};
            into.push_back({item{key, number, payload(key)}, time, ++positions_[p], static_cast<std::uint32_t>(p)});
        }
        counts_.given.fetch_add(most, std::memory_order_relaxed);
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return std::to_string(p); }

private:
    progress& counts_;
    std::uint64_t next_ = 0;
    std::vector<std::int64_t> positions_ = std::vector<std::int64_t>(partitions);
};

/// Takes up to two milliseconds for a write, and now and then thirty; each 50th attempt fails, before it takes
/// anything.
class slow_sink {
public:
    slow_sink(progress& counts, std::uint64_t seed) : counts_(counts), random_(seed) {}

    [[nodiscard]] coflux::call<void> write(coflux::environment&, std::span<stream::record<item>> records) {
        co_await coflux::sleep_for(random_.one_in(100) ? 30ms : std::chrono::microseconds(random_.below(2000)));
        if (random_.one_in(50)) throw std::runtime_error("the sink is not there for a moment");
        for (stream::record<item>& r : records) {
            const item taken = std::move(r.value);
            const bool is_next = taken.number == ++last_of_[taken.key] && taken.bytes.is_of(taken.key);
            if (!is_next) counts_.in_order.store(false, std::memory_order_relaxed);
        }
        counts_.written.fetch_add(records.size(), std::memory_order_relaxed);
    }
    [[nodiscard]] coflux::call<void> flush(coflux::environment&) { co_return; }

private:
    progress& counts_;
    random_numbers random_;
    std::vector<std::uint64_t> last_of_ = std::vector<std::uint64_t>(keys);
};

struct count_of_key {
    std::uint64_t records = 0;
    template <typename A>
    void fields(A& all) {
        all(records);
    }
};

coflux::task<stream::job_report, coflux::thread_pool_executor> runs(coflux::environment&,
                                                                    coflux::borrowed<progress> counts,
                                                                    coflux::borrowed<stream::job_control> control,
                                                                    std::uint64_t seed) {
    auto& here = co_await coflux::context();
    slow_sink out(*counts, seed);
    const auto numbered = [](count_of_key& s, const item& i, auto& emit) { emit(item{i.key, ++s.records, i.bytes}); };
    co_return co_await stream::run(here,
                                   stream::from(endless(*counts)) | stream::by_key(&item::key) |
                                       stream::fold<count_of_key, item>(numbered) | stream::to(out),
                                   stream::job{.workers = workers,
                                               .max_batch = batch,
                                               .queue_batches = buffers,
                                               .commit_every = 50ms,
                                               .retries = {.attempts = 20, .first = 1ms, .most = 10ms},
                                               .state = stream::memory_store(),
                                               .control = &*control});
}

/// Memory that is in use, in MiB.
double resident() {
    std::ifstream in("/proc/self/statm");
    double pages = 0;
    in >> pages >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024 * 1024);
}

std::atomic<bool> over{false};

}  // namespace
}  // namespace coflux_test::soak

int main(int argc, char** argv) {
    using namespace coflux_test::soak;
    coflux_test::rung_options options(argc, argv, usage);
    double length = static_cast<double>(options.number("--minutes", 10)) * 60;
    length = static_cast<double>(options.number("--seconds", static_cast<std::uint64_t>(length)));
    const std::uint64_t seed = options.number("--seed", 1);
    const std::string report_file = options.text("--report", "");
    options.check();
    std::signal(SIGINT, [](int) { over.store(true, std::memory_order_relaxed); });

    progress counts;
    stream::job_control control;
    coflux::thread_pool_executor pool(workers);
    auto env = coflux::make_environment(pool);
    const clock_type::time_point begun = clock_type::now();
    auto job = runs(env, coflux::borrowed(counts), coflux::borrowed(control), seed);
    double early = 0;
    double most = 0;
    clock_type::time_point reported = begun;
    for (double gone = 0; gone < length && !over.load(std::memory_order_relaxed);) {
        std::this_thread::sleep_for(50ms);
        const clock_type::time_point now = clock_type::now();
        gone = std::chrono::duration<double>(now - begun).count();
        double& part = gone < length / 5 ? early : most;
        part = std::max(part, resident());
        if (now - reported < 10s) continue;
        reported = now;
        std::printf("%6.0f s  %12" PRIu64 " records written  %6" PRId64 " held, %6" PRId64 " at most  %6.1f MiB\n",
                    gone, counts.written.load(), payload::alive(), payload::most(), resident());
        std::fflush(stdout);
    }
    control.drain();
    const stream::job_report account = job.get();
    const double seconds = std::chrono::duration<double>(clock_type::now() - begun).count();

    bool passed = true;
    const auto expect = [&](bool holds, const std::string& what) {
        if (holds) return;
        std::printf("NOT SO: %s\n", what.c_str());
        passed = false;
    };
    const std::uint64_t written = counts.written.load();
    expect(written == counts.given.load(), "each record that was read is written");
    expect(counts.in_order.load(), "the records of a key come once and in order");
    expect(account.retried != 0 && account.commits != 0, "writes have failed, and barriers were committed");
    expect(payload::most() <= bound, "the job holds at most " + std::to_string(bound) + " records (it held " +
                                         std::to_string(payload::most()) + ")");
    expect(payload::alive() == 0, "no record is left at the end");
    // A job holds what it may within seconds; a record that leaks in each batch is far more.
    expect(most <= 1.5 * early + 16, "memory is bounded (" + std::to_string(early) +
                                         " MiB after a fifth of the time, " + std::to_string(most) + " MiB later)");
    std::printf("stream soak: %" PRIu64 " records, %" PRIu64 " retries, %" PRIu64 " commits in %.1f s; %" PRId64
                " records held at most, of %" PRId64 "; %.1f MiB, then at most %.1f MiB: %s\n",
                written, account.retried, account.commits, seconds, payload::most(), bound, early, most,
                passed ? "pass" : "FAIL");
    const coflux_test::rung_report report{
        "L7",   "stream_soak", "a stream job with a slow sink that fails now and then", written, "records", seconds,
        passed, seed};
    if (!report_file.empty() && !report.write(report_file)) return 1;
    return passed ? 0 : 1;
}
