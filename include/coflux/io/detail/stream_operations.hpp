// The awaits of tcp_stream and tcp_listener.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include <coflux/io/detail/io_operation.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/result.hpp>
#include <coflux/io/socket_options.hpp>

namespace coflux {

class tcp_stream;

namespace detail {

/// The operations of a stream of bytes: those of sockets, of pipes, and of a writer that was aborted.
struct byte_kinds {
    const io_kind& read_some;
    const io_kind& read_buffers;
    const io_kind& read_exactly;
    const io_kind& write_some;
    const io_kind& write_all;
    const io_kind& write_some_buffers;
    const io_kind& write_buffers;
    /// Does not wait. Returns how many bytes were sent; negative: an error.
    std::ptrdiff_t (*write_now)(descriptor& on, std::span<const std::byte> from) noexcept;

    static const byte_kinds of_sockets;
    static const byte_kinds of_pipes;
    static const byte_kinds of_aborted;
};

/// The base of all transfers of bytes: where these are, how many were moved, and how it ended.
class transfer_operation : public io_operation {
public:
    [[nodiscard]] bool await_ready() noexcept { return size_ == 0 ? is_done_at_once() : try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }

protected:
    transfer_operation(promise_base& p, descriptor& on, const io_kind& kind, const std::byte* data,
                       std::size_t size) noexcept
        : io_operation(p, on, kind),
          data_(const_cast<std::byte*>(data)),
          size_(size) {}

    /// How many bytes were moved.
    /// Errors: std::system_error, whose text says `what` of the peer if it is there; end_of_stream.
    std::size_t count_or_throw(const char* what = nullptr) {
        resumed();
        if (error_ < 0 || ended_) [[unlikely]]
            throw_failure(what);
        return count_;
    }
    io_result<std::size_t> count_or_error() noexcept {
        resumed();
        if (error_ < 0 || ended_) [[unlikely]]
            return failure();
        return count_;
    }

    friend struct byte_transfer;

    std::byte* data_;
    std::size_t size_;
    std::size_t count_ = 0;
    std::ptrdiff_t error_ = 0;  // negative: that of the system
    bool ended_ = false;        // the peer has ended its side before all was read

private:
    [[noreturn]] COFLUX_COLD void throw_failure(const char* what) const;
    [[nodiscard]] COFLUX_COLD std::error_code failure() const noexcept;
};

/// Moves the bytes of one span. `Value`: std::size_t where that is some of them, void where it is all.
template <typename Value, typename Byte>
class transfer_awaiter : public transfer_operation {
public:
    transfer_awaiter(promise_base& p, descriptor_handle& on, std::span<Byte> bytes, const io_kind& how) noexcept
        : transfer_operation(p, on.get(), how, bytes.data(), bytes.size()) {}
    Value await_resume() { return static_cast<Value>(count_or_throw()); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }
};

/// The buffers of a transfer. Where all is to be moved: those that are not moved, or not wholly.
template <typename Byte>
class buffers_operation : public transfer_operation {
protected:
    buffers_operation(promise_base& p, descriptor& on, const io_kind& kind,
                      std::span<const std::span<Byte>> buffers) noexcept
        : transfer_operation(p, on, kind, nullptr, bytes_in(buffers)),
          buffers_(buffers) {}

private:
    friend struct byte_transfer;
    static std::size_t bytes_in(std::span<const std::span<Byte>> buffers) noexcept {
        std::size_t n = 0;
        for (const auto& b : buffers) n += b.size();
        return n;
    }

    std::span<const std::span<Byte>> buffers_;
    std::size_t moved_ = 0;  // of the first of them
};

/// Moves the bytes of several buffers, one after the other.
template <typename Value, typename Byte>
class buffers_awaiter : public buffers_operation<Byte> {
public:
    buffers_awaiter(promise_base& p, descriptor_handle& on, std::span<const std::span<Byte>> buffers,
                    const io_kind& how) noexcept
        : buffers_operation<Byte>(p, on.get(), how, buffers) {}
    Value await_resume() { return static_cast<Value>(this->count_or_throw()); }
    io_result<std::size_t> resume_with_result() noexcept { return this->count_or_error(); }
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

protected:
    /// Errors: std::system_error.
    descriptor_handle take_or_throw();
    io_result<descriptor_handle> take_or_error();

private:
    static bool accept(io_operation& op) noexcept;
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_it(io_operation& op, std::ptrdiff_t accepted) noexcept;
    static const io_kind kind;
    descriptor_handle take();

    int accepted_ = -1;  // or the negative error
    bool has_it_ = false;
    bool must_poll_ = false;        // the system had no number for what may come
    std::uint8_t passed_over_ = 0;  // connections that were gone, where the system accepts
    std::uint32_t peer_size_ = 0;   // of peer_, in the system's type
    endpoint peer_;
};

/// A connection from the backlog; else a handle that is not open.
/// Errors: std::system_error.
[[nodiscard]] descriptor_handle accept_now(const descriptor_handle& listener);

/// The socket lies in the awaiter until it is connected.
class connecting {
protected:
    enum class to_what : std::uint8_t { any, local };
    /// An error of the system is kept for the await, and `socket_` then has no number.
    /// Errors: std::bad_alloc.
    connecting(const endpoint& to, to_what allowed);
    /// Errors: std::bad_alloc, std::invalid_argument.
    connecting(const endpoint& to, const tcp_options& options);
    descriptor_handle socket_;
    bool delays_ = false;  // small messages are not sent at once
    std::ptrdiff_t error_ = 0;
    const char* failing_ = "connect to";      // what an error is of
    const endpoint* failing_from_ = nullptr;  // the source that was refused; it is an argument of the operation
};
class connect_awaiter : private connecting, public io_operation {
public:
    connect_awaiter(promise_base& p, const endpoint& to) : connect_awaiter(p, to, to_what::any) {}
    connect_awaiter(promise_base& p, const endpoint& to, const tcp_options& options)
        : connecting(to, options),
          io_operation(p, socket_.get(), kind) {}
    [[nodiscard]] bool await_ready() noexcept { return error_ < 0 ? is_done_at_once() : try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    tcp_stream await_resume();
    io_result<tcp_stream> resume_with_result();

protected:
    using connecting::to_what;
    connect_awaiter(promise_base& p, const endpoint& to, to_what allowed)
        : connecting(to, allowed),
          io_operation(p, socket_.get(), kind) {}
    /// Errors: std::system_error.
    descriptor_handle take_or_throw();
    io_result<descriptor_handle> take_or_error();

private:
    static bool connect(io_operation& op) noexcept;
    static bool ask(io_operation& op, io_submission& call) noexcept;
    static bool take_it(io_operation& op, std::ptrdiff_t result) noexcept;
    static const io_kind kind;
    descriptor_handle take();

    bool begun_ = false;
};

template <typename Value, typename Byte>
using transfer_request = io_request<transfer_awaiter<Value, Byte>, descriptor_handle&, std::span<Byte>, const io_kind&>;
template <typename Value, typename Byte>
using buffers_request =
    io_request<buffers_awaiter<Value, Byte>, descriptor_handle&, std::span<const std::span<Byte>>, const io_kind&>;
using wait_readable_request = io_request<wait_readable_awaiter, descriptor_handle&>;
using accept_request = io_request<accept_awaiter, descriptor_handle&>;
using connect_request = io_request<connect_awaiter, endpoint>;
using connect_with_request = io_request<connect_awaiter, endpoint, tcp_options>;

}  // namespace detail
}  // namespace coflux
