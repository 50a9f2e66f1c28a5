#include "harness.hpp"

#include "definitions.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sys/resource.h>

#ifndef LAB_FLAGS
#    error "the lab's CMake project defines LAB_FLAGS, so that `describe` can say how the adapter was compiled"
#endif

namespace harness {
namespace {

using json = nlohmann::ordered_json;

std::string compiler() {
#if defined(__clang__)
    return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
           std::to_string(__clang_patchlevel__);
#else
    return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
           std::to_string(__GNUC_PATCHLEVEL__);
#endif
}

std::int64_t cpu_of(clockid_t clock) noexcept {
    timespec used{};
    clock_gettime(clock, &used);
    return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

std::vector<clockid_t> clocks_of_threads() {
    std::vector<clockid_t> clocks;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        // As pthread_getcpuclockid() makes it, which needs a pthread_t.
        clocks.push_back(static_cast<clockid_t>(~std::stoul(task.path().filename()) << 3 | 6));
    }
    return clocks;
}

std::int64_t process_cpu_ns() noexcept {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto ns = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_usec * 1'000; };
    return ns(used.ru_utime) + ns(used.ru_stime);
}

// A line "key   number kB" of a file under /proc.
std::optional<std::uint64_t> kilobytes_as_bytes(const char* path, std::string_view key) {
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(key)) {
            return std::stoull(line.substr(line.find_first_of("0123456789"))) * 1024;
        }
    }
    return std::nullopt;
}

// VmHWM first: ru_maxrss survives exec(), so a child of a large runner would report the runner's memory as its own.
std::uint64_t peak_rss_bytes() {
    if (const auto high_water = kilobytes_as_bytes("/proc/self/status", "VmHWM:")) {
        return *high_water;
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

// Whether malloc is in the executable itself: then what is preloaded is not used.
bool has_malloc_of_its_own() {
    Dl_info malloc_is_of{};
    Dl_info this_is_of{};
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &malloc_is_of) != 0 &&
           dladdr(reinterpret_cast<const void*>(&has_malloc_of_its_own), &this_is_of) != 0 &&
           malloc_is_of.dli_fbase == this_is_of.dli_fbase;
}

// Which malloc this process has: what is preloaded is mapped.
std::string malloc_name() {
    if (has_malloc_of_its_own()) {
        return "own";
    }
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        for (const char* const name : {"tcmalloc", "mimalloc"}) {
            if (line.find(std::string{"/lib"} + name) != std::string::npos) {
                return name;
            }
        }
    }
    return "glibc";
}

}  // namespace

std::uint64_t rss_bytes() {
    // smaps_rollup walks the pages; the counters of /proc/self/statm lag behind.
    const auto rss = kilobytes_as_bytes("/proc/self/smaps_rollup", "Rss:");
    if (!rss) {
        throw std::runtime_error{"/proc/self/smaps_rollup does not say what is in memory"};
    }
    return *rss;
}

void require_memory(std::uint64_t bytes, std::string_view what) {
    const auto available = kilobytes_as_bytes("/proc/meminfo", "MemAvailable:");
    // A quarter stays free for everything else.
    if (available && bytes > *available / 4 * 3) {
        constexpr std::uint64_t gigabyte = 1'000'000'000;
        throw unsupported_params{std::string{what} + " would take about " + std::to_string(bytes / gigabyte) +
                                 " GB of memory, and " + std::to_string(*available / gigabyte) + " GB are available"};
    }
}

struct request::parsed {
    json object;
};

request::request(std::string workload, std::string_view params_json, unsigned threads, unsigned warmup,
                 std::chrono::milliseconds least)
    : workload_{std::move(workload)},
      threads_{threads},
      warmup_{warmup},
      least_{least} {
    json object = json::parse(params_json, nullptr, false);
    if (!object.is_object()) {
        throw usage_error{"--params is not a JSON object: " + std::string{params_json}};
    }
    params_ = std::make_unique<const parsed>(parsed{std::move(object)});
}

request::~request() = default;

std::uint64_t request::integer(std::string_view name) const {
    const auto found = params_->object.find(name);
    if (found == params_->object.end() || !found->is_number_unsigned()) {
        throw usage_error{"--params needs the non-negative integer " + std::string{name}};
    }
    return found->get<std::uint64_t>();
}

unsigned request::workers() const {
    const std::uint64_t workers = integer("workers");
    if (workers < 1 || workers > most_threads) {
        throw usage_error{"workers = " + std::to_string(workers) + " is not from 1 to " + std::to_string(most_threads)};
    }
    return static_cast<unsigned>(workers);
}

std::string request::text(std::string_view name) const {
    const auto found = params_->object.find(name);
    if (found == params_->object.end() || !found->is_string()) {
        throw usage_error{"--params needs the string " + std::string{name}};
    }
    return found->get<std::string>();
}

std::string request::choice(std::string_view name, std::initializer_list<std::string_view> allowed) const {
    std::string word = text(name);
    if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) {
        return word;
    }
    std::string message = "--params needs " + std::string{name} + ", one of:";
    for (const std::string_view each : allowed) {
        message.append(" ").append(each);
    }
    throw usage_error{message};
}

void stopwatch::account() const noexcept {
    for (const clockid_t clock : clocks_) {
        cpu_of(clock);
    }
}

void stopwatch::start() noexcept {
    wall_ns_ = -1;
    clocks_ = clocks_of_threads();
    account();
    cpu_began_ns_ = process_cpu_ns();
    began_ = std::chrono::steady_clock::now();
}

void stopwatch::go_on() noexcept {
    const std::int64_t wall = std::max<std::int64_t>(wall_ns_, 0);
    const std::int64_t cpu = wall_ns_ < 0 ? 0 : cpu_ns_;
    start();
    cpu_began_ns_ -= cpu;
    began_ -= std::chrono::nanoseconds{wall};
}

void stopwatch::stop() noexcept {
    wall_ns_ = std::chrono::nanoseconds{std::chrono::steady_clock::now() - began_}.count();
    const std::int64_t stopped = cpu_of(CLOCK_THREAD_CPUTIME_ID);
    account();
    const std::int64_t used = process_cpu_ns();
    const std::int64_t accounting = cpu_of(CLOCK_THREAD_CPUTIME_ID) - stopped;
    cpu_ns_ = std::max<std::int64_t>(used - accounting - cpu_began_ns_, 0);  // `used` is in microseconds
}

void stopwatch::item_took(std::chrono::nanoseconds latency) {
    waits_are_the_wall_ = true;
    sum_of_waits_ns_ += latency.count();
    waits_.record(static_cast<std::uint64_t>(latency.count()));
}

measured stopwatch::result(std::uint64_t answer) const {
    if (wall_ns_ < 0) {
        throw std::logic_error{"the repetition ended without start() and stop() of its stopwatch"};
    }
    return {.answer = answer,
            .wall_ns = waits_are_the_wall_ ? sum_of_waits_ns_ : wall_ns_,
            .cpu_ns = cpu_ns_,
            .elapsed_ns = wall_ns_,
            .waits = waits_,
            .figures = figures_};
}

void add_pass(measured& all, const measured& next) {
    ++all.passes;
    all.wall_ns += next.wall_ns;
    all.cpu_ns += next.cpu_ns;
    all.elapsed_ns += next.elapsed_ns;
    all.waits.add(next.waits);
    all.figures = next.figures;
    if (next.answer != all.answer && all.differing_pass == 0) {
        all.differing_pass = all.passes;
        all.differing_answer = next.answer;
    }
}

app::app(std::string runtime, std::string version, std::string allocator)
    : runtime_{std::move(runtime)},
      version_{std::move(version)},
      allocator_{std::move(allocator)} {}

void app::add(std::string workload, workload_function run, std::string note) {
    workloads_.insert_or_assign(std::move(workload), registered{{std::move(run), std::move(note)}});
}

void app::add_expert(std::string workload, workload_function run, std::string note) {
    add_dress(std::move(workload), "expert", std::move(run), std::move(note));
}

void app::add_dress(std::string workload, std::string dress, workload_function run, std::string note) {
    workloads_.at(workload).dresses.insert_or_assign(std::move(dress), dressed{std::move(run), std::move(note)});
}

void app::unsupported(std::string workload, std::string reason) {
    workloads_.insert_or_assign(std::move(workload), registered{{nullptr, std::move(reason)}});
}

void app::rest_unsupported(const std::string& reason) {
    for (const std::string_view name : workload_names()) {
        workloads_.try_emplace(std::string{name}, registered{{nullptr, reason}});
    }
}

std::string app::describe() const {
    json workloads = json::object();
    for (const auto& [name, entry] : workloads_) {
        json& said = workloads[name];
        said["supported"] = static_cast<bool>(entry.run);
        if (!entry.run) {
            said["reason"] = entry.note;
            continue;
        }
        said["params"] = parameters_of(name);
        if (!entry.note.empty()) {
            said["note"] = entry.note;
        }
        if (!entry.dresses.empty()) {
            said["dresses"]["plain"] = entry.note;
            for (const auto& [dress, other] : entry.dresses) {
                said["dresses"][dress] = other.note;
            }
        }
    }
    return json{{"runtime", runtime_}, {"version", version_},     {"compiler", compiler()},
                {"flags", LAB_FLAGS},  {"allocator", allocator_}, {"workloads", std::move(workloads)}}
        .dump();
}

std::string app::run(const request& r, std::string_view dress) const {
    const auto found = workloads_.find(r.workload());
    if (found == workloads_.end()) {
        throw usage_error{"unknown workload " + std::string{r.workload()} + "; allowed: " + allowed()};
    }
    if (!found->second.run) {
        return json{{"unsupported", found->second.note}}.dump();
    }
    const dressed* chosen = &found->second;
    if (dress != "plain") {
        const auto other = found->second.dresses.find(dress);
        if (other == found->second.dresses.end()) {
            throw usage_error{std::string{r.workload()} + " has no dress " + std::string{dress}};
        }
        chosen = &other->second;
    }
    try {
        const measured m = chosen->run(r);
        std::string answer = std::to_string(m.answer);
        if (m.differing_pass != 0) {
            answer += ", then " + std::to_string(m.differing_answer) + " in pass " + std::to_string(m.differing_pass);
        }
        json out{{"answer", answer},
                 {"wall_ns", m.wall_ns},
                 {"cpu_ns", m.cpu_ns},
                 {"passes", m.passes},
                 {"peak_rss_bytes", peak_rss_bytes()},
                 {"allocator", m.allocator.empty() ? allocator_ : m.allocator},
                 {"malloc", malloc_name()}};
        if (const auto items = items_of(r)) {
            out["items_done"] = *items * m.passes;
        }
        named_figures figures = m.figures;
        m.waits.tell(figures);
        for (const auto& [name, value] : figures.all()) {
            out["figures"][name] = value;
        }
        return out.dump();
    } catch (const unsupported_params& why) {
        return json{{"unsupported", why.what()}}.dump();
    }
}

std::string app::allowed() const {
    std::string names;
    for (const auto& [name, entry] : workloads_) {
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

int app::main(int argc, const char* const* argv) const {
    CLI::App cli{"The lab's adapter for " + runtime_, "lab_" + runtime_};
    cli.require_subcommand(1);
    CLI::App* describe_command = cli.add_subcommand("describe", "print what this adapter is and can do");
    CLI::App* run_command = cli.add_subcommand("run", "measure one repetition of one workload");
    std::string workload;
    std::string params;
    unsigned threads = 0;
    unsigned warmup = 1;
    unsigned least_ms = 0;
    std::string dress = "plain";
    run_command->add_option("--workload", workload, "one of: " + allowed())->required();
    run_command->add_option("--params", params, "the workload's parameters, a JSON object")->required();
    run_command->add_option("--threads", threads, "worker threads")->required()->check(CLI::Range(1U, most_threads));
    run_command->add_option("--warmup", warmup, "unmeasured passes before the measured ones");
    run_command->add_option("--least-ms", least_ms, "repeat the work until its timed parts are as long as this");
    run_command->add_option("--dress", dress, "plain, or one that describe tells");
    try {
        cli.parse(argc, argv);
        if (describe_command->parsed()) {
            std::cout << describe() << std::endl;
        } else {
            const request r{workload, params, threads, warmup, std::chrono::milliseconds{least_ms}};
            std::cout << run(r, dress) << std::endl;
        }
        return 0;
    } catch (const CLI::ParseError& e) {
        return cli.exit(e) == 0 ? 0 : 2;
    } catch (const usage_error& e) {
        std::cerr << "lab_" << runtime_ << ": " << e.what() << '\n';
        return 2;
    } catch (const std::exception& e) {
        std::cerr << "lab_" << runtime_ << ": " << e.what() << '\n';
        return 1;
    }
}

}  // namespace harness
