// The load of echo_many and echo_pool: closed and open loop.
#include "client.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace load {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers go over the wire as they lie in memory");

constexpr std::size_t largest = 4'096;

class message {
public:
    message(std::uint64_t number, std::size_t bytes) : bytes_{bytes} {
        for (std::size_t i = sizeof number; i < bytes; ++i) {
            text_[i] = static_cast<char>(number + 31 * i);
        }
        std::memcpy(text_.data(), &number, sizeof number);
    }
    [[nodiscard]] const char* data() const noexcept { return text_.data(); }
    [[nodiscard]] bool is(const char* other) const noexcept { return std::memcmp(text_.data(), other, bytes_) == 0; }

private:
    std::array<char, largest> text_;  // not initialised beyond its bytes
    std::size_t bytes_;
};

struct connection {
    descriptor socket;
    std::uint64_t expected = 0;  // the number of the oldest request without an answer; 0: there is none
    clock::time_point sent{};    // of the last request
    std::vector<char> received;  // a part of an answer
    std::vector<char> unsent;    // what the socket did not take
};

class echo final : public kind {
public:
    explicit echo(const options& o) : o_{o}, poll_{epoll_create1(EPOLL_CLOEXEC)}, all_(o.connections) {
        if (o.connections == 0 || o.bytes < sizeof(std::uint64_t) || o.bytes > largest) {
            throw std::runtime_error{"no connections, or a message that is too short or too long"};
        }
        for (std::size_t i = 0; i < all_.size(); ++i) {
            connect(all_[i], i);
        }
    }

    std::uint64_t pass(harness::latencies& waits) override {
        waits_ = &waits;
        next_ = 1;
        answered_ = 0;
        sum_ = 0;
        began_ = clock::now();
        if (o_.rate == 0) {
            for (connection& c : all_) {
                send_next(c);
            }
        }
        last_heard_ = began_;
        while (answered_ < o_.requests) {
            wait(o_.rate == 0 ? std::chrono::nanoseconds{silence_ms * 1'000'000LL} : send_due());
        }
        return sum_;
    }

private:
    void connect(connection& c, std::size_t index) {
        c.socket = descriptor{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const sockaddr_in to = loopback(o_.port);
        if (c.socket.get() < 0 || ::connect(c.socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
            fail("connect");
        }
        const int on = 1;
        setsockopt(c.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        poll(EPOLL_CTL_ADD, index, EPOLLIN);
    }

    void poll(int operation, std::size_t index, std::uint32_t what) {
        epoll_event event{};
        event.events = what;
        event.data.u64 = index;
        if (epoll_ctl(poll_.get(), operation, all_[index].socket.get(), &event) != 0) {
            fail("epoll_ctl");
        }
    }

    [[nodiscard]] clock::time_point due(std::uint64_t number) const {
        return began_ + std::chrono::nanoseconds{(number - 1) * 1'000'000'000 / o_.rate};
    }

    /// Sends what is due, and returns how long nothing will be.
    std::chrono::nanoseconds send_due() {
        const clock::time_point now = clock::now();
        while (next_ <= o_.requests && due(next_) <= now) {
            send_next(all_[(next_ - 1) % all_.size()]);
        }
        return next_ <= o_.requests ? due(next_) - now : std::chrono::nanoseconds{silence_ms * 1'000'000LL};
    }

    void send_next(connection& c) {
        if (next_ > o_.requests) {
            return;
        }
        const message m{next_, o_.bytes};
        if (c.expected == 0) {
            c.expected = next_;
        }
        ++next_;
        if (o_.rate == 0) {
            c.sent = clock::now();
        }
        if (!c.unsent.empty()) {
            c.unsent.insert(c.unsent.end(), m.data(), m.data() + o_.bytes);
            return;
        }
        const std::size_t taken = send(c, m.data(), o_.bytes);
        if (taken < o_.bytes) {
            c.unsent.assign(m.data() + taken, m.data() + o_.bytes);
            poll(EPOLL_CTL_MOD, index_of(c), EPOLLIN | EPOLLOUT);
        }
    }

    std::size_t send(const connection& c, const char* data, std::size_t size) {
        const ssize_t sent = ::send(c.socket.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) {
            fail("send");
        }
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }

    void flush(connection& c) {
        c.unsent.erase(c.unsent.begin(),
                       c.unsent.begin() + static_cast<std::ptrdiff_t>(send(c, c.unsent.data(), c.unsent.size())));
        if (c.unsent.empty()) {
            poll(EPOLL_CTL_MOD, index_of(c), EPOLLIN);
        }
    }

    [[nodiscard]] std::size_t index_of(const connection& c) const { return static_cast<std::size_t>(&c - all_.data()); }

    void wait(std::chrono::nanoseconds longest) {
        std::array<epoll_event, 256> events;
        // With a CPU of its own it does not sleep for less than it takes to wake.
        if (o_.own_cpu && longest < std::chrono::microseconds{100}) {
            longest = std::chrono::nanoseconds{0};
        }
        const timespec limit{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
        const int count = epoll_pwait2(poll_.get(), events.data(), static_cast<int>(events.size()), &limit, nullptr);
        if (count < 0 && errno != EINTR) {
            fail("epoll_pwait2");
        }
        const clock::time_point now = clock::now();
        if (count > 0) {
            last_heard_ = now;
        } else if (now - last_heard_ > std::chrono::milliseconds{silence_ms - 1}) {
            throw std::runtime_error{"the server was silent: " + std::to_string(answered_) + " of " +
                                     std::to_string(o_.requests) + " requests are answered"};
        }
        for (int i = 0; i < count; ++i) {
            connection& c = all_[events[static_cast<std::size_t>(i)].data.u64];
            if ((events[static_cast<std::size_t>(i)].events & EPOLLOUT) != 0) {
                flush(c);
            }
            if ((events[static_cast<std::size_t>(i)].events & ~std::uint32_t{EPOLLOUT}) != 0) {
                receive(c);
            }
        }
    }

    void receive(connection& c) {
        std::array<char, 4 * largest> buffer;
        const std::size_t kept = c.received.size();
        std::copy(c.received.begin(), c.received.end(), buffer.begin());
        const ssize_t got = recv(c.socket.get(), buffer.data() + kept, buffer.size() - kept, MSG_DONTWAIT);
        if (got == 0) {
            throw std::runtime_error{"the server has closed a connection"};
        }
        if (got < 0) {
            if (errno == EAGAIN) {
                return;
            }
            fail("recv");
        }
        const std::size_t size = kept + static_cast<std::size_t>(got);
        std::size_t used = 0;
        const clock::time_point now = clock::now();
        for (; size - used >= o_.bytes; used += o_.bytes) {
            answered(c, buffer.data() + used, now);
        }
        c.received.assign(buffer.data() + used, buffer.data() + size);
    }

    void answered(connection& c, const char* text, clock::time_point now) {
        std::uint64_t number = 0;
        std::memcpy(&number, text, sizeof number);
        if (c.expected == 0 || number != c.expected || !message{number, o_.bytes}.is(text)) {
            throw std::runtime_error{"an answer is not what was sent: number " + std::to_string(number) +
                                     " in place of " + std::to_string(c.expected)};
        }
        sum_ += number * number;
        ++answered_;
        waits_->record(
            static_cast<std::uint64_t>(std::chrono::nanoseconds{now - (o_.rate == 0 ? c.sent : due(number))}.count()));
        c.expected = 0;
        if (o_.rate == 0) {
            send_next(c);
        } else if (number + all_.size() < next_) {
            c.expected = number + all_.size();
        }
    }

    options o_;
    descriptor poll_;
    std::vector<connection> all_;
    harness::latencies* waits_ = nullptr;
    std::uint64_t next_ = 1;
    std::uint64_t answered_ = 0;
    std::uint64_t sum_ = 0;
    clock::time_point began_{};
    clock::time_point last_heard_{};
};

}  // namespace

std::unique_ptr<kind> make_echo(const options& o) {
    return std::make_unique<echo>(o);
}

}  // namespace load
