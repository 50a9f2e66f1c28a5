// io_socket: a loop and a thread for each side, a bufferevent a connection.
#include "io_socket.hpp"
#include "loop.hpp"
#include "raw_sockets.hpp"
#include "workloads.hpp"

#include <array>
#include <deque>
#include <stdexcept>
#include <thread>

namespace lab {
namespace {

using harness::socket_work;

// A connection of either side. The clients send first.
template <typename Side>
class talk {
public:
    talk(loop& in, evutil_socket_t socket, const socket_work& work, std::size_t& left)
        : in_{in},
          left_{left},
          whole_{std::is_same_v<Side, harness::socket_client> ? work.response_bytes : work.request_bytes},
          side_{work},
          stream_{owned<bufferevent_ptr>(bufferevent_socket_new(in.get(), socket, BEV_OPT_CLOSE_ON_FREE))} {
        bufferevent_setcb(stream_.get(), on_read, nullptr, on_event, this);
        bufferevent_setwatermark(stream_.get(), EV_READ, whole_, 0);
    }
    talk(const talk&) = delete;
    talk& operator=(const talk&) = delete;

    void begin() { bufferevent_enable(stream_.get(), EV_READ | EV_WRITE); }

    void connect(std::uint16_t port) {
        sockaddr_in at = harness::loopback(port);
        if (bufferevent_socket_connect(stream_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
            throw std::runtime_error{"bufferevent_socket_connect"};
        }
    }

    [[nodiscard]] const Side& side() const noexcept { return side_; }

private:
    static void on_read(bufferevent*, void* self) { static_cast<talk*>(self)->read(); }
    static void on_event(bufferevent*, short what, void* self) { static_cast<talk*>(self)->happened(what); }

    void read() {
        in_.call([this] {
            std::array<std::byte, socket_work::buffer_bytes> message;
            const std::size_t size = bufferevent_read(stream_.get(), message.data(), message.size());
            const auto got = std::span<const std::byte>{message}.first(size);
            if constexpr (std::is_same_v<Side, harness::socket_client>) {
                side_.received(got);
                ask();
            } else {
                write(side_.answer(got));
            }
        });
    }

    void happened(short what) {
        in_.call([this, what] {
            if ((what & BEV_EVENT_CONNECTED) != 0) {
                harness::send_at_once(bufferevent_getfd(stream_.get()));
                begin();
                if constexpr (std::is_same_v<Side, harness::socket_client>) {
                    ask();
                }
                return;
            }
            if ((what & BEV_EVENT_ERROR) != 0 || std::is_same_v<Side, harness::socket_client>) {
                throw std::runtime_error{"a connection broke"};
            }
            end();
        });
    }

    void ask()
        requires std::is_same_v<Side, harness::socket_client>
    {
        const auto request = side_.next();
        if (request.empty()) {
            end();
        } else {
            write(request);
        }
    }

    void write(std::span<const std::byte> bytes) { bufferevent_write(stream_.get(), bytes.data(), bytes.size()); }

    void end() {
        stream_.reset();
        if (--left_ == 0) {
            in_.stop();
        }
    }

    loop& in_;
    std::size_t& left_;
    std::size_t whole_;
    Side side_;
    bufferevent_ptr stream_;
};

void serve(int listening, const socket_work& work) {
    struct accepting {
        const socket_work& work;
        loop in{};
        std::size_t left = work.connections;
        std::deque<talk<harness::socket_server>> all{};
    };
    accepting server{work};
    const auto connected = [](evconnlistener*, evutil_socket_t socket, sockaddr*, int, void* to) {
        auto& s = *static_cast<accepting*>(to);
        s.in.call([&] {
            harness::send_at_once(socket);
            s.all.emplace_back(s.in, socket, s.work, s.left);
            if (s.all.size() == s.work.connections) {
                for (auto& each : s.all) {
                    each.begin();
                }
            }
        });
    };
    const auto listener = owned<listener_ptr>(
        evconnlistener_new(server.in.get(), connected, &server, LEV_OPT_CLOSE_ON_EXEC, 0, listening));
    server.in.run();
}

std::uint64_t ask(std::uint16_t port, const socket_work& work) {
    loop in;
    std::size_t left = work.connections;
    std::deque<talk<harness::socket_client>> all;
    for (std::uint64_t i = 0; i < work.connections; ++i) {
        all.emplace_back(in, -1, work, left).connect(port);
    }
    in.run();
    std::uint64_t sum = 0;
    for (const auto& each : all) {
        sum += each.side().answer();
    }
    return sum;
}

// Runs on a thread; what it throws comes out of join().
class side_thread {
public:
    template <typename F>
    explicit side_thread(F run)
        : thread_{[this, run] {
              try {
                  run();
              } catch (...) {
                  failure_ = std::current_exception();
              }
          }} {}

    void join() {
        thread_.join();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

private:
    std::exception_ptr failure_;
    std::jthread thread_;
};

}  // namespace

harness::measured io_socket(const harness::request& r) {
    const socket_work work{r};
    return harness::measure(r, [&work](harness::stopwatch& watch) {
        const harness::descriptor listener = harness::listen_on_loopback(SOCK_NONBLOCK);
        std::uint64_t sum = 0;
        side_thread server{[&] { serve(listener.get(), work); }};
        watch.start();
        side_thread clients{[&] { sum = ask(harness::port_of(listener.get()), work); }};
        clients.join();
        server.join();
        watch.stop();
        return sum;
    });
}

}  // namespace lab
