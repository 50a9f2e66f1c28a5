// Servers of one shard under the load of another process.
#include "load_client.hpp"
#include "outside_thread.hpp"
#include "workloads.hpp"

#include <seastar/core/gate.hh>
#include <seastar/core/iostream.hh>
#include <seastar/core/reactor.hh>
#include <seastar/coroutine/as_future.hh>
#include <seastar/net/api.hh>

namespace lab {
namespace {

struct connection {
    explicit connection(ss::connected_socket accepted) : socket{std::move(accepted)} {}

    // As with the others, a read is of 4 096 bytes at most.
    static constexpr unsigned bytes = 4'096;

    ss::connected_socket socket;
    ss::input_stream<char> in =
        socket.input({.buffer_size = bytes, .min_buffer_size = bytes, .max_buffer_size = bytes});
    ss::output_stream<char> out = socket.output();
};

ss::future<> echo_one(connection& peer) {
    for (auto got = co_await peer.in.read(); !got.empty(); got = co_await peer.in.read()) {
        co_await peer.out.write(std::move(got));
        co_await peer.out.flush();
    }
}

ss::future<> answer_one(connection& peer) {
    if (auto byte = co_await peer.in.read_exactly(1); !byte.empty()) {
        ++*byte.get_write();
        co_await peer.out.write(std::move(byte));
        co_await peer.out.flush();
    }
}

using handler = ss::future<> (*)(connection&);

// A client that breaks off ends its own connection, and no other.
ss::future<> serve(handler handle, ss::connected_socket accepted) {
    connection peer{std::move(accepted)};
    auto ended = co_await ss::coroutine::as_future(handle(peer));
    ended.ignore_ready_future();
    auto closed = co_await ss::coroutine::as_future(peer.out.close());
    closed.ignore_ready_future();
}

// Until accept() is aborted, and then until each connection has ended.
ss::future<> accept_all(ss::server_socket& listener, handler handle) {
    ss::gate connections;
    for (;;) {
        auto next = co_await ss::coroutine::as_future(listener.accept());
        if (next.failed()) {
            next.ignore_ready_future();
            break;
        }
        ss::connected_socket accepted = std::move(next.get().connection);
        accepted.set_nodelay(true);
        (void)ss::with_gate(connections, [handle, &accepted] { return serve(handle, std::move(accepted)); });
    }
    co_await connections.close();
}

ss::future<harness::measured> serve_until_driven(outside_thread& client, std::uint16_t& port, handler handle) {
    ss::listen_options options;
    options.listen_backlog = 4'096;
    ss::server_socket listener = ss::listen(ss::socket_address{ss::ipv4_addr{"127.0.0.1", 0}}, options);
    port = listener.local_address().port();
    ss::future<> accepting = accept_all(listener, handle);
    auto told = co_await ss::coroutine::as_future(client.run());
    listener.abort_accept();
    co_await std::move(accepting);
    co_return co_await std::move(told);
}

harness::measured under_load(const harness::request& r, waiting how, handler handle) {
    std::uint16_t port = 0;
    // The client blocks the thread that drives it.
    outside_thread client{[&r, &port](ss::alien::instance&) {
        harness::load_client load{r, port};
        return harness::measure(r, [&load](harness::stopwatch& watch) { return load.pass(watch); });
    }};
    return on_shards(1, how, [&] { return serve_until_driven(client, port, handle); });
}

}  // namespace

harness::measured echo_many(const harness::request& r, waiting how) {
    harness::require_descriptors(r);
    return under_load(r, how, echo_one);
}

harness::measured accept_churn(const harness::request& r, waiting how) {
    return under_load(r, how, answer_one);
}

}  // namespace lab
