// What every adapter shares of the workloads' definitions, so that two runtimes cannot differ by a slip: names of the
// parameters, item counts, and the arithmetic of the trees. The runner states the item counts a second time in
// lab/workloads and compares the two.
#pragma once

#include "harness.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

// Empty for a workload that this file does not know.
[[nodiscard]] std::vector<std::string> parameters_of(std::string_view workload);
[[nodiscard]] std::optional<std::uint64_t> items_of(const request& r);

// How often fib(n) forks: once in every call with n >= 2.
[[nodiscard]] std::uint64_t fib_forks(std::uint64_t n) noexcept;
// 10 to the power of depth.
[[nodiscard]] std::uint64_t skynet_leaves(std::uint64_t depth) noexcept;
// All tasks of skynet's tree, the root included.
[[nodiscard]] std::uint64_t skynet_tasks(std::uint64_t depth) noexcept;

// The clock of spawn_join: runs in the phase that the request asks for. Each member is called once, in this order.
class phase_watch {
public:
    phase_watch(const request& r, stopwatch& watch);

    void spawning() noexcept;  // before the first task is made
    void joining() noexcept;   // all are made, none is awaited yet
    void joined() noexcept;    // all were awaited

private:
    enum class phase { spawn, join, total };

    phase timed_;
    stopwatch& watch_;
};

}  // namespace harness
