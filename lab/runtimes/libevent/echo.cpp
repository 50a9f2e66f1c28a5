// echo: both sides in one loop, or the server in a process of its own.
#include "echo.hpp"

#include "loop.hpp"
#include "raw_sockets.hpp"
#include "workloads.hpp"

#include <functional>
#include <optional>
#include <stdexcept>

namespace lab {
namespace {

using harness::echo_message;
using harness::echo_work;
using harness::transport;

using message_view = std::span<const std::byte>;
// The reaction of a side to a whole message. Returns what to send, or nothing.
using handler = std::function<std::optional<echo_message>(message_view)>;

class side {
public:
    side() = default;
    virtual ~side() = default;
    side(const side&) = delete;
    side& operator=(const side&) = delete;
    virtual void send(const echo_message& message) = 0;
};

// A stream by a bufferevent, which reads and writes through buffers of its own.
class buffered_side final : public side {
public:
    buffered_side(loop& in, int socket, handler handle)
        : in_{in},
          handle_{std::move(handle)},
          stream_{owned<bufferevent_ptr>(bufferevent_socket_new(in.get(), socket, 0))} {
        bufferevent_setcb(stream_.get(), on_read, nullptr, on_event, this);
        bufferevent_setwatermark(stream_.get(), EV_READ, harness::echo_size, 0);
        bufferevent_enable(stream_.get(), EV_READ | EV_WRITE);
    }

    void send(const echo_message& message) override {
        if (bufferevent_write(stream_.get(), message.data(), message.size()) != 0) {
            throw std::runtime_error{"bufferevent_write"};
        }
    }

private:
    static void on_read(bufferevent*, void* self) { static_cast<buffered_side*>(self)->read(); }
    static void on_event(bufferevent*, short, void* self) {
        static_cast<buffered_side*>(self)->in_.call([] { throw std::runtime_error{"the other side has ended"}; });
    }

    void read() {
        in_.call([this] {
            echo_message message;
            while (evbuffer_get_length(bufferevent_get_input(stream_.get())) >= message.size()) {
                bufferevent_read(stream_.get(), message.data(), message.size());
                if (const auto next = handle_(message)) {
                    send(*next);
                }
            }
        });
    }

    loop& in_;
    handler handle_;
    bufferevent_ptr stream_;
};

// Anything by an event, and the calls of the system.
class plain_side final : public side {
public:
    plain_side(loop& in, const harness::echo_end& end, handler handle)
        : in_{in},
          end_{end},
          handle_{std::move(handle)},
          readable_{owned<event_ptr>(event_new(in.get(), end.in(), EV_READ | EV_PERSIST, on_readable, this))} {
        event_add(readable_.get(), nullptr);
    }

    void send(const echo_message& message) override { buffer_.send(end_, message); }

private:
    static void on_readable(evutil_socket_t, short, void* self) { static_cast<plain_side*>(self)->read(); }

    void read() {
        in_.call([this] {
            if (buffer_.receive(end_)) {
                const auto next = handle_(buffer_.message());
                if (next) {
                    send(*next);
                }
                buffer_.clear();
            }
        });
    }

    loop& in_;
    const harness::echo_end& end_;
    handler handle_;
    harness::echo_buffer buffer_;
    event_ptr readable_;
};

std::unique_ptr<side> make_side(loop& in, const harness::echo_end& end, bool buffered, handler handle) {
    if (buffered) {
        return std::make_unique<buffered_side>(in, end.in(), std::move(handle));
    }
    return std::make_unique<plain_side>(in, end, std::move(handle));
}

std::optional<echo_message> answer_to(message_view request) {
    return harness::echo_answer(request);
}

harness::measured run(const harness::request& r, const echo_work& work, bool buffered) {
    harness::echo_pair ends = harness::make_echo_pair(work.over, SOCK_NONBLOCK);
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&](const harness::server_process::publish& publish) {
            ends.client = {};
            loop serving;
            const auto server = make_side(serving, ends.server, buffered, answer_to);
            publish(0);
            serving.run();
        });
        ends.server = {};
    }
    loop here;
    harness::echo_client asks;
    std::uint64_t left = 0;
    std::unique_ptr<side> server;
    if (!work.two_processes) {
        server = make_side(here, ends.server, buffered, answer_to);
    }
    const auto client = make_side(here, ends.client, buffered, [&](message_view answer) -> std::optional<echo_message> {
        asks.received(answer);
        if (--left == 0) {
            here.stop();
            return std::nullopt;
        }
        return asks.next();
    });
    return harness::measure(r, [&](harness::stopwatch& watch) {
        asks = {};
        left = work.rounds;
        watch.start();
        client->send(asks.next());
        here.run();
        watch.stop();
        return asks.answer();
    });
}

bool is_stream_socket(const echo_work& work) {
    return work.over == transport::tcp || work.over == transport::unix_stream;
}

}  // namespace

harness::measured echo(const harness::request& r) {
    const echo_work work{r};
    work.require_kernel("libevent");
    return run(r, work, is_stream_socket(work));
}

harness::measured echo_expert(const harness::request& r) {
    const echo_work work{r};
    work.require_kernel("libevent");
    if (!is_stream_socket(work)) {
        throw harness::unsupported_params{
            "a bufferevent is for one socket of a stream: the plain dress has events too"};
    }
    return run(r, work, false);
}

}  // namespace lab
