// echo_many, accept_churn and io_socket on epoll, and file_read by pread.
#include "file_read.hpp"
#include "io.hpp"
#include "io_socket.hpp"
#include "load_client.hpp"
#include "poller.hpp"
#include "two_threads.hpp"
#include "under_load.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace bare {
namespace {

using harness::descriptor;

constexpr std::size_t buffer_bytes = 4'096;
constexpr std::uint64_t of_stop = ~std::uint64_t{0};
constexpr std::uint64_t of_listener = of_stop - 1;

int accept_one(int listener) {
    return accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void write_whole(int socket, std::span<const std::byte> bytes) {
    // The other side reads all the time, and the buffers of the kernel hold thousands of messages.
    if (harness::checked(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), "send") !=
        static_cast<ssize_t>(bytes.size())) {
        throw std::runtime_error{"the other side does not read"};
    }
}

void serve_echo(int listener, int stop) {
    poller poll;
    poll.add(listener, of_listener);
    poll.add(stop, of_stop);
    std::vector<descriptor> all;
    std::array<std::byte, buffer_bytes> buffer;
    for (;;) {
        for (const epoll_event& event : poll.wait()) {
            if (event.data.u64 == of_stop) {
                return;
            }
            if (event.data.u64 == of_listener) {
                for (int fd = accept_one(listener); fd >= 0; fd = accept_one(listener)) {
                    harness::send_at_once(fd);
                    poll.add(fd, all.size());
                    all.emplace_back(fd);
                }
                continue;
            }
            descriptor& socket = all[event.data.u64];
            const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), 0);
            if (got > 0) {
                write_whole(socket.get(), std::span{buffer}.first(static_cast<std::size_t>(got)));
            } else if (got == 0 || errno != EAGAIN) {
                socket = descriptor{};
            }
        }
    }
}

void serve_churn(int listener, int stop) {
    poller poll;
    poll.add(listener, of_listener);
    poll.add(stop, of_stop);
    for (;;) {
        for (const epoll_event& event : poll.wait()) {
            if (event.data.u64 == of_stop) {
                return;
            }
            if (event.data.u64 == of_listener) {
                if (const int fd = accept_one(listener); fd >= 0) {
                    poll.add(fd, static_cast<std::uint64_t>(fd));
                }
                continue;
            }
            const int fd = static_cast<int>(event.data.u64);
            unsigned char byte = 0;
            const ssize_t got = recv(fd, &byte, 1, 0);
            if (got < 0 && errno == EAGAIN) {
                continue;
            }
            if (got == 1) {
                ++byte;
                (void)send(fd, &byte, 1, MSG_NOSIGNAL);
            }
            close(fd);
        }
    }
}

// One of either side of io_socket.
template <typename Side>
struct talk {
    descriptor socket;
    Side side;
    std::array<std::byte, harness::socket_work::buffer_bytes> buffer{};
    std::size_t have = 0;

    // One read. Returns false at the end.
    bool read(std::size_t whole, auto&& handle) {
        const ssize_t got = recv(socket.get(), buffer.data() + have, buffer.size() - have, 0);
        if (got <= 0) {
            if (got < 0 && errno == EAGAIN) {
                return true;
            }
            harness::checked(got, "recv");
            return false;
        }
        have += static_cast<std::size_t>(got);
        if (have < whole) {
            return true;
        }
        const std::span<const std::byte> message = std::span{buffer}.first(have);
        have = 0;
        return handle(message);
    }
};

void serve_requests(int listener, const harness::socket_work& work, idle when) {
    std::vector<talk<harness::socket_server>> all;
    all.reserve(work.connections);
    poller poll;
    poll.add(listener, of_listener);
    while (all.size() < work.connections) {
        for ([[maybe_unused]] const epoll_event& event : poll.wait()) {
            if (const int fd = accept_one(listener); fd >= 0) {
                harness::send_at_once(fd);
                all.push_back({descriptor{fd}, harness::socket_server{work}});
            }
        }
    }
    poller each{when};
    for (std::size_t i = 0; i < all.size(); ++i) {
        each.add(all[i].socket.get(), i);
    }
    for (std::size_t left = all.size(); left != 0;) {
        for (const epoll_event& event : each.wait()) {
            auto& t = all[event.data.u64];
            const bool goes_on = t.read(work.request_bytes, [&t](std::span<const std::byte> request) {
                write_whole(t.socket.get(), t.side.answer(request));
                return true;
            });
            if (!goes_on) {
                t.socket = descriptor{};
                --left;
            }
        }
    }
}

std::uint64_t make_requests(std::uint16_t port, const harness::socket_work& work, idle when) {
    std::vector<talk<harness::socket_client>> all;
    all.reserve(work.connections);
    poller poll{when};
    std::size_t left = 0;
    for (; left < work.connections; ++left) {
        all.push_back({harness::connect_to_loopback(port), harness::socket_client{work}});
        harness::checked(fcntl(all.back().socket.get(), F_SETFL, O_NONBLOCK), "fcntl");
        poll.add(all.back().socket.get(), left);
    }
    for (auto& t : all) {
        write_whole(t.socket.get(), t.side.next());
    }
    std::uint64_t sum = 0;
    while (left != 0) {
        for (const epoll_event& event : poll.wait()) {
            auto& t = all[event.data.u64];
            bool ended = false;
            const bool is_open = t.read(work.response_bytes, [&](std::span<const std::byte> response) {
                t.side.received(response);
                const std::span<const std::byte> next = t.side.next();
                ended = next.empty();
                if (!ended) {
                    write_whole(t.socket.get(), next);
                }
                return true;
            });
            if (!is_open) {
                throw std::runtime_error{"the server has closed a connection"};
            }
            if (ended) {
                sum += t.side.answer();
                t.socket = descriptor{};
                --left;
            }
        }
    }
    return sum;
}

harness::measured between_two_loops(const harness::request& r, idle when) {
    return between_two_threads(
        r, SOCK_NONBLOCK,
        [when](int listener, const harness::socket_work& work) { serve_requests(listener, work, when); },
        [when](std::uint16_t port, const harness::socket_work& work) { return make_requests(port, work, when); });
}

}  // namespace

harness::measured echo_many(const harness::request& r) {
    harness::require_descriptors(r);
    return under_load(r, serve_echo, SOCK_NONBLOCK);
}

harness::measured accept_churn(const harness::request& r) {
    return under_load(r, serve_churn, SOCK_NONBLOCK);
}

harness::measured io_socket(const harness::request& r) {
    return between_two_loops(r, idle::sleeps);
}

harness::measured io_socket_that_spins(const harness::request& r) {
    return between_two_loops(r, idle::spins);
}

harness::measured file_read(const harness::request& r) {
    const harness::numbered_file file{r};
    const descriptor opened{harness::checked(open(file.path().c_str(), O_RDONLY | O_CLOEXEC), "open")};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        harness::file_reads reads{r};
        std::vector<std::byte> block(reads.bytes());
        watch.start();
        while (reads.more()) {
            const auto place = static_cast<off_t>(reads.next());
            const ssize_t got = harness::checked(pread(opened.get(), block.data(), block.size(), place), "pread");
            reads.read(std::span{block}.first(static_cast<std::size_t>(got)));
        }
        watch.stop();
        return reads.answer();
    });
}

}  // namespace bare
