#include "definitions.hpp"

#include "uts.hpp"

#include <array>
#include <numeric>

namespace harness {
namespace {

using count_items = std::uint64_t (*)(const request&);

struct definition {
    std::string_view name;
    std::vector<std::string> parameters;
    count_items items;
};

const std::vector<definition>& definitions() {
    static const std::vector<definition> all{
        {"accept_churn", {"connections", "in_flight"}, [](const request& r) { return r.integer("connections"); }},
        {"cachecalc",
         {"idiom", "rounds", "tasks", "wait_us"},
         [](const request& r) { return r.integer("rounds") * r.integer("tasks"); }},
        {"cachecalc_sharded",
         {"shards", "rounds", "tasks", "wait_us"},
         [](const request& r) { return r.integer("shards") * r.integer("rounds") * r.integer("tasks"); }},
        {"cachecalc_variants",
         {"variant", "rounds", "tasks", "wait_us"},
         [](const request& r) { return r.integer("rounds") * r.integer("tasks"); }},
        {"call_overhead", {"calls"}, [](const request& r) { return r.integer("calls"); }},
        {"channel_mpmc",
         {"count", "capacity", "producers", "consumers"},
         [](const request& r) { return r.integer("count") / r.integer("producers") * r.integer("producers"); }},
        {"channel_rendezvous", {"count"}, [](const request& r) { return r.integer("count"); }},
        {"channel_spsc", {"count", "capacity"}, [](const request& r) { return r.integer("count"); }},
        {"coroutine_costs", {"step", "count", "live"}, [](const request& r) { return r.integer("count"); }},
        {"dispatcher",
         {"program", "count", "batch", "yields", "steps"},
         [](const request& r) { return r.integer("count"); }},
        {"echo", {"transport", "processes", "rounds"}, [](const request& r) { return r.integer("rounds"); }},
        {"echo_many",
         {"connections", "mode", "requests", "bytes", "rate"},
         [](const request& r) { return r.integer("requests"); }},
        {"echo_pool",
         {"workers", "compute_us", "connections", "mode", "requests", "bytes", "rate"},
         [](const request& r) { return r.integer("requests"); }},
        {"fairness", {"waits", "jobs", "step_us"}, [](const request& r) { return r.integer("jobs"); }},
        // Every call but a leaf forks one call and makes another.
        {"fib", {"n"}, [](const request& r) { return 2 * fib_forks(r.integer("n")) + 1; }},
        {"fib_tasks", {"shape", "n", "tasks"}, [](const request& r) { return r.integer("tasks"); }},
        {"file_read", {"bytes", "file_mib", "reads", "pattern"}, [](const request& r) { return r.integer("reads"); }},
        {"fork_noop", {"resource", "count"}, [](const request& r) { return r.integer("count"); }},
        {"fork_pool",
         {"mode", "count"},
         [](const request& r) { return r.integer("count") / r.threads() * r.threads(); }},
        {"idle_tasks", {"count", "sleep_ms"}, [](const request& r) { return r.integer("count"); }},
        {"inject",
         {"producers", "count"},
         [](const request& r) { return r.integer("count") / r.integer("producers") * r.integer("producers"); }},
        {"io_socket",
         {"connections", "requests", "request_bytes", "response_bytes"},
         [](const request& r) { return r.integer("requests") / r.integer("connections") * r.integer("connections"); }},
        {"kafka_job", {"job", "records", "keys", "commit_ms"}, [](const request& r) { return r.integer("records"); }},
        {"latency_under_load",
         {"load_percent", "work_us", "count"},
         [](const request& r) { return r.integer("count"); }},
        {"matmul", {"n"}, [](const request& r) { return matmul_leaves(r.integer("n")); }},
        {"memory_after", {"count", "idle_ms"}, [](const request& r) { return r.integer("count"); }},
        {"mpsc_batches",
         {"batches", "batch"},
         [](const request& r) { return r.integer("batches") * r.integer("batch"); }},
        {"mutex_handoff", {"tasks", "locks"}, [](const request& r) { return r.integer("tasks") * r.integer("locks"); }},
        {"nexmark", {"query", "events"}, [](const request& r) { return r.integer("events"); }},
        {"nexmark_source", {"source", "query", "events"}, [](const request& r) { return r.integer("events"); }},
        {"nqueens", {"n"}, [](const request& r) { return nqueens_tasks(r.integer("n")); }},
        {"outside_wake",
         {"workers", "cpus", "gap_us", "requests"},
         [](const request& r) { return r.integer("requests"); }},
        {"oversubscribed",
         {"idiom", "workers", "count"},
         [](const request& r) {
             const crowd c{r};
             return c.sends() ? c.count() / crowd::senders * crowd::senders : c.count();
         }},
        {"partition_receiver",
         {"receiver", "gap_us", "batches", "yields"},
         [](const request& r) { return r.integer("batches"); }},
        {"pipeline",
         {"concurrency", "depth", "items"},
         [](const request& r) { return r.integer("concurrency") * r.integer("items"); }},
        {"record_path",
         {"path", "records", "batch", "partitions", "steps"},
         [](const request& r) { return r.integer("records"); }},
        {"skynet", {"depth"}, [](const request& r) { return skynet_tasks(r.integer("depth")); }},
        {"spawn_join", {"count"}, [](const request& r) { return r.integer("count"); }},
        {"stream_scenarios",
         {"scenario", "records", "batch", "partitions"},
         [](const request& r) { return r.integer("records"); }},
        {"suspend_chain",
         {"chains", "depth", "values"},
         [](const request& r) { return r.integer("chains") * r.integer("depth") * r.integer("values"); }},
        {"timer_storm", {"count", "shortest_us", "longest_us"}, [](const request& r) { return r.integer("count"); }},
        {"unbalanced", {"tree"}, [](const request& r) { return uts_tree{r}.nodes(); }},
        {"wait", {"idiom", "count", "wait_us"}, [](const request& r) { return r.integer("count"); }},
        {"yield", {"tasks", "yields"}, [](const request& r) { return r.integer("tasks") * r.integer("yields"); }},
    };
    return all;
}

const definition* find(std::string_view workload) {
    for (const definition& d : definitions()) {
        if (d.name == workload) {
            return &d;
        }
    }
    return nullptr;
}

}  // namespace

std::vector<std::string> parameters_of(std::string_view workload) {
    const definition* d = find(workload);
    return d != nullptr ? d->parameters : std::vector<std::string>{};
}

std::vector<std::string_view> workload_names() {
    std::vector<std::string_view> names;
    for (const definition& d : definitions()) {
        names.push_back(d.name);
    }
    return names;
}

std::optional<std::uint64_t> items_of(const request& r) {
    const definition* d = find(r.workload());
    return d != nullptr ? std::optional{d->items(r)} : std::nullopt;
}

std::uint64_t fib_forks(std::uint64_t n) noexcept {
    std::uint64_t forks = 0;
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t sum = 1 + forks + next;
        forks = next;
        next = sum;
    }
    return forks;
}

std::uint64_t skynet_leaves(std::uint64_t depth) noexcept {
    return depth == 0 ? 1 : 10 * skynet_leaves(depth - 1);
}

std::uint64_t skynet_tasks(std::uint64_t depth) noexcept {
    return (skynet_leaves(depth + 1) - 1) / 9;
}

std::uint64_t nqueens_tasks(std::uint64_t n) {
    constexpr std::array<std::uint64_t, 14> boards{2,     3,     6,      17,      54,      153,       552,
                                                   2'057, 8'394, 35'539, 166'926, 856'189, 4'674'890, 27'358'553};
    return boards.at(n - 1);
}

std::uint64_t matmul_leaves(std::uint64_t n) noexcept {
    const std::uint64_t blocks = n / 32;
    return blocks * blocks * blocks;
}

std::vector<share> shares_of(const request& r) {
    return shares_of(r.integer("count"), r.integer("producers"));
}

std::vector<share> shares_of(std::uint64_t count, std::uint64_t producers) {
    const std::uint64_t each = count / producers;
    std::vector<share> all(producers);
    for (std::uint64_t first = 1; share & mine : all) {
        mine = {.first = first, .last = first + each - 1};
        first += each;
    }
    return all;
}

crowd::crowd(const request& r)
    : workers_{r.workers()},
      count_{r.integer("count")},
      sends_{r.choice("idiom", {"channel", "fork"}) == "channel"} {}

std::vector<std::uint64_t> batch_of(std::uint64_t index, std::uint64_t size) {
    std::vector<std::uint64_t> batch(size);
    std::iota(batch.begin(), batch.end(), index * size + 1);
    return batch;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& batch) noexcept {
    return std::accumulate(batch.begin(), batch.end(), std::uint64_t{0});
}

storm::storm(const request& r)
    : sleepers_{r.integer("count")},
      shortest_us_{r.integer("shortest_us")},
      span_us_{r.integer("longest_us") - shortest_us_ + 1} {}

std::chrono::microseconds storm::length(std::uint64_t sleeper) const noexcept {
    // A prime, so that neighbours sleep for different times and every time occurs.
    constexpr std::uint64_t stride = 7'919;
    return std::chrono::microseconds{shortest_us_ + sleeper * stride % span_us_};
}

std::uint64_t storm::woke(clock::time_point began, std::chrono::microseconds length) noexcept {
    return clock::now() - began < length ? 0 : static_cast<std::uint64_t>(length.count());
}

}  // namespace harness
