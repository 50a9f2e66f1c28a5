// Keep-alive: a server answers one question after another on a connection, and loses none where it shuts down.
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

// A question is a line, and so is its answer. The first question of a new connection is on its way, so it is read
// before the server is asked whether it drains. After that idle() ends the connection only where no further one has
// come.
coflux::call<void> answers(coflux::environment&, coflux::tcp_stream peer, coflux::drain_token server) {
    auto&& here = co_await coflux::context();
    coflux::buffered_reader in(peer);
    do {
        const auto question = co_await coflux::timeout(in.read_line(here, {.limit = 100}), 10s);
        if (question.timed_out() || !*question) co_return;  // too slow, or gone
        const std::string answer = std::to_string((*question)->size()) + " letters\n";
        co_await peer.write_all(answer);
    } while (co_await server.idle(here, in));
}

struct client {
    explicit client(coflux::tcp_stream connected) : peer(std::move(connected)), in(peer) {}

    coflux::tcp_stream peer;
    coflux::buffered_reader<coflux::tcp_stream> in;
};
coflux::call<void> asks(client& by, std::string question) {
    auto&& here = co_await coflux::context();
    co_await by.peer.write_all(question + "\n");
    const auto answer = co_await by.in.read_line(here);
    std::printf("%s: %s\n", question.c_str(), std::string(answer.value_or("the end")).c_str());
}

coflux::fork<void, pool> visits(coflux::environment&, coflux::endpoint where, coflux::environment* server) {
    auto&& here = co_await coflux::context();
    client fresh(co_await coflux::tcp_stream::connect(where));
    client busy(co_await coflux::tcp_stream::connect(where));
    co_await asks(busy, "one");
    co_await asks(busy, "three");
    server->request_stop();

    // Nothing has come from it, so the drain ends it.
    const auto end = co_await busy.in.read_line(here);
    std::printf("%s\n", end ? "an answer" : "the end");
    // This one was accepted, and has not asked yet.
    co_await asks(fresh, "seventeen");
}

coflux::task<void, pool> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto inside = coflux::make_environment(here);
    auto visit = visits(here, listener.local_endpoint(), &inside);
    const auto report = co_await coflux::serve(inside, listener, answers, {.drain = 5s});
    co_await std::move(visit);
    std::printf("served %d, cut %d\n", static_cast<int>(report.served), static_cast<int>(report.cut));
    co_await inside.join();
}

int main() {
    return coflux::run(program);
}
