// A server that gives back what it gets, and clients of it, on one worker. With an argument it serves until SIGTERM.
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include <coflux/coflux.hpp>

using worker = coflux::worker_executor;

// One connection, until its peer ends it.
coflux::fork<void, worker> echo(coflux::environment&, coflux::tcp_stream peer) {
    std::array<std::byte, 1024> buffer{};
    while (const std::size_t n = co_await peer.read_some(buffer)) co_await peer.write_all(std::span(buffer).first(n));
}

// Accepts until it is stopped: that ends the wait and the connections, and loses no connection.
coflux::fork<void, worker> serve(coflux::environment&, coflux::tcp_listener* at) {
    auto&& here = co_await coflux::context();
    for (;;) echo(here, co_await at->accept()).attach();
}

coflux::fork<std::string, worker> ask(coflux::environment&, coflux::endpoint server, std::string text) {
    coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(server);
    co_await peer.write_all(text);
    std::string answer(text.size(), ' ');
    co_await peer.read_exactly(std::as_writable_bytes(std::span(answer)));
    co_return answer;
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto inside = coflux::make_environment(here);
    serve(inside, &listener).attach();

    auto first = ask(here, listener.local_endpoint(), "one");
    auto second = ask(here, listener.local_endpoint(), "two");
    auto [one, two] = co_await coflux::when_all(std::move(first), std::move(second));
    std::printf("%s %s\n", one.c_str(), two.c_str());

    inside.request_stop();
    co_await inside.join();

    // Nothing listens any more: an error, as a value.
    const coflux::endpoint gone = listener.local_endpoint();
    listener.close();
    const auto refused = co_await coflux::as_result(coflux::tcp_stream::connect(gone));
    std::printf("then: %s\n", refused.error().message().c_str());
}

coflux::task<void, worker> serve_others(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    std::fprintf(stderr, "port %d\n", listener.local_endpoint().port());
    co_await serve(here, &listener);
}

int main(int argc, char**) {
    worker on;
    auto env = coflux::make_environment(on);
    if (argc == 1) {
        program(env).get();
        return 0;
    }
    const coflux::stop_on_signals asked(env);
    (void)serve_others(env).join();  // stopped
}
