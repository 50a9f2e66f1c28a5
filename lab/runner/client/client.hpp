// The common part of the two loads of lab_load: raw sockets, the clock, and how a pass is told.
#pragma once

#include "latencies.hpp"
#include "raw_sockets.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace load {

using harness::descriptor;
using harness::fail;
using harness::loopback;

using clock = std::chrono::steady_clock;

struct options {
    std::uint16_t port = 0;
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t bytes = 64;
    std::uint64_t rate = 0;  // requests a second; 0: a closed loop
    std::uint64_t in_flight = 1;
    bool own_cpu = false;
};

/// A server that is silent for so long ends the load.
inline constexpr int silence_ms = 20'000;

/// One kind of load. A pass throws where an answer is not right.
class kind {
public:
    virtual ~kind() = default;
    /// Returns the answer of the workload.
    virtual std::uint64_t pass(harness::latencies& waits) = 0;
};

[[nodiscard]] std::unique_ptr<kind> make_echo(const options& o);
[[nodiscard]] std::unique_ptr<kind> make_churn(const options& o);

}  // namespace load
