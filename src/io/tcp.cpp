#include <coflux/io/tcp.hpp>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "io/detail/byte_transfer.hpp"
#include "io/detail/descriptor.hpp"
#include "io/detail/io_counts.hpp"
#include "io/detail/socket_settings.hpp"
#include "os/net/socket.hpp"

namespace coflux {
namespace detail {
bool wait_readable_awaiter::look(io_operation& op) noexcept {
    return op.on().calls.is_readable(op.on().number) != 0;
}
constinit const io_kind wait_readable_awaiter::kind{&look, direction::in, stops_io("bytes of a socket")};

// --- connections -----------------------------------------------------------------------------------------------------

bool accept_awaiter::accept(io_operation& op) noexcept {
    auto& a = static_cast<accept_awaiter&>(op);
    os::socket_name peer{a.peer_.data(), endpoint::capacity()};
    a.accepted_ = a.on().calls.accept_one(a.on().number, peer);
    if (os::would_block(a.accepted_)) return false;
    a.has_it_ = a.accepted_ >= 0;
    if (a.has_it_) {
        io_counts::here().add(io_counts::what::accepted);
        a.peer_.resize(peer.size);
    }
    return true;
}
bool accept_awaiter::ask(io_operation& op, io_submission& call) noexcept {
    auto& a = static_cast<accept_awaiter&>(op);
    if (a.must_poll_) return false;
    a.peer_size_ = endpoint::capacity();
    call.call = io_submission::kind::accept;
    call.address = a.peer_.data();
    call.name_size = &a.peer_size_;
    return true;
}
bool accept_awaiter::take_it(io_operation& op, std::ptrdiff_t accepted) noexcept {
    auto& a = static_cast<accept_awaiter&>(op);
    if (os::is_of_one_connection(accepted) && a.passed_over_++ != os::most_passed_over) return false;
    // It takes a number before it looks for a connection: where there is none of either, the next one is waited for.
    a.must_poll_ = os::has_no_number(accepted) && a.on().calls.is_readable(a.on().number) == 0;
    if (a.must_poll_) return false;
    a.accepted_ = static_cast<int>(accepted);
    a.has_it_ = a.accepted_ >= 0;
    if (a.has_it_) {
        io_counts::here().add(io_counts::what::accepted);
        a.peer_.resize(a.peer_size_);
    }
    return true;
}
constinit const io_kind accept_awaiter::kind{&accept, direction::in, stops_io("a connection"), &ask, &take_it};

/// It was accepted, and the coroutine could not take it.
accept_awaiter::~accept_awaiter() {
    if (has_it_) on().calls.close_descriptor(accepted_);
}

descriptor_handle accept_awaiter::take() {
    has_it_ = false;
    socket_calls& calls = on().calls;
    (void)calls.send_at_once(accepted_);  // refused by what is not TCP
    return descriptor_handle(accepted_, peer_, &calls);
}
descriptor_handle accept_awaiter::take_or_throw() {
    resumed();
    if (accepted_ < 0) throw_io_error(accepted_, "accept a connection at", on().peer);
    return take();
}
io_result<descriptor_handle> accept_awaiter::take_or_error() {
    resumed();
    if (accepted_ < 0) return io_error(accepted_);
    return take();
}
tcp_stream accept_awaiter::await_resume() {
    return tcp_stream(take_or_throw());
}
io_result<tcp_stream> accept_awaiter::resume_with_result() {
    auto taken = take_or_error();
    if (!taken) return taken.error();
    return tcp_stream(std::move(*taken));
}

descriptor_handle accept_now(const descriptor_handle& listener) {
    descriptor& on = listener.get();
    endpoint peer;
    os::socket_name name{peer.data(), endpoint::capacity()};
    const int accepted = on.calls.accept_one(on.number, name);
    if (os::would_block(accepted)) return {};
    if (accepted < 0) throw_io_error(accepted, "accept a connection at", on.peer);
    io_counts::here().add(io_counts::what::accepted);
    peer.resize(name.size);
    (void)on.calls.send_at_once(accepted);  // refused by what is not TCP
    return descriptor_handle(accepted, peer, &on.calls);
}

connecting::connecting(const endpoint& to, to_what allowed) {
    socket_calls& calls = socket_calls::here();
    int opened = -EAFNOSUPPORT;
    if (allowed == to_what::local && !os::is_local_family(to.family())) {
        failing_ = "make a local socket at";
    } else {
        opened = calls.open_stream(to.family());
        if (opened < 0) failing_ = "open a socket to connect to";
    }
    if (opened < 0) error_ = std::exchange(opened, -1);
    socket_ = descriptor_handle(opened, to, &calls);
}

connecting::connecting(const endpoint& to, const tcp_options& options) : connecting(to, to_what::any) {
    const os::socket_settings settings = settings_of(options.socket);
    delays_ = settings.no_delay == 0;
    if (error_ < 0) return;
    socket_calls& calls = socket_.get().calls;
    error_ = calls.change_settings(socket_.number(), settings, failing_);
    if (error_ < 0) return;
    failing_ = "connect to";
    if (options.from.family() == 0) return;
    const endpoint& from = options.from;
    error_ = calls.bind_source(socket_.number(), {from.data(), from.size()}, from.port() != 0);
    if (error_ >= 0) return;
    failing_from_ = &from;
}

[[nodiscard]] static std::ptrdiff_t error_of_connect(std::ptrdiff_t result) noexcept {
    if (result < 0) return result;
    io_counts::here().add(io_counts::what::connected);
    return 0;
}

bool connect_awaiter::connect(io_operation& op) noexcept {
    auto& c = static_cast<connect_awaiter&>(op);
    const endpoint& to = c.on().peer;
    socket_calls& calls = c.on().calls;
    const bool was_begun = std::exchange(c.begun_, true);
    const int result =
        was_begun ? calls.connect_result(c.on().number) : calls.begin_connect(c.on().number, {to.data(), to.size()});
    // EAGAIN at first: a local listener has no room, and nothing will tell when it has.
    if (was_begun ? os::would_block(result) : os::goes_on(result)) return false;
    c.error_ = error_of_connect(result);
    return true;
}
/// A local socket is connected by the call, or refused: nothing would tell when the listener has room.
bool connect_awaiter::ask(io_operation& op, io_submission& call) noexcept {
    auto& c = static_cast<connect_awaiter&>(op);
    const endpoint& to = c.on().peer;
    if (os::is_local_family(to.family()) || std::exchange(c.begun_, true)) return false;
    call.call = io_submission::kind::connect;
    call.address = const_cast<void*>(static_cast<const void*>(to.data()));
    call.size = to.size();
    return true;
}
bool connect_awaiter::take_it(io_operation& op, std::ptrdiff_t result) noexcept {
    static_cast<connect_awaiter&>(op).error_ = error_of_connect(result);
    return true;
}
constinit const io_kind connect_awaiter::kind{&connect, direction::out, stops_io("a connection"), &ask, &take_it};

descriptor_handle connect_awaiter::take() {
    if (!delays_) (void)socket_.get().calls.send_at_once(socket_.number());  // refused by what is not TCP
    return std::move(socket_);
}
descriptor_handle connect_awaiter::take_or_throw() {
    resumed();
    if (error_ < 0) {
        if (failing_from_ == nullptr) throw_io_error(error_, failing_, on().peer);
        throw_io_error(error_, ("connect from " + failing_from_->to_string() + " to").c_str(), on().peer);
    }
    return take();
}
io_result<descriptor_handle> connect_awaiter::take_or_error() {
    resumed();
    if (error_ < 0) return io_error(error_);
    return take();
}
tcp_stream connect_awaiter::await_resume() {
    return tcp_stream(take_or_throw());
}
io_result<tcp_stream> connect_awaiter::resume_with_result() {
    auto taken = take_or_error();
    if (!taken) return taken.error();
    return tcp_stream(std::move(*taken));
}

}  // namespace detail

// --- handles ---------------------------------------------------------------------------------------------------------

tcp_listener::tcp_listener(const endpoint& at, listen_options options) {
    const int backlog = detail::checked_backlog(options.backlog);
    detail::socket_calls& calls = detail::socket_calls::here();
    const int opened = calls.open_stream(at.family());
    if (opened < 0) detail::throw_io_error(opened, "open a socket to listen at", at);
    socket_ = detail::descriptor_handle(opened, at, &calls);
    if (options.socket.no_delay.has_value())
        throw std::invalid_argument("coflux: no_delay is an option of each stream, and not of a listener");
    detail::change_settings(socket_, options.socket);
    const int e = calls.listen_at(opened, {at.data(), at.size()}, backlog, options.shared_port);
    if (e < 0) detail::throw_io_error(e, "listen at", at);
    if (at.port() == 0) socket_.get().peer = local_endpoint();  // for messages: the port that the system chose
}
std::optional<tcp_stream> tcp_listener::try_accept() {
    detail::descriptor_handle accepted = detail::accept_now(socket_);
    if (!accepted.is_open()) return std::nullopt;
    return tcp_stream(std::move(accepted));
}
endpoint tcp_listener::local_endpoint() const {
    return detail::name_of(socket_);
}

tcp_stream tcp_stream::adopt(owned_descriptor opened) {
    tcp_stream adopted(detail::adopt_connection(opened.release()));
    (void)detail::os::send_at_once(adopted.native_handle());  // refused by what is not TCP
    return adopted;
}
void tcp_stream::set_options(const socket_options& options) {
    detail::change_settings(from_, options);
}
void tcp_stream::reset() noexcept {
    if (!is_open()) return;
    abort();
    close();
}

}  // namespace coflux
