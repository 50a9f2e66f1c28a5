// The awaits of datagram_socket.
#pragma once

#include <coroutine>
#include <cstddef>
#include <span>

#include <coflux/io/datagram_types.hpp>
#include <coflux/io/detail/io_operation.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

namespace detail {

/// The room for a message's header as the system has it (src/os/net/message.hpp).
inline constexpr std::size_t message_header_size = 9 * sizeof(void*);

/// Errors are those of the system.
class datagram_awaiter : public io_operation {
public:
    [[nodiscard]] bool await_ready() noexcept { return try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }

protected:
    using io_operation::io_operation;

    /// Errors: std::system_error.
    void resume_or_throw(const char* what);
    /// After the send of a message `to` there, or where the socket is connected to.
    void resume_or_throw_of_sending(const endpoint& to);
    [[nodiscard]] std::error_code resume_with_error() noexcept;
    /// True: the operation ends with `result`.
    [[nodiscard]] bool is_end(std::ptrdiff_t result) noexcept;

    std::ptrdiff_t error_ = 0;  // negative: that of the system
};

class receive_one_awaiter : public datagram_awaiter {
protected:
    receive_one_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into, const io_kind& kind) noexcept
        : datagram_awaiter(p, on.get(), kind),
          into_(into) {}
    static bool receive(io_operation& op) noexcept;
    /// The result of the system's call: the whole length of the message, or its negative error.
    void take_whole(std::ptrdiff_t whole) noexcept;

    std::span<std::byte> into_;
    datagram got_;
};

class receive_from_awaiter : public receive_one_awaiter {
public:
    receive_from_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into) noexcept
        : receive_one_awaiter(p, on, into, kind) {}
    datagram await_resume();
    io_result<datagram> resume_with_result() noexcept;

private:
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_it(io_operation& op, std::ptrdiff_t whole) noexcept;
    static const io_kind kind;

    alignas(void*) std::byte header_[message_header_size];  // of the call that the system makes
};

/// One that is truncated is an error.
class receive_whole_awaiter : public receive_one_awaiter {
public:
    receive_whole_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into) noexcept
        : receive_one_awaiter(p, on, into, kind) {}
    std::size_t await_resume();
    io_result<std::size_t> resume_with_result() noexcept;

private:
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_it(io_operation& op, std::ptrdiff_t whole) noexcept;
    static const io_kind kind;
    void refuse_truncated() noexcept;
};

class send_to_awaiter : public datagram_awaiter {
public:
    send_to_awaiter(promise_base& p, descriptor_handle& on, std::span<const std::byte> from,
                    const endpoint& to) noexcept
        : datagram_awaiter(p, on.get(), kind),
          from_(from),
          to_(to) {}
    void await_resume();
    io_result<void> resume_with_result() noexcept;

private:
    static bool send(io_operation& op) noexcept;
    static const io_kind kind;

    std::span<const std::byte> from_;
    endpoint to_;  // none: where the socket is connected to
};

class receive_batch_awaiter : public datagram_awaiter {
public:
    receive_batch_awaiter(promise_base& p, descriptor_handle& on, std::span<incoming_datagram> into) noexcept
        : datagram_awaiter(p, on.get(), kind),
          into_(into) {}
    [[nodiscard]] bool await_ready() noexcept { return into_.empty() ? is_done_at_once() : try_now(); }
    std::size_t await_resume();
    io_result<std::size_t> resume_with_result() noexcept;

private:
    static bool receive(io_operation& op) noexcept;
    static const io_kind kind;

    std::span<incoming_datagram> into_;
    std::size_t count_ = 0;
};

class send_batch_awaiter : public datagram_awaiter {
public:
    send_batch_awaiter(promise_base& p, descriptor_handle& on, std::span<const outgoing_datagram> from) noexcept
        : datagram_awaiter(p, on.get(), kind),
          from_(from) {}
    [[nodiscard]] bool await_ready() noexcept { return from_.empty() ? is_done_at_once() : try_now(); }
    std::size_t await_resume();
    io_result<std::size_t> resume_with_result() noexcept;

private:
    static bool send(io_operation& op) noexcept;
    static const io_kind kind;

    std::span<const outgoing_datagram> from_;
    std::size_t count_ = 0;
};

using receive_from_request = io_request<receive_from_awaiter, descriptor_handle&, std::span<std::byte>>;
using receive_whole_request = io_request<receive_whole_awaiter, descriptor_handle&, std::span<std::byte>>;
using send_to_request = io_request<send_to_awaiter, descriptor_handle&, std::span<const std::byte>, endpoint>;
using receive_batch_request = io_request<receive_batch_awaiter, descriptor_handle&, std::span<incoming_datagram>>;
using send_batch_request = io_request<send_batch_awaiter, descriptor_handle&, std::span<const outgoing_datagram>>;

}  // namespace detail
}  // namespace coflux
