// The page docs/design/signals.md says why there is a handler.
#include <coflux/io/signals.hpp>

#include <string>
#include <system_error>

#include "io/detail/descriptor.hpp"
#include "os/net/socket.hpp"
#include "os/process/caught_signals.hpp"

namespace coflux {
namespace detail {

void taken_signal::give_back(const received_signal& signal) noexcept {
    os::give_back_signal({signal.number, 0, signal.sender_pid, signal.sender_uid, signal.value, 0});
}

constinit const io_kind next_signal_awaiter::kind{
    &take, direction::in, {&io_operation::claim, &wait_operation::stop_claimed, "a signal"}};

bool next_signal_awaiter::take(io_operation& op) noexcept {
    auto& self = static_cast<next_signal_awaiter&>(op);
    os::signal_record record{};
    const std::ptrdiff_t got = os::take_signal(self.on().number, self.caught_, record);
    if (os::would_block(got)) return false;
    if (got < 0) {
        self.error_ = got;
    } else {
        self.got_ = {record.number, record.pid, record.uid, record.value};
    }
    return true;
}

received_signal next_signal_awaiter::await_resume() {
    resumed();
    if (error_ < 0) throw_io_error(error_, "wait for a signal of", on().peer);
    return got_;
}
io_result<received_signal> next_signal_awaiter::resume_with_result() noexcept {
    resumed();
    if (error_ < 0) return io_error(error_);
    return got_;
}

}  // namespace detail

signal_set::signal_set(std::span<const int> numbers) {
    int read_end = -1;
    if (const int e = detail::os::open_signal_pipe(read_end, write_end_); e < 0)
        throw std::system_error(detail::io_error(e), "coflux: a pipe for a signal_set");
    try {
        pipe_ = detail::descriptor_handle(read_end, endpoint::local("a signal_set"));
        for (const int number : numbers) {
            const std::uint64_t bit = number > 0 && number <= 64 ? std::uint64_t{1} << (number - 1) : 0;
            if ((caught_ & bit) != 0) continue;
            if (const int e = detail::os::catch_signal(number, write_end_); e < 0) {
                throw std::system_error(detail::io_error(e),
                                        "coflux: catch signal " + std::to_string(number) + " in a signal_set");
            }
            caught_ |= bit;
        }
    } catch (...) {
        release();
        throw;
    }
}

signal_set& signal_set::operator=(signal_set&& other) noexcept {
    if (this == &other) return *this;
    release();
    pipe_ = std::move(other.pipe_);
    write_end_ = std::exchange(other.write_end_, -1);
    caught_ = std::exchange(other.caught_, 0);
    return *this;
}

void signal_set::release() noexcept {
    if (write_end_ < 0) return;
    for (int number = 1; number <= 64; ++number) {
        if ((caught_ >> (number - 1) & 1) != 0) detail::os::release_signal(number, write_end_);
    }
    detail::os::wait_for_signal_handlers();
    detail::os::close_signal_pipe(std::exchange(write_end_, -1));
    caught_ = 0;
}

}  // namespace coflux
