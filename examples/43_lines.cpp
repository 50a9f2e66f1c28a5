// A protocol of lines: a server that adds the numbers of each line, and a client that is impatient.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using worker = coflux::worker_executor;

// One connection. A line of more than 100 bytes is refused, however it comes. Half a line, behind which the client has
// gone, is no question: end_of_stream.
coflux::fork<void, worker> add_up(coflux::environment&, coflux::tcp_stream peer) {
    auto&& here = co_await coflux::context();
    coflux::buffered_reader in(peer);
    coflux::buffered_writer out(peer);
    std::string refusal;
    try {
        while (const auto line = co_await in.read_line(here, {.limit = 100})) {
            int sum = 0;
            for (const char digit : *line) sum += digit - '0';
            co_await out.write_all(here, std::to_string(sum) + "\n");
            if (!in.has_line()) co_await out.flush(here);  // no further question is there yet
        }
    } catch (const coflux::limit_exceeded& e) {
        refusal = "no line within " + std::to_string(e.limit()) + " bytes\n";  // an await cannot be here
    }
    co_await out.write_all(here, refusal);
    co_await out.flush(here);
}

void print(std::optional<std::string_view> line) {
    std::printf("%s\n", std::string(line.value_or("the end")).c_str());
}

coflux::fork<void, worker> ask(coflux::environment&, coflux::endpoint server) {
    auto&& here = co_await coflux::context();
    coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(server);
    coflux::buffered_reader in(peer);
    co_await peer.write_all("12\r\n34\n5");  // two lines, and a half

    for (int i = 0; i != 2; ++i) print(co_await in.read_line(here));
    // A stop loses nothing: whatever had come of the line would be there when it is asked for again.
    const auto early = co_await coflux::timeout(in.read_line(here), 5ms);
    std::printf("%s\n", early.timed_out() ? "not yet" : "early");
    co_await peer.write_all("6\n");
    print(co_await in.read_line(here));
    co_await peer.write_all(std::string(1000, '1'));
    print(co_await in.read_line(here));
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto client = ask(here, listener.local_endpoint());
    co_await add_up(here, co_await listener.accept());
    co_await std::move(client);
}

int main() {
    worker on;
    auto env = coflux::make_environment(on);
    program(env).get();
}
