// I/O with a thread of the operating system for each task, and calls that block.
#include "io.hpp"

#include "echo.hpp"
#include "file_read.hpp"
#include "io_socket.hpp"
#include "load_client.hpp"
#include "raw_sockets.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace lab {
namespace {

using harness::descriptor;
using harness::echo_end;

// Until the client ends.
void serve_echo(const echo_end& server) {
    for (harness::echo_buffer buffer;; buffer.clear()) {
        while (!buffer.receive(server)) {}
        buffer.send(server, harness::echo_answer(buffer.message()));
    }
}

std::uint64_t run_echo(const echo_end& client, std::uint64_t rounds) {
    harness::echo_client asks;
    harness::echo_buffer buffer;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        buffer.clear();
        buffer.send(client, asks.next());
        while (!buffer.receive(client)) {}
        asks.received(buffer.message());
    }
    return asks.answer();
}

// A server in this process ends with it: a thread that waits in the kernel cannot be stopped.
void serve_for_ever(echo_end server) {
    std::thread{[end = std::move(server)] { serve_echo(end); }}.detach();
}

bool echo_back(const descriptor& peer) {
    std::array<std::byte, 4'096> buffer;
    const auto got = recv(peer.get(), buffer.data(), buffer.size(), 0);
    if (got > 0) {
        harness::send_all(peer.get(), std::span{buffer}.first(static_cast<std::size_t>(got)));
    }
    return got > 0;
}

// Its threads, each with a connection, end when the client ends.
class server {
public:
    template <typename Handler>
    explicit server(Handler handler)
        : accepting_{[this, handler] {
              while (true) {
                  descriptor peer{accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
                  if (peer.get() < 0) {
                      return;  // it is shut down
                  }
                  harness::send_at_once(peer.get());
                  begin();
                  std::thread{[this, handler, held = std::move(peer)]() mutable {
                      handler(held);
                      held = descriptor{};
                      end();
                  }}.detach();
              }
          }} {}
    ~server() {
        shutdown(listener_.get(), SHUT_RDWR);
        accepting_.join();
        std::unique_lock lock{mutex_};
        ended_.wait(lock, [this] { return running_ == 0; });
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    [[nodiscard]] std::uint16_t port() const { return harness::port_of(listener_.get()); }

private:
    void begin() {
        const std::lock_guard lock{mutex_};
        ++running_;
    }
    // Under the lock, as this object may be gone after it.
    void end() {
        const std::lock_guard lock{mutex_};
        --running_;
        ended_.notify_all();
    }

    descriptor listener_ = harness::listen_on_loopback();
    std::mutex mutex_;
    std::condition_variable ended_;
    std::uint64_t running_ = 0;
    std::jthread accepting_;
};

template <typename Handler>
harness::measured under_load(const harness::request& r, Handler handler) {
    server serves{handler};
    harness::load_client load{r, serves.port()};
    return harness::measure(r, [&load](harness::stopwatch& watch) { return load.pass(watch); });
}

std::span<const std::byte> read_message(const descriptor& from, std::span<std::byte> into) {
    return into.first(harness::receive_all(from.get(), into));
}

void serve_requests(const descriptor& peer, const harness::socket_work& work) {
    harness::socket_server side{work};
    std::vector<std::byte> buffer(work.request_bytes);
    for (auto request = read_message(peer, buffer); !request.empty(); request = read_message(peer, buffer)) {
        harness::send_all(peer.get(), side.answer(request));
    }
}

void serve_all_requests(const descriptor& listener, const harness::socket_work& work) {
    std::vector<descriptor> accepted;
    for (std::uint64_t i = 0; i < work.connections; ++i) {
        accepted.emplace_back(harness::checked(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
        harness::send_at_once(accepted.back().get());
    }
    std::vector<std::jthread> threads;
    for (descriptor& peer : accepted) {
        threads.emplace_back([&work, held = std::move(peer)] { serve_requests(held, work); });
    }
}

std::uint64_t make_requests(std::uint16_t port, const harness::socket_work& work) {
    const descriptor server = harness::connect_to_loopback(port);
    harness::socket_client side{work};
    std::vector<std::byte> buffer(work.response_bytes);
    for (auto request = side.next(); !request.empty(); request = side.next()) {
        harness::send_all(server.get(), request);
        side.received(read_message(server, buffer));
    }
    return side.answer();
}

}  // namespace

harness::measured echo(const harness::request& r) {
    const harness::echo_work work{r};
    work.require_kernel("the standard library");
    harness::echo_pair ends = harness::make_echo_pair(work.over, 0);
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&ends](const harness::server_process::publish& publish) {
            ends.client = {};
            publish(0);
            serve_echo(ends.server);
        });
        ends.server = {};
    } else {
        serve_for_ever(std::move(ends.server));
    }
    const harness::measured m = harness::measure(r, [&](harness::stopwatch& watch) {
        watch.start();
        const std::uint64_t answer = run_echo(ends.client, work.rounds);
        watch.stop();
        return answer;
    });
    // The server's thread goes on to wait for it.
    (void)ends.client.reads.release();
    (void)ends.client.writes.release();
    return m;
}

harness::measured echo_many(const harness::request& r) {
    if (r.integer("connections") > harness::most_threads) {
        throw harness::unsupported_params{"a thread a connection: not more than " +
                                          std::to_string(harness::most_threads)};
    }
    harness::require_descriptors(r);
    return under_load(r, [](const descriptor& peer) {
        while (echo_back(peer)) {}
    });
}

harness::measured accept_churn(const harness::request& r) {
    return under_load(r, [](const descriptor& peer) {
        std::array<std::byte, 1> byte{};
        if (recv(peer.get(), byte.data(), 1, 0) == 1) {
            byte[0] = static_cast<std::byte>(std::to_integer<unsigned>(byte[0]) + 1U);
            (void)send(peer.get(), byte.data(), 1, MSG_NOSIGNAL);
        }
    });
}

harness::measured io_socket(const harness::request& r) {
    const harness::socket_work work{r};
    return harness::measure(r, [&work](harness::stopwatch& watch) {
        const descriptor listener = harness::listen_on_loopback();
        std::jthread servers{[&] { serve_all_requests(listener, work); }};
        std::atomic<std::uint64_t> sum{0};
        watch.start();
        {
            std::vector<std::jthread> clients;
            for (std::uint64_t i = 0; i < work.connections; ++i) {
                clients.emplace_back([&] { sum.fetch_add(make_requests(harness::port_of(listener.get()), work)); });
            }
        }
        servers.join();
        watch.stop();
        return sum.load();
    });
}

harness::measured file_read(const harness::request& r) {
    const harness::numbered_file file{r};
    std::filebuf opened;
    // Without a buffer of its own, which would be filled at each new place.
    opened.pubsetbuf(nullptr, 0);
    if (opened.open(file.path(), std::ios::in | std::ios::binary) == nullptr) {
        throw std::runtime_error{"cannot open the file"};
    }
    return harness::measure(r, [&](harness::stopwatch& watch) {
        harness::file_reads reads{r};
        std::vector<std::byte> block(reads.bytes());
        watch.start();
        while (reads.more()) {
            opened.pubseekpos(static_cast<std::streamoff>(reads.next()), std::ios::in);
            const auto got =
                opened.sgetn(reinterpret_cast<char*>(block.data()), static_cast<std::streamsize>(block.size()));
            reads.read(std::span<const std::byte>(block).first(static_cast<std::size_t>(got)));
        }
        watch.stop();
        return reads.answer();
    });
}

}  // namespace lab
