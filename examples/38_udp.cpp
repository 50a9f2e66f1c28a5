// A server of datagrams that answers all that have come by one call, and a client that asks again.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using worker = coflux::worker_executor;

coflux::fork<void, worker> serve(coflux::environment&, coflux::udp_socket* socket) {
    std::array<std::array<std::byte, 512>, 16> buffers{};
    std::vector<coflux::incoming_datagram> come;
    for (auto& b : buffers) come.push_back({b, {}});
    for (;;) {
        const std::size_t n = co_await socket->receive_batch(come);
        std::vector<coflux::outgoing_datagram> answers;
        for (const auto& c : std::span(come).first(n)) {
            if (!c.got.is_truncated()) answers.push_back({c.into.first(c.got.size), c.got.from});
        }
        for (std::span<const coflux::outgoing_datagram> left = answers; !left.empty();)
            left = left.subspan(co_await socket->send_batch(left));
    }
}

// Datagrams may be lost: three times, with a limit each.
coflux::fork<std::string, worker> ask(coflux::environment&, coflux::endpoint server, std::string text) {
    coflux::udp_socket socket(coflux::endpoint::any(0));
    socket.connect(server);
    std::string answer(512, ' ');
    for (int i = 0; i < 3; ++i) {
        co_await socket.send(text);
        const auto n = co_await coflux::timeout(socket.receive(std::as_writable_bytes(std::span(answer))), 1s);
        if (n) co_return answer.substr(0, *n);
    }
    co_return "no answer";
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::udp_socket socket(coflux::endpoint::loopback(0));
    auto inside = coflux::make_environment(here);
    serve(inside, &socket).attach();

    auto first = ask(here, socket.local_endpoint(), "one");
    auto second = ask(here, socket.local_endpoint(), "two");
    auto [one, two] = co_await coflux::when_all(std::move(first), std::move(second));
    std::printf("%s %s\n", one.c_str(), two.c_str());

    inside.request_stop();
    co_await inside.join();
}

int main() {
    worker on;
    auto env = coflux::make_environment(on);
    program(env).get();
}
