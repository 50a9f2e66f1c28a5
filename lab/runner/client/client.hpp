// What the two loads of lab_load share: raw sockets, the clock, and how a pass is told.
#pragma once

#include "latencies.hpp"

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace load {

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

/// A call of the system that failed, with the reason.
[[noreturn]] void fail(const std::string& what);

/// Closes what it holds.
class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) : fd_{fd} {}
    descriptor(descriptor&& other) noexcept : fd_{other.fd_} { other.fd_ = -1; }
    descriptor& operator=(descriptor&& other) noexcept;
    ~descriptor();
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_ = -1;
};

/// 127.0.0.1 with this port, or 127.0.0.`last`.
[[nodiscard]] sockaddr_in loopback(std::uint16_t port, std::uint32_t last = 1) noexcept;

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
