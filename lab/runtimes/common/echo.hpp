// The messages of client and server of echo, and the server's process (docs/bench/echo.md).
#pragma once

#include "definitions.hpp"
#include "harness.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace harness {

inline constexpr std::size_t echo_size = 19;
using echo_message = std::array<std::byte, echo_size>;

// An answer or a request that is not as it must be.
struct wrong_message : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[nodiscard]] echo_message echo_request(std::uint64_t number) noexcept;

// Checks a request and returns its answer; throws wrong_message.
[[nodiscard]] echo_message echo_answer(std::span<const std::byte> request);

// The client's side of a pass: what to send next, and the sum over what came back.
class echo_client {
public:
    [[nodiscard]] echo_message next() noexcept { return echo_request(++number_); }
    // Throws wrong_message where it is not the answer to the last.
    void received(std::span<const std::byte> answer);
    [[nodiscard]] std::uint64_t answer() const noexcept { return sum_.value(); }

private:
    std::uint64_t number_ = 0;
    ordered_sum sum_;
};

enum class transport { tcp, udp, unix_stream, unix_datagram, pipe, shm_spin, shm_sem };

struct echo_work {
    explicit echo_work(const request& r);

    transport over;
    bool two_processes;
    std::uint64_t rounds;

    // Throws unsupported_params for what has no kernel between the two.
    void require_kernel(const char* runtime) const;
};

// An abstract name of a Unix socket that only this process and its children have: a zero byte, and characters.
[[nodiscard]] std::string abstract_name(std::string_view who);

// Another process with the server in it, ended and reaped when this is destroyed. Make it before any thread, and its
// sockets where both sides have them. It moves to the
// CPUs that this process may not run on, where there are any.
class server_process {
public:
    // Tells the client that the server listens, and where; 0 where it knows.
    using publish = std::function<void(std::uint16_t port)>;

    explicit server_process(const std::function<void(const publish&)>& serve);
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    pid_t process_ = -1;
    std::uint16_t port_ = 0;
};

}  // namespace harness
