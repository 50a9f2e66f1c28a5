// The awaits of tcp_stream and tcp_listener.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>

#include <coflux/io/detail/io_operation.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class tcp_stream;

namespace detail {

/// Moves bytes between a socket and a span.
class transfer_awaiter : public io_operation {
public:
    [[nodiscard]] bool await_ready() noexcept { return size_ == 0 || try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }

protected:
    transfer_awaiter(promise_base& p, descriptor& on, const io_kind& kind, void* data, std::size_t size) noexcept
        : io_operation(p, on, kind),
          data_(static_cast<std::byte*>(data)),
          size_(size) {}

    /// How many bytes were moved.
    /// Errors: std::system_error.
    std::size_t count_or_throw(const char* what) {
        resumed();
        if (error_ < 0) throw_io_error(error_, what, peer());
        return count_;
    }
    io_result<std::size_t> count_or_error() noexcept {
        resumed();
        if (error_ < 0) return io_error(error_);
        return count_;
    }
    [[nodiscard]] const endpoint& peer() const noexcept;

    static bool receive_some(io_operation& op) noexcept;
    static bool receive_all(io_operation& op) noexcept;
    static bool send_some(io_operation& op) noexcept;
    static bool send_all(io_operation& op) noexcept;
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_some(io_operation& op, std::ptrdiff_t moved) noexcept;
    static bool take_all(io_operation& op, std::ptrdiff_t moved) noexcept;

    std::byte* data_;
    std::size_t size_;
    std::size_t count_ = 0;
    std::ptrdiff_t error_ = 0;  // negative: that of the system
    bool ended_ = false;        // the peer has ended its side
};

class read_some_awaiter : public transfer_awaiter {
public:
    read_some_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into) noexcept
        : transfer_awaiter(p, on.get(), kind, into.data(), into.size()) {}
    std::size_t await_resume() { return count_or_throw("read from"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static const io_kind kind;
};

class read_exactly_awaiter : public transfer_awaiter {
public:
    read_exactly_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into) noexcept
        : transfer_awaiter(p, on.get(), kind, into.data(), into.size()) {}
    void await_resume();
    io_result<std::size_t> resume_with_result() noexcept;

private:
    static const io_kind kind;
};

class write_some_awaiter : public transfer_awaiter {
public:
    write_some_awaiter(promise_base& p, descriptor_handle& on, std::span<const std::byte> from) noexcept
        : transfer_awaiter(p, on.get(), kind, const_cast<std::byte*>(from.data()), from.size()) {}
    std::size_t await_resume() { return count_or_throw("write to"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static const io_kind kind;
};

class write_all_awaiter : public transfer_awaiter {
public:
    write_all_awaiter(promise_base& p, descriptor_handle& on, std::span<const std::byte> from) noexcept
        : transfer_awaiter(p, on.get(), kind, const_cast<std::byte*>(from.data()), from.size()) {}
    void await_resume() { (void)count_or_throw("write to"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static const io_kind kind;
};

class wait_readable_awaiter : public io_operation {
public:
    wait_readable_awaiter(promise_base& p, descriptor_handle& on) noexcept : io_operation(p, on.get(), kind) {}
    [[nodiscard]] bool await_ready() noexcept { return try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    void await_resume() noexcept { resumed(); }
    io_result<void> resume_with_result() noexcept {
        resumed();
        return {};
    }

private:
    static bool look(io_operation& op) noexcept;
    static const io_kind kind;
};

class accept_awaiter : public io_operation {
public:
    accept_awaiter(promise_base& p, descriptor_handle& on) noexcept : io_operation(p, on.get(), kind) {}
    ~accept_awaiter();
    [[nodiscard]] bool await_ready() noexcept { return try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    tcp_stream await_resume();
    io_result<tcp_stream> resume_with_result();

private:
    static bool accept(io_operation& op) noexcept;
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_it(io_operation& op, std::ptrdiff_t accepted) noexcept;
    static const io_kind kind;
    tcp_stream stream();
    descriptor_handle take();

    int accepted_ = -1;  // or the negative error
    bool has_it_ = false;
    std::uint32_t peer_size_ = 0;  // of peer_, in the system's type
    endpoint peer_;
};

/// The socket lies in the awaiter until it is connected.
class connecting {
protected:
    /// Errors: std::system_error, std::bad_alloc.
    explicit connecting(const endpoint& to);
    descriptor_handle socket_;
};
class connect_awaiter : private connecting, public io_operation {
public:
    connect_awaiter(promise_base& p, const endpoint& to) : connecting(to), io_operation(p, socket_.get(), kind) {}
    [[nodiscard]] bool await_ready() noexcept { return try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    tcp_stream await_resume();
    io_result<tcp_stream> resume_with_result();

private:
    static bool connect(io_operation& op) noexcept;
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_it(io_operation& op, std::ptrdiff_t result) noexcept;
    static const io_kind kind;
    tcp_stream stream();
    descriptor_handle take();

    std::ptrdiff_t error_ = 0;
    bool begun_ = false;
};

using read_some_request = io_request<read_some_awaiter, descriptor_handle&, std::span<std::byte>>;
using read_exactly_request = io_request<read_exactly_awaiter, descriptor_handle&, std::span<std::byte>>;
using write_some_request = io_request<write_some_awaiter, descriptor_handle&, std::span<const std::byte>>;
using write_all_request = io_request<write_all_awaiter, descriptor_handle&, std::span<const std::byte>>;
using wait_readable_request = io_request<wait_readable_awaiter, descriptor_handle&>;
using accept_request = io_request<accept_awaiter, descriptor_handle&>;
using connect_request = io_request<connect_awaiter, endpoint>;

}  // namespace detail
}  // namespace coflux
