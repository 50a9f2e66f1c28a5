#include "byte_transfer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "descriptor.hpp"
#include "io_counts.hpp"
#include "os/net/socket.hpp"

namespace coflux::detail {
namespace {

using system_buffers = std::array<os::buffer, os::most_buffers>;

/// Returns how many of `to` it has filled: those of `from` that are not empty, the first without its first `skipped`.
template <typename Byte>
std::size_t gather(std::span<const std::span<Byte>> from, std::size_t skipped, system_buffers& to) noexcept {
    std::size_t n = 0;
    for (std::size_t i = 0; i < from.size() && n < to.size(); ++i) {
        const auto rest = from[i].subspan(i == 0 ? skipped : 0);
        if (!rest.empty()) to[n++] = {const_cast<std::byte*>(rest.data()), rest.size()};
    }
    return n;
}

}  // namespace

/// True: the operation ends, in `t`.
bool byte_transfer::take_result(transfer_operation& t, std::ptrdiff_t moved) noexcept {
    if (os::would_block(moved)) return false;
    io_counts::count_bytes(t.way(), moved);
    if (moved < 0) {
        t.error_ = moved;
    } else {
        t.count_ += static_cast<std::size_t>(moved);
    }
    return true;
}

bool byte_transfer::some(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<transfer_operation&>(op);
    const os::buffer one{t.data_, t.size_};
    return take_result(t, call(t.on(), &one, 1));
}

/// `call(at, size)` moves some of what is left.
template <typename Call>
bool byte_transfer::move_all(io_operation& op, Call call) noexcept {
    auto& t = static_cast<transfer_operation&>(op);
    while (t.count_ != t.size_) {
        const std::ptrdiff_t moved = call(t.data_ + t.count_, t.size_ - t.count_);
        if (os::would_block(moved)) return false;
        // [io.move_all.rest]
        if (take_all(op, moved)) return true;
    }
    return true;
}

bool byte_transfer::all(io_operation& op, system_call call) noexcept {
    return move_all(op, [&](std::byte* at, std::size_t size) noexcept {
        const os::buffer rest{at, size};
        return call(op.on(), &rest, 1);
    });
}

bool byte_transfer::read_buffers(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<buffers_operation<std::byte>&>(op);
    system_buffers to;
    const std::size_t n = gather(t.buffers_, 0, to);
    return take_result(t, call(t.on(), to.data(), n));
}

bool byte_transfer::write_some_buffers(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<buffers_operation<const std::byte>&>(op);
    system_buffers from;
    const std::size_t n = gather(t.buffers_, 0, from);
    return take_result(t, call(t.on(), from.data(), n));
}

bool byte_transfer::write_buffers(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<buffers_operation<const std::byte>&>(op);
    // [io.send_buffers.loop]
    while (t.count_ != t.size_) {
        system_buffers from;
        // [io.send_buffers.gather]
        const std::size_t n = gather(t.buffers_, t.moved_, from);
        const std::ptrdiff_t moved = call(t.on(), from.data(), n);
        if (!take_result(t, moved)) return false;
        if (moved <= 0) return true;
        t.moved_ += static_cast<std::size_t>(moved);
        while (!t.buffers_.empty() && t.moved_ >= t.buffers_.front().size()) {
            t.moved_ -= t.buffers_.front().size();
            t.buffers_ = t.buffers_.subspan(1);
        }
    }
    return true;
}

bool byte_transfer::is_aborted(io_operation& op) noexcept {
    static_cast<transfer_operation&>(op).error_ = -EPIPE;
    return true;
}

bool byte_transfer::ask_to_read(io_operation& op, io_submission& call) noexcept {
    (void)ask(op, call);
    call.call = io_submission::kind::read;
    return true;
}

bool byte_transfer::receive_some(io_operation& op) noexcept {
    auto& t = static_cast<transfer_operation&>(op);
    const std::ptrdiff_t got = t.on().calls.receive(t.on().number, t.data_, t.size_);
    if (got >= 0) t.on().note_read(static_cast<std::size_t>(got), t.size_);
    return take_result(t, got);
}

bool byte_transfer::receive_all(io_operation& op) noexcept {
    return move_all(
        op, [&](std::byte* at, std::size_t size) noexcept { return op.on().calls.receive(op.on().number, at, size); });
}

bool byte_transfer::send_some(io_operation& op) noexcept {
    auto& t = static_cast<transfer_operation&>(op);
    return take_result(t, t.on().calls.send(t.on().number, t.data_, t.size_));
}

bool byte_transfer::send_all(io_operation& op) noexcept {
    return move_all(op, [&](const std::byte* at, std::size_t size) noexcept {
        return op.on().calls.send(op.on().number, at, size);
    });
}

bool byte_transfer::ask(io_operation& op, io_submission& call) noexcept {
    const auto& t = static_cast<transfer_operation&>(op);
    call.call = op.way() == direction::in ? io_submission::kind::receive : io_submission::kind::send;
    call.address = t.data_ + t.count_;
    call.size = t.size_ - t.count_;
    return true;
}
bool byte_transfer::take_some(io_operation& op, std::ptrdiff_t moved) noexcept {
    return take_result(static_cast<transfer_operation&>(op), moved);
}
bool byte_transfer::take_all(io_operation& op, std::ptrdiff_t moved) noexcept {
    auto& t = static_cast<transfer_operation&>(op);
    (void)take_result(t, moved);
    // [io.take_all.end]
    if (moved == 0) t.ended_ = op.way() == direction::in;
    return moved < 0 || t.ended_ || t.count_ == t.size_;
}

void transfer_operation::throw_failure(const char* what) const {
    if (error_ >= 0) throw end_of_stream(count_);
    throw_io_error(error_, what != nullptr ? what : way() == direction::in ? "read from" : "write to", on().peer);
}
std::error_code transfer_operation::failure() const noexcept {
    return error_ < 0 ? io_error(error_) : std::make_error_code(std::errc::no_message_available);
}

// --- sockets

namespace {

std::ptrdiff_t receive_into(descriptor& on, const os::buffer* into, std::size_t buffers) noexcept {
    return on.calls.receive_buffers(on.number, into, buffers);
}
std::ptrdiff_t send_from(descriptor& on, const os::buffer* from, std::size_t buffers) noexcept {
    return on.calls.send_buffers(on.number, from, buffers);
}

std::ptrdiff_t send_once(descriptor& on, std::span<const std::byte> from) noexcept {
    return on.calls.send_now(on.number, from.data(), from.size());
}
std::ptrdiff_t refuse_once(descriptor&, std::span<const std::byte>) noexcept {
    return -EPIPE;
}

constexpr wait_kind bytes_of_a_socket = stops_io("bytes of a socket");
constexpr wait_kind room_in_a_socket = stops_io("room in a socket");

constinit const io_kind socket_read_some{&byte_transfer::receive_some, direction::in, bytes_of_a_socket,
                                         &byte_transfer::ask, &byte_transfer::take_some};
constinit const io_kind socket_read_exactly{&byte_transfer::receive_all, direction::in, bytes_of_a_socket,
                                            &byte_transfer::ask, &byte_transfer::take_all};
constinit const io_kind socket_write_some{&byte_transfer::send_some, direction::out, room_in_a_socket,
                                          &byte_transfer::ask, &byte_transfer::take_some};
constinit const io_kind socket_write_all{&byte_transfer::send_all, direction::out, room_in_a_socket,
                                         &byte_transfer::ask, &byte_transfer::take_all};
constinit const io_kind socket_read_buffers{
    [](io_operation& op) noexcept { return byte_transfer::read_buffers(op, &receive_into); }, direction::in,
    bytes_of_a_socket};
constinit const io_kind socket_write_some_buffers{
    [](io_operation& op) noexcept { return byte_transfer::write_some_buffers(op, &send_from); }, direction::out,
    room_in_a_socket};
constinit const io_kind socket_write_buffers{
    [](io_operation& op) noexcept { return byte_transfer::write_buffers(op, &send_from); }, direction::out,
    room_in_a_socket};
constinit const io_kind refuses_to_write{&byte_transfer::is_aborted, direction::out, stops_io("an aborted connection")};

}  // namespace

constinit const byte_kinds byte_kinds::of_sockets{
    socket_read_some, socket_read_buffers,       socket_read_exactly,  socket_write_some,
    socket_write_all, socket_write_some_buffers, socket_write_buffers, send_once};

/// Only a writer has them.
constinit const byte_kinds byte_kinds::of_aborted{socket_read_some, socket_read_buffers, socket_read_exactly,
                                                  refuses_to_write, refuses_to_write,    refuses_to_write,
                                                  refuses_to_write, refuse_once};

}  // namespace coflux::detail
