// The pipes to child processes.
#include <system_error>

#include <coflux/io/process.hpp>
#include <coflux/io/tcp.hpp>

#include "descriptor.hpp"
#include "os/child_process.hpp"
#include "os/socket.hpp"

namespace coflux::detail {
namespace {

constexpr wait_kind stops_child_wait_with(const char* what) noexcept {
    return {&io_operation::claim, &wait_operation::stop_claimed, what};
}

}  // namespace

std::size_t child_pipe_awaiter::count_or_throw(const char* what) {
    resumed();
    if (error_ < 0) throw_io_error(error_, what, on().peer);
    return count_;
}
io_result<std::size_t> child_pipe_awaiter::count_or_error() noexcept {
    resumed();
    if (error_ < 0) return io_error(error_);
    return count_;
}

bool child_pipe_awaiter::read_some(io_operation& op) noexcept {
    auto& t = static_cast<child_pipe_awaiter&>(op);
    const std::ptrdiff_t got = os::read_child_pipe(t.on().number, t.data_, t.size_);
    if (os::would_block(got)) return false;
    if (got < 0) {
        t.error_ = got;
    } else {
        t.count_ = static_cast<std::size_t>(got);
    }
    return true;
}
bool child_pipe_awaiter::read_all(io_operation& op) noexcept {
    auto& t = static_cast<child_pipe_awaiter&>(op);
    while (t.count_ != t.size_) {
        const std::ptrdiff_t got = os::read_child_pipe(t.on().number, t.data_ + t.count_, t.size_ - t.count_);
        if (os::would_block(got)) return false;
        if (got < 0) t.error_ = got;
        if (got == 0) t.ended_ = true;
        if (got <= 0) return true;
        t.count_ += static_cast<std::size_t>(got);
    }
    return true;
}
bool child_pipe_awaiter::write_some(io_operation& op) noexcept {
    auto& t = static_cast<child_pipe_awaiter&>(op);
    const std::ptrdiff_t sent = os::write_child_pipe(t.on().number, t.data_, t.size_);
    if (os::would_block(sent)) return false;
    if (sent < 0) {
        t.error_ = sent;
    } else {
        t.count_ = static_cast<std::size_t>(sent);
    }
    return true;
}
bool child_pipe_awaiter::write_all(io_operation& op) noexcept {
    auto& t = static_cast<child_pipe_awaiter&>(op);
    while (t.count_ != t.size_) {
        const std::ptrdiff_t sent = os::write_child_pipe(t.on().number, t.data_ + t.count_, t.size_ - t.count_);
        if (os::would_block(sent)) return false;
        if (sent < 0) {
            t.error_ = sent;
            return true;
        }
        t.count_ += static_cast<std::size_t>(sent);
    }
    return true;
}

constinit const io_kind child_read_awaiter::kind{&read_some, direction::in, stops_child_wait_with("bytes of a child")};
constinit const io_kind child_read_exactly_awaiter::kind{&read_all, direction::in,
                                                         stops_child_wait_with("bytes of a child")};
constinit const io_kind child_write_awaiter::kind{&write_some, direction::out,
                                                  stops_child_wait_with("room in a pipe to a child")};
constinit const io_kind child_write_all_awaiter::kind{&write_all, direction::out,
                                                      stops_child_wait_with("room in a pipe to a child")};

void child_read_exactly_awaiter::await_resume() {
    (void)count_or_throw("read from");
    if (ended_) throw end_of_stream(count_);
}
io_result<std::size_t> child_read_exactly_awaiter::resume_with_result() noexcept {
    if (ended_) {
        resumed();
        return std::make_error_code(std::errc::no_message_available);
    }
    return count_or_error();
}

}  // namespace coflux::detail
