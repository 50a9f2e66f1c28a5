#include "io_socket.hpp"

#include <bit>
#include <cstring>

namespace harness {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers go over the wire as they lie in memory");

constexpr std::byte of_request{'q'};
constexpr std::byte of_response{'r'};

// Throws where it is not as long, does not end in this letter, or has another number.
void check(std::span<const std::byte> message, std::size_t size, std::byte letter, std::uint64_t number) {
    std::uint64_t had = 0;
    if (message.size() == size) {
        std::memcpy(&had, message.data(), sizeof had);
    }
    if (message.size() != size || message.back() != letter || had != number) {
        throw std::runtime_error{"a message of " + std::to_string(message.size()) + " bytes with the number " +
                                 std::to_string(had) + " came in place of number " + std::to_string(number)};
    }
}

}  // namespace

socket_work::socket_work(const request& r)
    : connections{r.integer("connections")},
      requests{connections == 0 ? 0 : r.integer("requests") / connections},
      request_bytes{r.integer("request_bytes")},
      response_bytes{r.integer("response_bytes")} {
    const auto fits = [](std::size_t bytes) { return bytes > sizeof(std::uint64_t) && bytes <= buffer_bytes; };
    if (connections == 0 || !fits(request_bytes) || !fits(response_bytes)) {
        throw usage_error{"--params needs connections, and messages of 9 to 4096 bytes"};
    }
}

socket_client::socket_client(const socket_work& work)
    : request_(work.request_bytes, of_request),
      left_{work.requests},
      response_bytes_{work.response_bytes} {}

std::span<const std::byte> socket_client::next() noexcept {
    if (left_ == 0) {
        return {};
    }
    --left_;
    ++number_;
    std::memcpy(request_.data(), &number_, sizeof number_);
    return request_;
}

void socket_client::received(std::span<const std::byte> response) {
    check(response, response_bytes_, of_response, number_);
    sum_.add(number_);
}

socket_server::socket_server(const socket_work& work)
    : response_(work.response_bytes, of_response),
      request_bytes_{work.request_bytes} {}

std::span<const std::byte> socket_server::answer(std::span<const std::byte> request) {
    check(request, request_bytes_, of_request, ++number_);
    std::memcpy(response_.data(), &number_, sizeof number_);
    return response_;
}

}  // namespace harness
