// The awaits of unix_listener and unix_stream that tcp_stream has not.
#pragma once

#include <cstddef>
#include <span>

#include <coflux/io/detail/stream_operations.hpp>
#include <coflux/io/owned_descriptor.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class unix_stream;

namespace detail {

class unix_accept_awaiter : public accept_awaiter {
public:
    using accept_awaiter::accept_awaiter;
    unix_stream await_resume();
    io_result<unix_stream> resume_with_result();
};

class unix_connect_awaiter : public connect_awaiter {
public:
    /// Errors: std::bad_alloc.
    unix_connect_awaiter(promise_base& p, const endpoint& to);
    unix_stream await_resume();
    io_result<unix_stream> resume_with_result();
};

/// Sends all bytes, the first of them with the descriptors.
class send_descriptors_awaiter : public transfer_operation {
public:
    send_descriptors_awaiter(promise_base& p, descriptor_handle& on, std::span<const int> descriptors,
                             std::span<const std::byte> with) noexcept;
    void await_resume() { (void)count_or_throw("send descriptors to"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static bool send(io_operation& op) noexcept;
    static const io_kind kind;

    std::span<const int> descriptors_;
};

class receive_descriptors_awaiter : public transfer_operation {
public:
    receive_descriptors_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into,
                                std::span<owned_descriptor> descriptors) noexcept
        : transfer_operation(p, on.get(), kind, into.data(), into.size()),
          descriptors_(descriptors) {}
    bytes_and_descriptors await_resume() { return {count_or_throw("receive descriptors from"), came_}; }
    io_result<bytes_and_descriptors> resume_with_result() noexcept;

private:
    static bool receive(io_operation& op) noexcept;
    static const io_kind kind;

    std::span<owned_descriptor> descriptors_;
    std::size_t came_ = 0;
};

using unix_accept_request = io_request<unix_accept_awaiter, descriptor_handle&>;
using unix_connect_request = io_request<unix_connect_awaiter, endpoint>;
using send_descriptors_request =
    io_request<send_descriptors_awaiter, descriptor_handle&, std::span<const int>, std::span<const std::byte>>;
using receive_descriptors_request =
    io_request<receive_descriptors_awaiter, descriptor_handle&, std::span<std::byte>, std::span<owned_descriptor>>;

}  // namespace detail
}  // namespace coflux
