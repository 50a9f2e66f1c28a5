// tcp_listener and tcp_stream: connections over TCP and over local stream sockets.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/byte_stream.hpp>
#include <coflux/io/detail/stream_operations.hpp>
#include <coflux/io/endpoint.hpp>
#include <coflux/io/owned_descriptor.hpp>
#include <coflux/io/result.hpp>
#include <coflux/io/socket_options.hpp>

namespace coflux {

namespace detail {
struct socket_splice;
}  // namespace detail

/// A connection: bytes in both directions, in order.
///
/// Shapes: owns its descriptor; movable, also while an operation waits, which stays with the connection. One coroutine
/// at a time reads, and one writes; they may be two, on two executors.
/// Errors: std::system_error with the operation and the peer in its text, unless as_result() asks for a value. A stop
/// is no error. SIGPIPE is never raised. An operation of a stream that is closed or was moved from, one that waits when
/// the stream dies, and two coroutines that wait in one direction are checked errors.
/// Threads: of any executor. On a worker, a shard, a run_loop and a thread pool their own threads wait for it; for
/// others one of the process. An executor that ends while a coroutine waits on it is a checked error.
/// Costs: no allocation once a stream has waited; a wait is a look of the thread at epoll, or at its ring.
class tcp_stream : public byte_stream {
public:
    tcp_stream() noexcept = default;

    /// `co_await tcp_stream::connect(to)`: a connection to `to`. Small messages are sent at once (TCP_NODELAY).
    /// Errors: for a local socket whose listener has no room std::errc::resource_unavailable_try_again: wait before the
    /// next call.
    /// Stops: a stop point where it waits; the connection is given up.
    [[nodiscard("nothing is connected until this is awaited: co_await it")]] static detail::connect_request
    connect(const endpoint& to) {
        return detail::connect_request(endpoint(to));
    }
    /// `co_await tcp_stream::connect(to, {.from = endpoint::ip("10.0.0.7", 0)})`: the same with options, which the
    /// socket has before it connects.
    /// Errors: std::invalid_argument for an option outside of its bounds. std::errc::address_not_available where the
    /// source is no address of this machine, with the source in the text; that, or std::errc::address_in_use where the
    /// system chose the port of the other one, where it is the source of another connection to `to`, with that in the
    /// text.
    [[nodiscard("nothing is connected until this is awaited: co_await it")]] static detail::connect_with_request
    connect(const endpoint& to, tcp_options options) {
        return {endpoint(to), std::move(options)};
    }
    // Not to anything else.
    template <typename To, typename... Others>
        requires(!std::is_convertible_v<To, const endpoint&>)
    static detail::connect_request connect(To&&, Others&&...) {
        static_assert(
            detail::never<To>,
            "coflux: tcp_stream::connect() takes an endpoint and no environment: write "
            "connect(endpoint::ip(\"127.0.0.1\", 80)), or for a host by its name coflux::connect_to(here, names, "
            "\"example.org\", 80) with a coflux::resolver names");
        return connect(endpoint());
    }

    /// Takes over a connection that the system has made, or another process has sent.
    /// Errors: std::system_error if it is no socket that is connected; then it is closed.
    [[nodiscard]] static tcp_stream adopt(owned_descriptor opened);

    /// Changes options of the connection.
    /// Errors: those of socket_options; those before the one that failed are set.
    /// Threads: one at a time, also beside coroutines that wait.
    void set_options(const socket_options& options);

    /// Closes the connection, at once and for both sides: the peer sees an error.
    void reset() noexcept;

private:
    friend class detail::accept_awaiter;
    friend class detail::connect_awaiter;
    friend struct detail::socket_splice;
    friend class tcp_listener;
    explicit tcp_stream(detail::descriptor_handle socket) noexcept : byte_stream(std::move(socket)) {}
};

/// How a listener is made.
struct listen_options {
    int backlog = 1024;        ///< connections that the system keeps until they are accepted, at most; 0 or more
    bool shared_port = false;  ///< other sockets may listen at the same endpoint; the system spreads connections
    socket_options socket{};   ///< of each connection, but for no_delay (std::invalid_argument); see set_options()
};

/// Waits for connections.
///
/// Shapes: owns its descriptor; movable. One coroutine at a time accepts.
/// Errors, Threads: as tcp_stream.
class tcp_listener {
public:
    tcp_listener() noexcept = default;
    /// Listens at `at`; port 0: the system chooses one, see local_endpoint().
    /// Errors: std::invalid_argument for an option outside of its bounds. std::system_error with the endpoint in its
    /// text.
    explicit tcp_listener(const endpoint& at, listen_options options = {});

    /// `co_await listener.accept()`: the next connection. One that was cut while it stood in the backlog is
    /// passed over.
    /// Errors: std::system_error. Where the process has no descriptors left (std::errc::too_many_files_open), the
    /// connection stays in the backlog: wait before the next call.
    /// Stops: a stop point where it waits; loses nothing: the connection stays in the backlog.
    [[nodiscard("nothing is accepted until this is awaited: co_await it")]] detail::accept_request accept() noexcept {
        return detail::accept_request(socket_);
    }
    /// The next connection from the backlog, without a wait; nullopt if there is none.
    /// Errors: as accept().
    /// Stops: no stop point.
    /// Costs: a call of the system.
    /// Pre: no accept() waits.
    [[nodiscard]] std::optional<tcp_stream> try_accept();

    void close() noexcept { socket_.close("is closed"); }
    [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
    /// Errors: std::system_error.
    [[nodiscard]] endpoint local_endpoint() const;
    [[nodiscard]] int native_handle() const noexcept { return socket_.number(); }

private:
    detail::descriptor_handle socket_;
};

}  // namespace coflux
