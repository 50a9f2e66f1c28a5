// The client of echo_many, echo_pool and accept_churn, as the adapters see it: lab_load in a process of its
// own (docs/bench/echo_many.md).
#pragma once

#include "harness.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/types.h>

namespace harness {

// One load on a server of this process. The server must accept before it is made: it returns when all is connected.
class load_client {
public:
    // `r` is of echo_many, echo_pool or accept_churn.
    load_client(const request& r, std::uint16_t port);
    // Ends the process.
    ~load_client();
    load_client(const load_client&) = delete;
    load_client& operator=(const load_client&) = delete;

    // One pass, timed; returns its answer. Throws where the client found a wrong one or lost the server.
    [[nodiscard]] std::uint64_t pass(stopwatch& watch);

private:
    [[nodiscard]] std::string line();
    // The memory that this process has more of since the client was made, for each connection that waits for its next
    // request: a figure where they are so many that pages tell them.
    void tell_connections(stopwatch& watch) const;

    std::uint64_t connections_ = 0;
    std::uint64_t bytes_before_ = 0;
    pid_t process_ = -1;
    int orders_ = -1;
    std::FILE* reports_ = nullptr;
};

// Throws unsupported_params where the server may not have as many descriptors as the request has connections.
void require_descriptors(const request& r);

}  // namespace harness
