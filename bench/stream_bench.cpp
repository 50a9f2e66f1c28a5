// The cost of a stream job over its parts. It shows regressions of our own mechanism; the lab compares runtimes.
//
// Each benchmark runs its baseline and the job in turns, in one process, and tells medians: what else the machine does
// is in both. An iteration is one turn; the time of it is the job's.
#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using coflux::borrowed;
using clock = std::chrono::steady_clock;
using pool = coflux::thread_pool_executor;

/// Runs `block(here)` as a root on a pool.
template <typename Block>
void on(pool& threads, Block block) {
    auto env = coflux::make_environment(threads);
    constexpr auto root = [](coflux::environment&, borrowed<Block> b) -> coflux::task<void, pool> {
        auto& here = co_await coflux::context();
        co_await (*b)(here);
    };
    root(env, borrowed(block)).get();
}

double seconds_of(clockid_t which) {
    timespec now{};
    clock_gettime(which, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
/// All threads count.
double cpu_seconds() {
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}
double wall_seconds() {
    return seconds_of(CLOCK_MONOTONIC);
}

template <typename Seconds, typename F>
double timed(Seconds seconds, F f) {
    const double begin = seconds();
    f();
    return seconds() - begin;
}

double median(std::vector<double> all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle);
    return *middle;
}

/// Baseline and job in turns, each first in every other one; both give their seconds. Counters: nanoseconds an item,
/// and the medians of differences and of ratios.
template <typename Baseline, typename Job>
void in_turns(benchmark::State& state, std::size_t items, Baseline baseline, Job job) {
    const double each = 1e9 / static_cast<double>(items);
    std::vector<double> baselines;
    std::vector<double> jobs;
    std::vector<double> over;
    std::vector<double> ratios;
    for (auto _ : state) {
        double of_baseline = 0;
        if (jobs.size() % 2 == 0) of_baseline = baseline();
        const double of_job = job();
        if (jobs.size() % 2 == 1) of_baseline = baseline();
        state.SetIterationTime(of_job);
        baselines.push_back(of_baseline * each);
        jobs.push_back(of_job * each);
        over.push_back((of_job - of_baseline) * each);
        ratios.push_back(of_job / of_baseline);
    }
    state.counters["baseline_ns"] = median(baselines);
    state.counters["job_ns"] = median(jobs);
    state.counters["over_ns"] = median(over);
    state.counters["ratio"] = median(ratios);
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}

/// Steps of which each waits for the last one's result: some 1.3 ns each.
std::uint64_t worked(std::uint64_t value, std::int64_t steps) {
    for (std::int64_t i = 0; i != steps; ++i) {
        value = value * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        value ^= value >> 29;
    }
    return value;
}
constexpr std::int64_t five_microseconds = 4'000;

struct order {
    std::uint64_t customer;
    std::int64_t amount;
};

/// The orders of the document that the workloads are of.
std::vector<order> orders(std::size_t n) {
    std::vector<order> all(n);
    for (std::size_t i = 0; i != n; ++i) all[i] = {i % 1000, 150 + static_cast<std::int64_t>(i % 100)};
    return all;
}

/// Values that are read where they are, in `partitions` parts of one size, by turns of a batch.
template <typename T>
class span_source {
public:
    using value_type = T;

    explicit span_source(std::span<const T> values, std::uint32_t partitions = 1) {
        const std::size_t each = values.size() / partitions;
        for (std::uint32_t p = 0; p != partitions; ++p) parts_.push_back(values.subspan(p * each, each));
        next_.resize(partitions);
    }

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<T>& into, std::size_t most) {
        for (std::size_t tried = 0; tried != parts_.size(); ++tried) {
            const std::uint32_t p = turn_;
            turn_ = turn_ + 1 == parts_.size() ? 0 : turn_ + 1;
            std::size_t& next = next_[p];
            const std::size_t end = std::min(parts_[p].size(), next + most);
            if (next == end) continue;
            for (; next != end; ++next) {
                into.push_back({parts_[p][next], stream::no_time, static_cast<std::int64_t>(next + 1), p});
            }
            co_return true;
        }
        co_return false;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return std::to_string(p); }

private:
    std::vector<std::span<const T>> parts_;
    std::vector<std::size_t> next_;
    std::uint32_t turn_ = 0;
};

constexpr auto is_large = [](const order& o) { return o.amount > 100; };
constexpr auto amount = [](const order& o) { return static_cast<std::uint64_t>(o.amount); };

/// A filter and a projection, one worker: CPU of all threads over that of a loop with the same two functions.
void stream_record_over_loop(benchmark::State& state) {
    const std::vector<order> all = orders(state.range(0) == 1 ? 200'000 : 2'000'000);
    pool threads(1);
    std::uint64_t sum = 0;
    const auto loop = [&] {
        for (const order& o : all) {
            if (is_large(o)) sum += amount(o);
            benchmark::DoNotOptimize(sum);
        }
    };
    const auto job = [&] {
        on(threads, [&](coflux::environment& here) -> coflux::call<void> {
            span_source<order> source(all);
            const auto add = [&](std::uint64_t value) { sum += value; };
            (void)co_await stream::run(
                here,
                stream::from(source) | stream::filter(is_large) | stream::map(amount) |
                    stream::to(stream::for_each(add)),
                stream::job{.workers = 1, .max_batch = static_cast<std::size_t>(state.range(0))});
        });
    };
    in_turns(state, all.size(), [&] { return timed(cpu_seconds, loop); }, [&] { return timed(cpu_seconds, job); });
}
BENCHMARK(stream_record_over_loop)->ArgName("batch")->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseManualTime();

/// A step that is a call, and never waits, over the same step as a function. Both are jobs of one worker.
void stream_async_step_over_sync(benchmark::State& state) {
    const std::int64_t steps = state.range(0);
    const std::size_t n = steps == five_microseconds ? 20'000 : 500'000;
    std::vector<std::uint64_t> values(n);
    for (std::size_t i = 0; i != n; ++i) values[i] = i;
    pool threads(1);
    std::uint64_t sum = 0;
    const auto run = [&](auto step) {
        const auto job = [&](coflux::environment& here) -> coflux::call<void> {
            span_source<std::uint64_t> source(values);
            const auto add = [&](std::uint64_t value) { sum += value; };
            (void)co_await stream::run(here, stream::from(source) | step | stream::to(stream::for_each(add)),
                                       stream::job{.workers = 1, .max_batch = 100});
        };
        return timed(cpu_seconds, [&] { on(threads, job); });
    };
    const auto function = [=](std::uint64_t value) { return worked(value, steps); };
    const auto call = [=](coflux::environment&, std::uint64_t value) -> coflux::call<std::uint64_t> {
        co_return worked(value, steps);
    };
    in_turns(state, n, [&] { return run(stream::map(function)); }, [&] { return run(stream::call_each(call)); });
    benchmark::DoNotOptimize(sum);
}
BENCHMARK(stream_async_step_over_sync)->ArgName("steps")->Arg(0)->Arg(100)->Arg(five_microseconds)->UseManualTime();

/// Eight partitions, 5 us a record: the time with one worker over that with two. `ratio` is how much faster two are.
void stream_two_workers_over_one(benchmark::State& state) {
    std::vector<std::uint64_t> values(16'000);
    for (std::size_t i = 0; i != values.size(); ++i) values[i] = i;
    pool threads(2);
    std::atomic<std::uint64_t> sum = 0;
    const auto run = [&](std::size_t workers) {
        const auto job = [&](coflux::environment& here) -> coflux::call<void> {
            span_source<std::uint64_t> source(values, 8);
            const auto step = [](std::uint64_t value) { return worked(value, five_microseconds); };
            const auto add = [&](std::uint64_t value) { sum += value; };
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_partition() | stream::map(step) |
                                           stream::to(stream::for_each(add)),
                                       stream::job{.workers = workers, .max_batch = 100});
        };
        return timed(wall_seconds, [&] { on(threads, job); });
    };
    in_turns(state, values.size(), [&] { return run(2); }, [&] { return run(1); });
    benchmark::DoNotOptimize(sum.load());
}
BENCHMARK(stream_two_workers_over_one)->UseManualTime();

/// Thrown once the job has restored its state.
struct restored {};

/// Tells when it is to seek, which the job asks for last, and gives nothing.
class seek_watch {
public:
    using value_type = std::uint64_t;

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<std::uint64_t>&, std::size_t) {
        throw restored();
        co_return false;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
    [[nodiscard]] coflux::call<void> seek(coflux::environment&, const stream::positions&) {
        sought_at_ = wall_seconds();
        co_return;
    }
    /// 0: there was no checkpoint.
    [[nodiscard]] double sought_at() const noexcept { return sought_at_; }

private:
    double sought_at_ = 0;
};

class folder {
public:
    folder() : path_(std::filesystem::temp_directory_path() / ("coflux_stream_bench_" + std::to_string(::getpid()))) {
        std::filesystem::create_directory(path_);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// The next read of the file is one of the drive, as far as the file system has one.
void forget(const std::filesystem::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
}

/// Returns: its bytes.
std::size_t read_file(const std::filesystem::path& path) {
    std::vector<char> piece(std::size_t{1} << 20);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    std::size_t size = 0;
    for (::ssize_t n = 0; (n = ::read(fd, piece.data(), piece.size())) > 0;) size += static_cast<std::size_t>(n);
    ::close(fd);
    return size;
}

/// A count for each of many keys, restored from a folder: a read of its file, and the restore. `cached`: the system has
/// the file in memory. `loaded_ns` is what the store takes of it to read and to check.
void stream_restore_over_read(benchmark::State& state) {
    const folder where;
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(state.range(0)));
    for (std::size_t i = 0; i != keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15U;
    pool threads(2);
    const auto run = [&](auto& source) {
        on(threads, [&](coflux::environment& here) -> coflux::call<void> {
            const auto ignore = [](const auto&) {};
            (void)co_await stream::run(
                here,
                stream::from(source) | stream::by_key(std::identity()) | stream::count() |
                    stream::to(stream::for_each(ignore)),
                stream::job{.workers = 2, .commit_every = 1h, .state = stream::folder_store(where.path(), "counts")});
        });
    };
    span_source<std::uint64_t> all(keys);
    run(all);
    const std::filesystem::path file = std::filesystem::directory_iterator(where.path())->path();
    const bool is_cached = state.range(1) != 0;
    const auto read = [&] {
        if (!is_cached) forget(file);
        return timed(wall_seconds, [&] { benchmark::DoNotOptimize(read_file(file)); });
    };
    const auto load = [&] {
        on(threads, [&](coflux::environment& here) -> coflux::call<void> {
            if (!is_cached) forget(file);
            stream::folder_store store(where.path(), "counts");
            const auto begin = wall_seconds();
            const auto found = co_await store.load(here, nullptr);
            state.counters["loaded_ns"] = (wall_seconds() - begin) * 1e9 / static_cast<double>(keys.size());
            if (!found) throw std::logic_error("there is no checkpoint");
        });
    };
    const auto restore = [&] {
        load();
        if (!is_cached) forget(file);
        seek_watch source;
        const double begin = wall_seconds();
        try {
            run(source);
        } catch (const restored&) {}
        return source.sought_at() - begin;
    };
    in_turns(state, keys.size(), read, restore);
    state.counters["bytes"] = static_cast<double>(read_file(file));
}
BENCHMARK(stream_restore_over_read)
    ->ArgNames({"keys", "cached"})
    ->ArgsProduct({{1'000'000, 10'000'000}, {0, 1}})
    ->UseManualTime();

using sent_at = clock::time_point;

/// Records that have come, and how long each was on its way.
class arrivals {
public:
    explicit arrivals(std::size_t n) { waits_.reserve(n); }

    void note(sent_at sent) {
        waits_.push_back(std::chrono::duration<double, std::micro>(clock::now() - sent).count());
    }
    [[nodiscard]] double at(double part) {
        const auto nth = waits_.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(waits_.size()));
        std::ranges::nth_element(waits_, nth);
        return *nth;
    }

private:
    std::vector<double> waits_;
};

/// From the send of a record to the sink, in us: 5 us of work in each of them, and 20 % of what one worker can do. They
/// are sent on time by a thread that does not sleep. The baseline is a coroutine that receives them and does the work.
void stream_latency(benchmark::State& state) {
    constexpr std::size_t count = 20'000;
    constexpr auto gap = 25us;
    pool threads(1);
    const auto work = [](sent_at sent) {
        benchmark::DoNotOptimize(
            worked(static_cast<std::uint64_t>(sent.time_since_epoch().count()), five_microseconds));
        return sent;
    };
    const auto send_all = [&](auto to) {
        sent_at due = clock::now() + 1ms;
        for (std::size_t i = 0; i != count; ++i, due += gap) {
            while (clock::now() < due) continue;
            (void)to.send(clock::now());
        }
    };
    const auto received_by = [&](auto receive) {
        arrivals come(count);
        auto [to, from] = coflux::make_unbounded_mpsc<sent_at>();
        std::jthread sender(send_all, std::move(to));
        on(threads, [&](coflux::environment& here) -> coflux::call<void> { co_await receive(here, from, come); });
        return std::pair(come.at(0.5), come.at(0.99));
    };
    const auto by_coroutine = [&](coflux::environment&, auto& from, arrivals& come) -> coflux::call<void> {
        while (const auto sent = co_await from.receive()) come.note(work(*sent));
    };
    const auto by_job = [&](coflux::environment& here, auto& from, arrivals& come) -> coflux::call<void> {
        const auto note = [&](sent_at sent) { come.note(sent); };
        (void)co_await stream::run(
            here, stream::from(stream::receiver_source(from)) | stream::map(work) | stream::to(stream::for_each(note)),
            stream::job{.workers = 1});
    };
    std::array<std::vector<double>, 4> all;
    for (auto _ : state) {
        const auto [baseline_p50, baseline_p99] = received_by(by_coroutine);
        const auto [job_p50, job_p99] = received_by(by_job);
        state.SetIterationTime(job_p50 * 1e-6);
        all[0].push_back(baseline_p50);
        all[1].push_back(baseline_p99);
        all[2].push_back(job_p50);
        all[3].push_back(job_p99);
    }
    state.counters["baseline_p50_us"] = median(all[0]);
    state.counters["baseline_p99_us"] = median(all[1]);
    state.counters["job_p50_us"] = median(all[2]);
    state.counters["job_p99_us"] = median(all[3]);
}
BENCHMARK(stream_latency)->Iterations(5)->UseManualTime();

/// A job that waits for records, once it has committed those that it got: CPU of all threads in a second. An iteration
/// is a second.
void stream_waiting_job(benchmark::State& state) {
    pool threads(2);
    stream::job_control control;
    auto [to, from] = coflux::make_unbounded_mpsc<int>();
    (void)to.send(1);
    std::jthread measures([&, to = std::move(to)] {
        while (control.snapshot().commits == 0) std::this_thread::sleep_for(1ms);
        double cpu = 0;
        for (auto _ : state) {
            const double before = cpu_seconds();
            std::this_thread::sleep_for(1s);
            cpu += cpu_seconds() - before;
            state.SetIterationTime(1);
        }
        state.counters["percent_of_a_core"] = 100 * cpu / static_cast<double>(state.iterations());
    });
    on(threads, [&](coflux::environment& here) -> coflux::call<void> {
        const auto ignore = [](int) {};
        (void)co_await stream::run(here,
                                   stream::from(stream::receiver_source(from)) | stream::to(stream::for_each(ignore)),
                                   stream::job{.workers = 2, .commit_every = 10ms, .control = &control});
    });
}
BENCHMARK(stream_waiting_job)->Iterations(3)->UseManualTime();

}  // namespace
