// The common part of the workloads of I/O on Asio: an io_context that one thread runs, with the types that do not erase
// its executor.
#pragma once

#include "harness.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>

namespace lab {

namespace asio = boost::asio;

// The context's own executor type, as the pool's in adapter.hpp.
using loop_executor = asio::io_context::executor_type;

template <typename T>
using loop_awaitable = asio::awaitable<T, loop_executor>;

using tcp = asio::ip::tcp;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, loop_executor>;
using tcp_socket = asio::basic_stream_socket<tcp, loop_executor>;

// An exception of a coroutine that none awaits ends the process: it is a failure of the run.
struct rethrow {
    void operator()(std::exception_ptr error) const {
        if (error) {
            std::rethrow_exception(error);
        }
    }
};

// An acceptor at 127.0.0.1, at a port that the kernel chooses.
inline tcp_acceptor listen_on_loopback(asio::io_context& loop) {
    return {loop, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
}

// The next connection, of this executor's type.
inline loop_awaitable<tcp_socket> accept_from(tcp_acceptor& acceptor) {
    tcp_socket socket{acceptor.get_executor()};
    co_await acceptor.async_accept(socket, asio::deferred);
    socket.set_option(tcp::no_delay{true});
    co_return socket;
}

}  // namespace lab
