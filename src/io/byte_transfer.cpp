#include "byte_transfer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "descriptor.hpp"
#include "os/socket.hpp"

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
bool byte_transfer::take_result(transfer_awaiter& t, std::ptrdiff_t moved) noexcept {
    if (os::would_block(moved)) return false;
    if (moved < 0) {
        t.error_ = moved;
    } else {
        t.count_ += static_cast<std::size_t>(moved);
    }
    return true;
}

bool byte_transfer::some(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<transfer_awaiter&>(op);
    const os::buffer one{t.data_, t.size_};
    return take_result(t, call(t.on(), &one, 1));
}

bool byte_transfer::all(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<transfer_awaiter&>(op);
    while (t.count_ != t.size_) {
        const os::buffer rest{t.data_ + t.count_, t.size_ - t.count_};
        const std::ptrdiff_t moved = call(t.on(), &rest, 1);
        if (!take_result(t, moved)) return false;
        if (moved == 0) t.ended_ = true;
        if (moved <= 0) return true;
    }
    return true;
}

bool byte_transfer::read_buffers(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<read_buffers_awaiter&>(op);
    system_buffers to;
    const std::size_t n = gather(t.buffers_, 0, to);
    return take_result(t, call(t.on(), to.data(), n));
}

bool byte_transfer::write_some_buffers(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<write_some_buffers_awaiter&>(op);
    system_buffers from;
    const std::size_t n = gather(t.buffers_, 0, from);
    return take_result(t, call(t.on(), from.data(), n));
}

bool byte_transfer::write_buffers(io_operation& op, system_call call) noexcept {
    auto& t = static_cast<write_buffers_awaiter&>(op);
    // [io.send_buffers.loop]
    while (t.count_ != t.size_) {
        system_buffers from;
        // [io.send_buffers.gather]
        const std::size_t n = gather(t.buffers_, t.sent_, from);
        const std::ptrdiff_t moved = call(t.on(), from.data(), n);
        if (!take_result(t, moved)) return false;
        if (moved <= 0) return true;
        t.sent_ += static_cast<std::size_t>(moved);
        while (!t.buffers_.empty() && t.sent_ >= t.buffers_.front().size()) {
            t.sent_ -= t.buffers_.front().size();
            t.buffers_ = t.buffers_.subspan(1);
        }
    }
    return true;
}

bool byte_transfer::is_aborted(io_operation& op) noexcept {
    static_cast<transfer_awaiter&>(op).error_ = -EPIPE;
    return true;
}

bool byte_transfer::ask_to_read(io_operation& op, io_submission& call) noexcept {
    (void)transfer_awaiter::ask(op, call);
    call.call = io_submission::kind::read;
    return true;
}
bool byte_transfer::take_some(io_operation& op, std::ptrdiff_t moved) noexcept {
    return transfer_awaiter::take_some(op, moved);
}
bool byte_transfer::take_all(io_operation& op, std::ptrdiff_t moved) noexcept {
    return transfer_awaiter::take_all(op, moved);
}

}  // namespace coflux::detail
