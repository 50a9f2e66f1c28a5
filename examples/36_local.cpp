// A door keeper hands connections to a worker: over a local socket, as between two processes.
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include <coflux/coflux.hpp>

using worker = coflux::worker_executor;

// Gets connections, and answers on each. Its peer's end is its own.
coflux::fork<void, worker> serve(coflux::environment&, coflux::unix_stream keeper) {
    std::array<std::byte, 1> byte{};
    std::array<coflux::owned_descriptor, 1> came;
    while ((co_await keeper.receive_descriptors(byte, came)).bytes != 0) {
        auto client = coflux::tcp_stream::adopt(std::move(came[0]));
        co_await client.write_all("served");
    }
}

coflux::fork<void, worker> keep_the_door(coflux::environment&, coflux::tcp_listener* door, coflux::unix_stream to) {
    const std::array byte{std::byte{'c'}};
    for (int i = 0; i < 2; ++i) {
        const coflux::tcp_stream client = co_await door->accept();
        const std::array one{client.native_handle()};
        co_await to.send_descriptors(one, byte);  // the peer has its own from now on
    }
}

coflux::fork<std::string, worker> ask(coflux::environment&, coflux::endpoint door) {
    auto [reader, writer] = (co_await coflux::tcp_stream::connect(door)).split();
    writer.close();  // it has nothing to say, and its peer hears that
    std::string answer(6, ' ');
    co_await reader.read_exactly(std::as_writable_bytes(std::span(answer)));
    co_return answer;
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [near, far] = coflux::unix_stream::pair();
    std::printf("the same user: %s\n", near.credentials().user == far.credentials().user ? "yes" : "no");

    coflux::tcp_listener door(coflux::endpoint::loopback(0));
    auto server = serve(here, std::move(far));
    auto keeper = keep_the_door(here, &door, std::move(near));
    auto first = ask(here, door.local_endpoint());
    auto second = ask(here, door.local_endpoint());
    auto [one, two] = co_await coflux::when_all(std::move(first), std::move(second));
    std::printf("%s %s\n", one.c_str(), two.c_str());
    co_await std::move(keeper);
    co_await std::move(server);

    // A pipe whose reader is gone is an error, and no signal.
    auto pipe = coflux::make_pipe();
    pipe.reader.close();
    const auto gone = co_await coflux::as_result(pipe.writer.write_all("x"));
    std::printf("then: %s\n", gone.error().message().c_str());
}

int main() {
    worker on;
    auto env = coflux::make_environment(on);
    program(env).get();
}
