// echo, echo_many, accept_churn, io_socket and file_read on io_uring.
#include "echo.hpp"
#include "file_read.hpp"
#include "io.hpp"
#include "io_socket.hpp"
#include "load_client.hpp"
#include "ring.hpp"
#include "two_threads.hpp"
#include "under_load.hpp"

#include <array>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <vector>

namespace bare {
namespace {

using harness::descriptor;
using harness::echo_end;
using harness::echo_message;

constexpr std::uint64_t of_stop = ~std::uint64_t{0};
constexpr std::uint64_t of_listener = of_stop - 1;
// The number of an operation that reports only where it has failed.
constexpr std::uint64_t of_quiet = of_stop - 2;

template <typename T>
std::uint64_t address(T* p) {
    return reinterpret_cast<std::uintptr_t>(p);
}

[[noreturn]] void fail_with(std::int32_t result, const char* what) {
    errno = -result;
    harness::fail(what);
}

// The buffers that one side of an echo receives into and sends from, while the kernel works on them.
class side {
public:
    side(const echo_end& end, std::uint64_t tag) : end_{end}, tag_{tag} {}

    void receive(ring& on) {
        if (end_.answers_sender) {
            io_uring_sqe& entry = on.add(IORING_OP_RECVMSG, end_.in(), tag_);
            from_size_ = sizeof from_;
            point(in_, come_.data(), come_.size());
            entry.addr = address(&in_.header);
            return;
        }
        io_uring_sqe& entry = on.add(end_.is_socket ? IORING_OP_RECV : IORING_OP_READ, end_.in(), tag_);
        entry.addr = address(come_.data());
        entry.len = end_.is_stream ? harness::echo_size : static_cast<std::uint32_t>(come_.size());
        if (end_.is_socket) {
            entry.msg_flags = end_.is_stream ? MSG_WAITALL : 0;
        } else {
            entry.off = ~std::uint64_t{0};
        }
    }

    [[nodiscard]] std::span<const std::byte> come(std::int32_t result) const {
        if (result < 0) {
            fail_with(result, "receive");
        }
        return std::span{come_}.first(static_cast<std::size_t>(result));
    }

    void send(ring& on, const echo_message& message) {
        gone_ = message;
        if (end_.answers_sender) {
            io_uring_sqe& entry = on.add(IORING_OP_SENDMSG, end_.out(), of_quiet);
            point(out_, gone_.data(), gone_.size());
            entry.addr = address(&out_.header);
            entry.msg_flags = MSG_NOSIGNAL;
            entry.flags = IOSQE_CQE_SKIP_SUCCESS;
            return;
        }
        io_uring_sqe& entry = on.add(end_.is_socket ? IORING_OP_SEND : IORING_OP_WRITE, end_.out(), of_quiet);
        entry.addr = address(gone_.data());
        entry.len = static_cast<std::uint32_t>(gone_.size());
        entry.flags = IOSQE_CQE_SKIP_SUCCESS;
        if (end_.is_socket) {
            entry.msg_flags = MSG_NOSIGNAL;
        } else {
            entry.off = ~std::uint64_t{0};
        }
    }

private:
    struct call {
        msghdr header{};
        iovec bytes{};
    };

    // The address is that of the sender of the last message.
    void point(call& c, std::byte* bytes, std::size_t size) {
        c.bytes = {bytes, size};
        c.header = {};
        c.header.msg_name = &from_;
        c.header.msg_namelen = &c == &in_ ? from_size_ : in_.header.msg_namelen;
        c.header.msg_iov = &c.bytes;
        c.header.msg_iovlen = 1;
    }

    const echo_end& end_;
    std::uint64_t tag_;
    std::array<std::byte, 64> come_{};
    echo_message gone_{};
    call in_;
    call out_;
    sockaddr_storage from_{};
    socklen_t from_size_ = 0;
};

constexpr std::uint64_t of_client = 0;
constexpr std::uint64_t of_server = 1;

void answer(ring& on, side& server, std::int32_t result) {
    server.send(on, harness::echo_answer(server.come(result)));
    server.receive(on);
}

std::uint64_t run(ring& on, side& client, side& server, std::uint64_t rounds) {
    harness::echo_client asks;
    std::uint64_t left = rounds;
    client.send(on, asks.next());
    client.receive(on);
    while (left != 0) {
        on.wait([&](std::uint64_t tag, std::int32_t result, std::uint32_t) {
            if (tag == of_server) {
                answer(on, server, result);
            } else if (tag == of_client) {
                asks.received(client.come(result));
                if (--left != 0) {
                    client.send(on, asks.next());
                    client.receive(on);
                }
            } else {
                fail_with(result, "send");
            }
        });
    }
    return asks.answer();
}

// One connection of echo_many: what it receives it sends from the same buffer, and receives again after that.
struct connection {
    explicit connection(int fd) : socket{fd} {}
    descriptor socket;
    std::array<std::byte, 4'096> buffer;
};

void receive(ring& on, connection& c) {
    io_uring_sqe& entry = on.add(IORING_OP_RECV, c.socket.get(), address(&c));
    entry.addr = address(c.buffer.data());
    entry.len = static_cast<std::uint32_t>(c.buffer.size());
}

void send_back(ring& on, connection& c, std::int32_t size) {
    io_uring_sqe& entry = on.add(IORING_OP_SEND, c.socket.get(), of_quiet);
    entry.addr = address(c.buffer.data());
    entry.len = static_cast<std::uint32_t>(size);
    // WAITALL: all of it, also where the kernel takes it in parts.
    entry.msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    entry.flags = IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
}

void accept_more(ring& on, int listener) {
    io_uring_sqe& entry = on.add(IORING_OP_ACCEPT, listener, of_listener);
    entry.ioprio = IORING_ACCEPT_MULTISHOT;
    entry.accept_flags = SOCK_CLOEXEC;
}

// Until the stop: what is accepted goes to `accepted`, what else completes to `completed(tag, result)`.
void serve(ring& on, int listener, int stop, auto accepted, auto completed) {
    std::uint64_t stops = 0;
    io_uring_sqe& entry = on.add(IORING_OP_READ, stop, of_stop);
    entry.addr = address(&stops);
    entry.len = sizeof stops;
    accept_more(on, listener);
    bool goes_on = true;
    while (goes_on) {
        on.wait([&](std::uint64_t tag, std::int32_t result, std::uint32_t flags) {
            if (tag == of_stop) {
                goes_on = false;
            } else if (tag == of_listener) {
                if ((flags & IORING_CQE_F_MORE) == 0) {
                    accept_more(on, listener);
                }
                if (result >= 0) {
                    accepted(result);
                }
            } else {
                completed(tag, result);
            }
        });
    }
}

void serve_echo(int listener, int stop) {
    std::vector<std::unique_ptr<connection>> all;
    ring on;  // ends before the buffers
    serve(
        on, listener, stop,
        [&](int fd) {
            harness::send_at_once(fd);
            receive(on, *all.emplace_back(std::make_unique<connection>(fd)));
        },
        [&](std::uint64_t tag, std::int32_t result) {
            // A failed send ends its connection: what was linked to it is cancelled.
            if (tag != of_quiet && result > 0) {
                auto& c = *reinterpret_cast<connection*>(tag);
                send_back(on, c, result);
                receive(on, c);
            }
        });
}

// One connection of accept_churn, whose number is that of its socket.
void serve_churn(int listener, int stop) {
    std::vector<std::array<unsigned char, 1>> bytes(harness::most_threads);
    ring on;
    serve(
        on, listener, stop,
        [&](int fd) {
            io_uring_sqe& entry = on.add(IORING_OP_RECV, fd, static_cast<std::uint64_t>(fd));
            entry.addr = address(&bytes.at(static_cast<std::size_t>(fd)));
            entry.len = 1;
        },
        [&](std::uint64_t tag, std::int32_t result) {
            if (tag == of_quiet) {
                return;  // the client has reset it
            }
            const int fd = static_cast<int>(tag);
            if (result == 1) {
                auto& byte = bytes.at(tag);
                ++byte[0];
                io_uring_sqe& entry = on.add(IORING_OP_SEND, fd, of_quiet);
                entry.addr = address(&byte);
                entry.len = 1;
                entry.msg_flags = MSG_NOSIGNAL;
                entry.flags = IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_HARDLINK;
            }
            on.add(IORING_OP_CLOSE, fd, of_quiet).flags = IOSQE_CQE_SKIP_SUCCESS;
        });
}

// One of either side of io_socket. `send` of one message is submitted with the `receive` of the next.
template <typename Side>
struct talk {
    descriptor socket;
    Side side;
    std::array<std::byte, harness::socket_work::buffer_bytes> buffer{};

    void receive(ring& on, std::size_t whole, std::uint64_t tag) {
        io_uring_sqe& entry = on.add(IORING_OP_RECV, socket.get(), tag);
        entry.addr = address(buffer.data());
        entry.len = static_cast<std::uint32_t>(whole);
        entry.msg_flags = MSG_WAITALL;
    }
    void send(ring& on, std::span<const std::byte> message) {
        io_uring_sqe& entry = on.add(IORING_OP_SEND, socket.get(), of_quiet);
        entry.addr = address(message.data());
        entry.len = static_cast<std::uint32_t>(message.size());
        entry.msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
        entry.flags = IOSQE_CQE_SKIP_SUCCESS;
    }
};

void serve_requests(int listener, const harness::socket_work& work) {
    std::vector<talk<harness::socket_server>> all;
    all.reserve(work.connections);
    ring on;  // ends before the buffers
    while (all.size() < work.connections) {
        const int fd = harness::checked(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
        harness::send_at_once(fd);
        all.push_back({descriptor{fd}, harness::socket_server{work}});
        all.back().receive(on, work.request_bytes, all.size() - 1);
    }
    for (std::size_t left = all.size(); left != 0;) {
        on.wait([&](std::uint64_t tag, std::int32_t result, std::uint32_t) {
            if (result < 0) {
                fail_with(result, tag == of_quiet ? "send" : "receive");
            }
            auto& t = all[tag];
            if (result == 0) {
                t.socket = descriptor{};
                --left;
                return;
            }
            t.send(on, t.side.answer(std::span{t.buffer}.first(static_cast<std::size_t>(result))));
            t.receive(on, work.request_bytes, tag);
        });
    }
}

std::uint64_t make_requests(std::uint16_t port, const harness::socket_work& work) {
    std::vector<talk<harness::socket_client>> all;
    all.reserve(work.connections);
    ring on;  // ends before the buffers
    for (std::size_t i = 0; i < work.connections; ++i) {
        all.push_back({harness::connect_to_loopback(port), harness::socket_client{work}});
        all.back().send(on, all.back().side.next());
        all.back().receive(on, work.response_bytes, i);
    }
    std::uint64_t sum = 0;
    for (std::size_t left = all.size(); left != 0;) {
        on.wait([&](std::uint64_t tag, std::int32_t result, std::uint32_t) {
            if (result <= 0) {
                fail_with(result, tag == of_quiet ? "send" : "receive");
            }
            auto& t = all[tag];
            t.side.received(std::span{t.buffer}.first(static_cast<std::size_t>(result)));
            const std::span<const std::byte> next = t.side.next();
            if (next.empty()) {
                sum += t.side.answer();
                t.socket = descriptor{};
                --left;
                return;
            }
            t.send(on, next);
            t.receive(on, work.response_bytes, tag);
        });
    }
    return sum;
}

}  // namespace

harness::measured echo_on_ring(const harness::request& r) {
    const harness::echo_work work{r};
    work.require_kernel("io_uring");
    harness::echo_pair ends = harness::make_echo_pair(work.over, 0);
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&ends](const harness::server_process::publish& publish) {
            ends.client = {};
            side server{ends.server, of_server};
            ring on;
            server.receive(on);
            publish(0);
            for (;;) {
                on.wait([&](std::uint64_t, std::int32_t result, std::uint32_t) { answer(on, server, result); });
            }
        });
        ends.server = {};
    }
    side client{ends.client, of_client};
    side server{ends.server, of_server};
    ring on;
    if (!work.two_processes) {
        server.receive(on);
    }
    return harness::measure(r, [&](harness::stopwatch& watch) {
        watch.start();
        const std::uint64_t answer = run(on, client, server, work.rounds);
        watch.stop();
        return answer;
    });
}

harness::measured echo_many_on_ring(const harness::request& r) {
    harness::require_descriptors(r);
    return under_load(r, serve_echo);
}

harness::measured accept_churn_on_ring(const harness::request& r) {
    return under_load(r, serve_churn);
}

harness::measured io_socket_on_ring(const harness::request& r) {
    const ring there;  // throws where the system has none; the threads need one each
    return between_two_threads(r, 0, serve_requests, make_requests);
}

harness::measured file_read_on_ring(const harness::request& r) {
    const harness::numbered_file file{r};
    const descriptor opened{harness::checked(open(file.path().c_str(), O_RDONLY | O_CLOEXEC), "open")};
    ring on;
    return harness::measure(r, [&](harness::stopwatch& watch) {
        harness::file_reads reads{r};
        std::vector<std::byte> block(reads.bytes());
        watch.start();
        while (reads.more()) {
            io_uring_sqe& entry = on.add(IORING_OP_READ, opened.get(), 0);
            entry.addr = address(block.data());
            entry.len = static_cast<std::uint32_t>(block.size());
            entry.off = reads.next();
            on.wait([&](std::uint64_t, std::int32_t result, std::uint32_t) {
                if (result < 0) {
                    fail_with(result, "read");
                }
                reads.read(std::span{block}.first(static_cast<std::size_t>(result)));
            });
        }
        watch.stop();
        return reads.answer();
    });
}

}  // namespace bare
