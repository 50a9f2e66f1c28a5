#include <coflux/io/datagram.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "io/detail/byte_transfer.hpp"
#include "io/detail/descriptor.hpp"
#include "io/detail/io_counts.hpp"
#include "os/net/message.hpp"
#include "os/net/socket.hpp"

namespace coflux {
namespace detail {
namespace {

constexpr const char* receiving_at = "receive at";
static_assert(message_header_size >= os::laid_out_size);

os::datagram_message message_of(std::span<std::byte> into, endpoint& from) noexcept {
    return {{into.data(), into.size()}, from.data(), endpoint::capacity(), 0};
}
os::datagram_message message_of(std::span<const std::byte> bytes, const endpoint& to) noexcept {
    void* const name = to.size() == 0 ? nullptr : const_cast<void*>(to.data());
    return {{const_cast<std::byte*>(bytes.data()), bytes.size()}, name, to.size(), 0};
}

/// The sender's socket says when it has room, and that of a local receiver that it is not connected to does not.
bool is_told_of_room(const endpoint& to) noexcept {
    return !os::is_local(to.family());
}

}  // namespace

void datagram_awaiter::resume_or_throw(const char* what) {
    resumed();
    if (error_ < 0) throw_io_error(error_, what, on().peer);
}
void datagram_awaiter::resume_or_throw_of_sending(const endpoint& to) {
    if (to == endpoint()) return resume_or_throw("send from");
    resumed();
    if (error_ < 0) throw_io_error(error_, "send to", to);
}
std::error_code datagram_awaiter::resume_with_error() noexcept {
    resumed();
    return error_ < 0 ? io_error(error_) : std::error_code();
}
bool datagram_awaiter::is_end(std::ptrdiff_t result) noexcept {
    if (os::would_block(result)) return false;
    error_ = result < 0 ? result : 0;
    return true;
}

// --- receiving -------------------------------------------------------------------------------------------------------

bool receive_one_awaiter::receive(io_operation& op) noexcept {
    auto& r = static_cast<receive_one_awaiter&>(op);
    os::datagram_message m = message_of(r.into_, r.got_.from);
    const std::ptrdiff_t got = r.on().calls.receive_datagram(r.on().number, m);
    if (!r.is_end(got)) return false;
    if (got >= 0) {
        io_counts::here().add(io_counts::what::datagrams_in);
        r.got_.size = static_cast<std::size_t>(got);
        r.got_.whole = m.whole;
        r.got_.from.resize(m.name_size);
    }
    return true;
}
void receive_one_awaiter::take_whole(std::ptrdiff_t whole) noexcept {
    if (whole < 0) {
        error_ = whole;
        return;
    }
    io_counts::here().add(io_counts::what::datagrams_in);
    got_.whole = static_cast<std::size_t>(whole);
    got_.size = std::min(got_.whole, into_.size());
}

bool receive_from_awaiter::ask(io_operation& op, io_submission& call) noexcept {
    auto& r = static_cast<receive_from_awaiter&>(op);
    call.call = io_submission::kind::receive_message;
    call.address = os::lay_out(message_of(r.into_, r.got_.from), r.header_);
    return true;
}
bool receive_from_awaiter::take_it(io_operation& op, std::ptrdiff_t whole) noexcept {
    auto& r = static_cast<receive_from_awaiter&>(op);
    r.take_whole(whole);
    if (whole >= 0) r.got_.from.resize(os::name_size_of(r.header_));
    return true;
}
constinit const io_kind receive_from_awaiter::kind{&receive, direction::in, stops_io("a datagram"), &ask, &take_it};

bool receive_whole_awaiter::ask(io_operation& op, io_submission& call) noexcept {
    auto& r = static_cast<receive_whole_awaiter&>(op);
    call.call = io_submission::kind::receive_whole;
    call.address = r.into_.data();
    call.size = r.into_.size();
    return call.size != 0;  // without room, the system's call may say what is not so of a message
}
bool receive_whole_awaiter::take_it(io_operation& op, std::ptrdiff_t whole) noexcept {
    static_cast<receive_whole_awaiter&>(op).take_whole(whole);
    return true;
}
constinit const io_kind receive_whole_awaiter::kind{&receive, direction::in, stops_io("a datagram"), &ask, &take_it};

datagram receive_from_awaiter::await_resume() {
    resume_or_throw(receiving_at);
    return got_;
}
io_result<datagram> receive_from_awaiter::resume_with_result() noexcept {
    if (const std::error_code e = resume_with_error()) return e;
    return got_;
}

void receive_whole_awaiter::refuse_truncated() noexcept {
    if (got_.is_truncated()) error_ = -EMSGSIZE;
}
std::size_t receive_whole_awaiter::await_resume() {
    refuse_truncated();
    resume_or_throw(receiving_at);
    return got_.size;
}
io_result<std::size_t> receive_whole_awaiter::resume_with_result() noexcept {
    refuse_truncated();
    if (const std::error_code e = resume_with_error()) return e;
    return got_.size;
}

bool receive_batch_awaiter::receive(io_operation& op) noexcept {
    auto& r = static_cast<receive_batch_awaiter&>(op);
    std::array<os::datagram_message, os::most_messages> messages;
    const std::size_t most = std::min(r.into_.size(), messages.size());
    for (std::size_t i = 0; i < most; ++i) messages[i] = message_of(r.into_[i].into, r.into_[i].got.from);
    const int got = r.on().calls.receive_datagrams(r.on().number, messages.data(), most);
    if (!r.is_end(got)) return false;
    r.count_ = static_cast<std::size_t>(std::max(got, 0));
    io_counts::here().add(io_counts::what::datagrams_in, r.count_);
    for (std::size_t i = 0; i < r.count_; ++i) {
        incoming_datagram& one = r.into_[i];
        one.got.whole = messages[i].whole;
        one.got.size = std::min(messages[i].whole, one.into.size());
        one.got.from.resize(messages[i].name_size);
    }
    return true;
}
constinit const io_kind receive_batch_awaiter::kind{&receive, direction::in, stops_io("a datagram")};

std::size_t receive_batch_awaiter::await_resume() {
    resume_or_throw(receiving_at);
    return count_;
}
io_result<std::size_t> receive_batch_awaiter::resume_with_result() noexcept {
    if (const std::error_code e = resume_with_error()) return e;
    return count_;
}

// --- sending ---------------------------------------------------------------------------------------------------------

bool send_to_awaiter::send(io_operation& op) noexcept {
    auto& s = static_cast<send_to_awaiter&>(op);
    const std::ptrdiff_t sent = s.on().calls.send_datagram(s.on().number, message_of(s.from_, s.to_));
    if (s.is_end(sent)) {
        if (sent >= 0) io_counts::here().add(io_counts::what::datagrams_out);
        return true;
    }
    if (is_told_of_room(s.to_)) return false;
    s.error_ = sent;
    return true;
}
constinit const io_kind send_to_awaiter::kind{&send, direction::out, stops_io("room for a datagram")};

void send_to_awaiter::await_resume() {
    resume_or_throw_of_sending(to_);
}
io_result<void> send_to_awaiter::resume_with_result() noexcept {
    if (const std::error_code e = resume_with_error()) return e;
    return {};
}

bool send_batch_awaiter::send(io_operation& op) noexcept {
    auto& s = static_cast<send_batch_awaiter&>(op);
    std::array<os::datagram_message, os::most_messages> messages;
    const std::size_t most = std::min(s.from_.size(), messages.size());
    for (std::size_t i = 0; i < most; ++i) messages[i] = message_of(s.from_[i].bytes, s.from_[i].to);
    const int sent = s.on().calls.send_datagrams(s.on().number, messages.data(), most);
    if (s.is_end(sent)) {
        s.count_ = static_cast<std::size_t>(std::max(sent, 0));
        io_counts::here().add(io_counts::what::datagrams_out, s.count_);
        return true;
    }
    if (is_told_of_room(s.from_.front().to)) return false;
    s.error_ = sent;
    return true;
}
constinit const io_kind send_batch_awaiter::kind{&send, direction::out, stops_io("room for a datagram")};

std::size_t send_batch_awaiter::await_resume() {
    resume_or_throw_of_sending(from_.empty() ? endpoint() : from_.front().to);  // after the first all is a count
    return count_;
}
io_result<std::size_t> send_batch_awaiter::resume_with_result() noexcept {
    if (const std::error_code e = resume_with_error()) return e;
    return count_;
}

}  // namespace detail

// --- the socket ------------------------------------------------------------------------------------------------------

datagram_socket::datagram_socket(int family, const endpoint& at) {
    detail::socket_calls& calls = detail::socket_calls::here();
    const int opened = calls.open_datagram(family);
    if (opened < 0) detail::throw_io_error(opened, "open a socket at", at);
    socket_ = detail::descriptor_handle(opened, at, &calls);
}
void datagram_socket::bind(const endpoint& at) {
    if (const int e = socket_.get().calls.bind_to(socket_.number(), {at.data(), at.size()}); e < 0)
        detail::throw_io_error(e, "bind a socket to", at);
}
void datagram_socket::connect(const endpoint& to) {
    if (const int e = socket_.get().calls.connect_datagram(socket_.number(), {to.data(), to.size()}); e < 0)
        detail::throw_io_error(e, "connect a socket to", to);
}
endpoint datagram_socket::local_endpoint() const {
    return detail::name_of(socket_);
}

}  // namespace coflux
