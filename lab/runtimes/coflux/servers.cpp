// Servers under the load of another process, the clients and servers of io_socket, and reads of a file.
// Idioms: docs/tour/02-structure-and-stop.md, docs/tour/05-io.md, docs/tour/04-waiting.md, docs/howto/tcp-server.md,
//   examples/46_file.cpp
#include "fairness.hpp"
#include "file_read.hpp"
#include "io.hpp"
#include "io_socket.hpp"
#include "load_client.hpp"

#include <coflux/coflux.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lab {
namespace {

using coflux::borrowed;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using worker = coflux::worker_executor;
using pool = coflux::thread_pool_executor;

coflux::call<void> echo_one(environment&, tcp_stream peer) {
    std::vector<std::byte> buffer(4'096);
    while (const std::size_t n = co_await peer.read_some(buffer)) {
        co_await peer.write_all(std::span<const std::byte>(buffer).first(n));
    }
}

coflux::call<void> answer_one(environment&, tcp_stream peer) {
    std::array<std::byte, 1> byte{};
    if (co_await peer.read_some(byte) == 1) {
        byte[0] = static_cast<std::byte>(std::to_integer<unsigned>(byte[0]) + 1U);
        co_await peer.write_all(std::span<const std::byte>(byte));
    }
}

template <coflux::call<void> (*Handler)(environment&, tcp_stream), typename Executor>
coflux::task<void, Executor> server(environment&, borrowed<tcp_listener> listener, std::size_t limit) {
    auto&& here = co_await coflux::context();
    co_await coflux::serve(here, *listener, Handler, {.limit = limit, .drain = std::chrono::nanoseconds{0}});
}

// Serves in `env` until all is measured, and stops what runs there.
template <coflux::call<void> (*Handler)(environment&, tcp_stream), typename Executor>
harness::measured under_load(const harness::request& r, std::size_t limit, environment& env) {
    tcp_listener listener(coflux::endpoint::loopback(0), {.backlog = 4'096});
    auto serving = server<Handler, Executor>(env, borrowed(listener), limit);
    harness::measured m;
    try {
        harness::load_client load{r, listener.local_endpoint().port()};
        m = harness::measure(r, [&load](harness::stopwatch& watch) { return load.pass(watch); });
    } catch (...) {
        env.request_stop();
        throw;
    }
    env.request_stop();
    serving.join();
    return m;
}

coflux::task<void, pool> computes(environment&, std::chrono::microseconds step) {
    while (step.count() != 0) {
        harness::compute_for(step);
        co_await coflux::yield();
    }
}

// A read at a time until the message is whole.
coflux::call<std::size_t> read_message(environment&, borrowed<tcp_stream> from, std::span<std::byte> into,
                                       std::size_t whole) {
    std::size_t have = 0;
    while (have < whole) {
        const std::size_t n = co_await from->read_some(into.subspan(have));
        if (n == 0) {
            break;
        }
        have += n;
    }
    co_return have;
}

coflux::fork<void, worker> serve_requests(environment&, tcp_stream peer, harness::socket_work work) {
    auto&& here = co_await coflux::context();
    harness::socket_server side{work};
    std::array<std::byte, harness::socket_work::buffer_bytes> buffer{};
    for (;;) {
        const std::size_t got = co_await read_message(here, borrowed(peer), buffer, work.request_bytes);
        if (got == 0) {
            co_return;
        }
        co_await peer.write_all(side.answer(std::span<const std::byte>(buffer).first(got)));
    }
}

coflux::task<void, worker> socket_servers(environment&, borrowed<tcp_listener> listener, harness::socket_work work) {
    auto&& here = co_await coflux::context();
    std::vector<tcp_stream> accepted;
    for (std::uint64_t i = 0; i < work.connections; ++i) {
        accepted.push_back(co_await listener->accept());
    }
    for (tcp_stream& peer : accepted) {
        serve_requests(here, std::move(peer), work).attach();
    }
}

coflux::fork<std::uint64_t, worker> make_requests(environment&, coflux::endpoint to, harness::socket_work work) {
    auto&& here = co_await coflux::context();
    harness::socket_client side{work};
    std::array<std::byte, harness::socket_work::buffer_bytes> buffer{};
    tcp_stream server = co_await tcp_stream::connect(to);
    for (auto request = side.next(); !request.empty(); request = side.next()) {
        co_await server.write_all(request);
        const std::size_t got = co_await read_message(here, borrowed(server), buffer, work.response_bytes);
        side.received(std::span<const std::byte>(buffer).first(got));
    }
    co_return side.answer();
}

coflux::task<std::uint64_t, worker> socket_clients(environment&, coflux::endpoint to, harness::socket_work work) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<std::uint64_t, worker>> all;
    for (std::uint64_t i = 0; i < work.connections; ++i) {
        all.push_back(make_requests(here, to, work));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t answer : co_await coflux::when_all(std::move(all))) {
        sum += answer;
    }
    co_return sum;
}

coflux::task<harness::measured, worker> read_file(environment&, borrowed<const harness::request> r, std::string path) {
    coflux::file file = co_await coflux::file::open(path);
    harness::passes all{*r};
    while (all.more()) {
        harness::file_reads reads{*r};
        std::vector<std::byte> block(reads.bytes());
        harness::stopwatch watch;
        watch.start();
        while (reads.more()) {
            const std::size_t got = co_await file.read_at(reads.next(), block);
            reads.read(std::span<const std::byte>(block).first(got));
        }
        watch.stop();
        all.add(watch.result(reads.answer()));
    }
    co_await file.close();
    co_return all.result();
}

}  // namespace

harness::measured echo_many(const harness::request& r) {
    harness::require_descriptors(r);
    worker one;
    auto env = coflux::make_environment(one);
    return under_load<echo_one, worker>(r, r.integer("connections"), env);
}

harness::measured echo_pool(const harness::request& r) {
    harness::require_descriptors(r);
    pool workers{r.workers()};
    auto env = coflux::make_environment(workers);
    const auto computing = computes(env, std::chrono::microseconds{r.integer("compute_us")});
    return under_load<echo_one, pool>(r, r.integer("connections"), env);
}

harness::measured accept_churn(const harness::request& r) {
    worker one;
    auto env = coflux::make_environment(one);
    return under_load<answer_one, worker>(r, coflux::serve_options{}.limit, env);
}

harness::measured io_socket(const harness::request& r) {
    const harness::socket_work work{r};
    worker of_servers;
    worker of_clients;
    auto servers = coflux::make_environment(of_servers);
    auto clients = coflux::make_environment(of_clients);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        tcp_listener listener(coflux::endpoint::loopback(0));
        auto serving = socket_servers(servers, borrowed(listener), work);
        watch.start();
        const std::uint64_t sum = socket_clients(clients, listener.local_endpoint(), work).get();
        serving.join();
        watch.stop();
        return sum;
    });
}

harness::measured file_read(const harness::request& r) {
    const harness::numbered_file file{r};
    worker one;
    auto env = coflux::make_environment(one);
    return read_file(env, borrowed(r), file.path()).get();
}

harness::workload_function on_epoll(harness::measured (*run)(const harness::request&)) {
    return [run](const harness::request& r) {
        // Before the first operation, which chooses for the process.
        setenv("COFLUX_IO", "epoll", 1);
        return run(r);
    };
}

}  // namespace lab
