// The file of a local socket.
#pragma once

#include <cstdint>
#include <utility>

#include <coflux/io/endpoint.hpp>

namespace coflux::detail {

/// Removes the file of a local socket when it dies, if it still is the one that the socket was bound to.
class bound_path {
public:
    bound_path() noexcept = default;
    /// Pre: a socket has just been bound to `at`, which may be an abstract name: then there is no file.
    explicit bound_path(const endpoint& at) noexcept;
    bound_path(bound_path&& other) noexcept { *this = std::move(other); }
    bound_path& operator=(bound_path&& other) noexcept;
    ~bound_path() { remove(); }

    void remove() noexcept;

private:
    endpoint at_;
    std::uint64_t device_ = 0;
    std::uint64_t number_ = 0;  // 0: there is no file
};

}  // namespace coflux::detail
