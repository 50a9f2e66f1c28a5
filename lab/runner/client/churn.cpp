// The load of accept_churn.
#include "client.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

namespace load {
namespace {

// The client's own addresses, so that ports do not run out where one is not free at once.
constexpr std::uint32_t addresses = 8;

struct slot {
    descriptor socket;
    std::uint64_t number = 0;
    clock::time_point began{};
    bool asked = false;
};

class churn final : public kind {
public:
    explicit churn(const options& o) : o_{o}, poll_{epoll_create1(EPOLL_CLOEXEC)}, slots_(o.in_flight) {
        if (o.connections == 0 || o.in_flight == 0) {
            throw std::runtime_error{"no connections"};
        }
    }

    std::uint64_t pass(harness::latencies& waits) override {
        next_ = 1;
        std::uint64_t sum = 0;
        std::uint64_t ended = 0;
        for (slot& s : slots_) {
            begin(s);
        }
        while (ended < o_.connections) {
            std::array<epoll_event, 64> events;
            const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), silence_ms);
            if (count < 0 && errno != EINTR) {
                fail("epoll_wait");
            }
            if (count == 0) {
                throw std::runtime_error{"the server was silent: " + std::to_string(ended) + " of " +
                                         std::to_string(o_.connections) + " connections have ended"};
            }
            for (int i = 0; i < count; ++i) {
                slot& s = slots_[events[static_cast<std::size_t>(i)].data.u64];
                if (!s.asked) {
                    ask(s);
                    continue;
                }
                sum += s.number * answer(s);
                waits.record(static_cast<std::uint64_t>(std::chrono::nanoseconds{clock::now() - s.began}.count()));
                ++ended;
                s.socket = descriptor{};
                begin(s);
            }
        }
        return sum;
    }

private:
    void begin(slot& s) {
        if (next_ > o_.connections) {
            return;
        }
        s.number = next_++;
        s.asked = false;
        s.socket = descriptor{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        const int fd = s.socket.get();
        // A reset in place of a minute in which the port is not free.
        const linger reset{1, 0};
        const int on = 1;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        const sockaddr_in from = loopback(0, 1 + static_cast<std::uint32_t>(s.number % addresses));
        const sockaddr_in to = loopback(o_.port);
        if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0) {
            fail("bind");
        }
        s.began = clock::now();
        if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS) {
            fail("connect");
        }
        epoll_event event{};
        event.events = EPOLLOUT;
        event.data.u64 = static_cast<std::uint64_t>(&s - slots_.data());
        if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
            fail("epoll_ctl");
        }
        // On loopback it is connected by now.
        ask(s);
    }

    void ask(slot& s) {
        const char byte = static_cast<char>(s.number);
        const ssize_t sent = send(s.socket.get(), &byte, 1, MSG_NOSIGNAL);
        if (sent != 1) {
            if (errno == EAGAIN || errno == ENOTCONN) {
                return;
            }
            fail("send");
        }
        s.asked = true;
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = static_cast<std::uint64_t>(&s - slots_.data());
        epoll_ctl(poll_.get(), EPOLL_CTL_MOD, s.socket.get(), &event);
    }

    [[nodiscard]] static std::uint64_t answer(const slot& s) {
        unsigned char byte = 0;
        const ssize_t got = recv(s.socket.get(), &byte, 1, 0);
        if (got < 0) {
            fail("recv");
        }
        if (got == 0 || byte != static_cast<unsigned char>(s.number + 1)) {
            throw std::runtime_error{"connection " + std::to_string(s.number) +
                                     (got == 0 ? " was closed without an answer" : " had a wrong answer")};
        }
        return byte;
    }

    options o_;
    descriptor poll_;
    std::vector<slot> slots_;
    std::uint64_t next_ = 1;
};

}  // namespace

std::unique_ptr<kind> make_churn(const options& o) {
    return std::make_unique<churn>(o);
}

}  // namespace load
