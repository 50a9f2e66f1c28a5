// echo over ZeroMQ: a REQ socket for the client, a REP socket for the server, and the library's own thread below both.
#include "echo.hpp"
#include "harness.hpp"

#include <zmq.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

using harness::echo_work;
using harness::transport;

// The same result, which is not negative: else throws.
int checked(int result, const char* what) {
    if (result < 0) {
        throw std::runtime_error{std::string{what} + ": " + zmq_strerror(zmq_errno())};
    }
    return result;
}

struct end_context {
    void operator()(void* context) const noexcept { zmq_ctx_term(context); }
};
using context = std::unique_ptr<void, end_context>;

struct close_socket {
    void operator()(void* socket) const noexcept {
        // Messages that are not sent are not waited for.
        const int linger = 0;
        zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
        zmq_close(socket);
    }
};
using socket_handle = std::unique_ptr<void, close_socket>;

socket_handle make_socket(const context& of, int kind) {
    void* const made = zmq_socket(of.get(), kind);
    if (made == nullptr) {
        throw std::runtime_error{std::string{"zmq_socket: "} + zmq_strerror(zmq_errno())};
    }
    return socket_handle{made};
}

void send(const socket_handle& to, const harness::echo_message& message) {
    checked(zmq_send(to.get(), message.data(), message.size(), 0), "zmq_send");
}

// A message that is longer than a right one is seen as such, and cut.
class incoming {
public:
    [[nodiscard]] std::span<const std::byte> from(const socket_handle& socket) {
        const int size = checked(zmq_recv(socket.get(), bytes_.data(), bytes_.size(), 0), "zmq_recv");
        return std::span{bytes_}.first(std::min(static_cast<std::size_t>(size), bytes_.size()));
    }

private:
    std::array<std::byte, 64> bytes_{};
};

void answer_one(const socket_handle& server, incoming& requests) {
    send(server, harness::echo_answer(requests.from(server)));
}

// Where the server is, as ZeroMQ writes it. The kernel chooses the port of tcp.
std::string place_of(const socket_handle& bound) {
    std::array<char, 256> text{};
    std::size_t size = text.size();
    checked(zmq_getsockopt(bound.get(), ZMQ_LAST_ENDPOINT, text.data(), &size), "zmq_getsockopt");
    return text.data();
}

std::string unix_place() {
    // ZeroMQ writes an abstract name with @ in place of the first byte.
    return "ipc://@" + harness::abstract_name("zeromq").substr(1);
}

void listen_at(const socket_handle& server, const std::string& place) {
    checked(zmq_bind(server.get(), place.c_str()), "zmq_bind");
}

std::uint16_t port_in(const std::string& place) {
    return static_cast<std::uint16_t>(std::stoul(place.substr(place.rfind(':') + 1)));
}

harness::measured echo(const harness::request& r) {
    const echo_work work{r};
    if (work.over != transport::tcp && work.over != transport::unix_stream) {
        throw harness::unsupported_params{"ZeroMQ has no such transport: tcp, and ipc as unix"};
    }
    const bool over_tcp = work.over == transport::tcp;
    std::string place = over_tcp ? "tcp://127.0.0.1:*" : unix_place();
    // Before any thread: a context does not live on in a child.
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&](const harness::server_process::publish& publish) {
            const context own{zmq_ctx_new()};
            const socket_handle server = make_socket(own, ZMQ_REP);
            listen_at(server, place);
            publish(over_tcp ? port_in(place_of(server)) : 0);
            for (incoming requests;;) {
                answer_one(server, requests);
            }
        });
        if (over_tcp) {
            place = "tcp://127.0.0.1:" + std::to_string(other->port());
        }
    }
    const context own{zmq_ctx_new()};
    const socket_handle server = make_socket(own, ZMQ_REP);
    const socket_handle client = make_socket(own, ZMQ_REQ);
    if (!work.two_processes) {
        listen_at(server, place);
        place = place_of(server);
    }
    checked(zmq_connect(client.get(), place.c_str()), "zmq_connect");
    incoming requests;
    incoming answers;
    return harness::measure(r, [&](harness::stopwatch& watch) {
        harness::echo_client asks;
        watch.start();
        for (std::uint64_t i = 0; i < work.rounds; ++i) {
            send(client, asks.next());
            if (!work.two_processes) {
                answer_one(server, requests);
            }
            asks.received(answers.from(client));
        }
        watch.stop();
        return asks.answer();
    });
}

}  // namespace

int main(int argc, char** argv) {
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    harness::app app{"zeromq", std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch),
                     "malloc"};
    app.add("echo", echo, "REQ and REP; the library has a thread of its own beside that of the row");
    for (const char* const name : {"accept_churn", "echo_many", "echo_pool", "io_socket"}) {
        app.unsupported(name, "ZeroMQ has messages of its own over a connection, and not its bytes");
    }
    app.unsupported("file_read", "ZeroMQ has no files");
    app.rest_unsupported("ZeroMQ is messages between threads and processes, and no runtime for tasks");
    return app.main(argc, argv);
}
