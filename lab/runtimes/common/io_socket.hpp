// The messages of client and server of io_socket (docs/bench/io_socket.md).
#pragma once

#include "definitions.hpp"
#include "harness.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace harness {

struct socket_work {
    explicit socket_work(const request& r);

    std::uint64_t connections;
    std::uint64_t requests;  // of each connection
    std::size_t request_bytes;
    std::size_t response_bytes;

    static constexpr std::size_t buffer_bytes = 4'096;
};

// The client's side of a connection. Also the server's, which checks requests and makes responses.
class socket_client {
public:
    explicit socket_client(const socket_work& work);

    // The next request, or nothing.
    [[nodiscard]] std::span<const std::byte> next() noexcept;
    // Throws where the whole response is not the one to the last request.
    void received(std::span<const std::byte> response);
    [[nodiscard]] std::uint64_t answer() const noexcept { return sum_.value(); }

private:
    std::vector<std::byte> request_;
    std::uint64_t left_;
    std::uint64_t number_ = 0;
    std::size_t response_bytes_;
    ordered_sum sum_;
};

class socket_server {
public:
    explicit socket_server(const socket_work& work);

    // The response to a whole request; throws where that is not the next one.
    [[nodiscard]] std::span<const std::byte> answer(std::span<const std::byte> request);

private:
    std::vector<std::byte> response_;
    std::uint64_t number_ = 0;
    std::size_t request_bytes_;
};

}  // namespace harness
