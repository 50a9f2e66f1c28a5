#include "definitions.hpp"

#include <array>

namespace harness {
namespace {

using count_items = std::uint64_t (*)(const request&);

struct definition {
    std::string_view name;
    std::vector<std::string> parameters;
    count_items items;
};

const std::array<definition, 8>& definitions() {
    static const std::array<definition, 8> all{{
        {"call_overhead", {"calls"}, [](const request& r) { return r.integer("calls"); }},
        // Every call but a leaf forks one call and makes another.
        {"fib", {"n"}, [](const request& r) { return 2 * fib_forks(r.integer("n")) + 1; }},
        {"fork_noop", {"resource", "count"}, [](const request& r) { return r.integer("count"); }},
        {"fork_pool",
         {"mode", "count"},
         [](const request& r) { return r.integer("count") / r.threads() * r.threads(); }},
        {"pipeline",
         {"concurrency", "depth", "items"},
         [](const request& r) { return r.integer("concurrency") * r.integer("items"); }},
        {"skynet", {"depth"}, [](const request& r) { return skynet_tasks(r.integer("depth")); }},
        {"spawn_join", {"count", "phase"}, [](const request& r) { return r.integer("count"); }},
        {"yield", {"tasks", "yields"}, [](const request& r) { return r.integer("tasks") * r.integer("yields"); }},
    }};
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

phase_watch::phase_watch(const request& r, stopwatch& watch) : timed_{phase::total}, watch_{watch} {
    const std::string name = r.choice("phase", {"spawn", "join", "total"});
    if (name != "total") {
        timed_ = name == "spawn" ? phase::spawn : phase::join;
    }
}

void phase_watch::spawning() noexcept {
    if (timed_ != phase::join) {
        watch_.start();
    }
}

void phase_watch::joining() noexcept {
    if (timed_ == phase::spawn) {
        watch_.stop();
    } else if (timed_ == phase::join) {
        watch_.start();
    }
}

void phase_watch::joined() noexcept {
    if (timed_ != phase::spawn) {
        watch_.stop();
    }
}

}  // namespace harness
