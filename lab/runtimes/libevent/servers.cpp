// Servers under the load of lab_load: a loop in a thread.
#include "load_client.hpp"
#include "loop.hpp"
#include "raw_sockets.hpp"
#include "workloads.hpp"

#include <array>
#include <cerrno>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace lab {
namespace {

using harness::descriptor;

// Ends a loop from another thread.
class stopper {
public:
    explicit stopper(loop& which)
        : told_{owned<event_ptr>(event_new(
              which.get(), event_.get(), EV_READ,
              [](evutil_socket_t, short, void* it) { static_cast<loop*>(it)->stop(); }, &which))} {
        event_add(told_.get(), nullptr);
    }
    void stop() const { eventfd_write(event_.get(), 1); }

private:
    descriptor event_{harness::checked(eventfd(0, EFD_CLOEXEC), "eventfd")};
    event_ptr told_;
};

using connected = void (*)(evconnlistener*, evutil_socket_t socket, sockaddr*, int, void*);

void end_of(bufferevent* stream, short, void*) {
    bufferevent_free(stream);
}

bufferevent* stream_of(evconnlistener* listener, evutil_socket_t socket) {
    bufferevent* const stream =
        bufferevent_socket_new(evconnlistener_get_base(listener), socket, BEV_OPT_CLOSE_ON_FREE);
    if (stream == nullptr) {
        close(socket);
    }
    return stream;
}

// The bytes that are read become the bytes that are written, without a copy.
void echo_to_the_end(evconnlistener* listener, evutil_socket_t socket, sockaddr*, int, void*) {
    harness::send_at_once(socket);
    if (bufferevent* const stream = stream_of(listener, socket)) {
        const auto read = [](bufferevent* of, void*) { bufferevent_write_buffer(of, bufferevent_get_input(of)); };
        bufferevent_setcb(stream, read, nullptr, end_of, nullptr);
        bufferevent_enable(stream, EV_READ | EV_WRITE);
    }
}

void answer_a_byte(evconnlistener* listener, evutil_socket_t socket, sockaddr*, int, void*) {
    if (bufferevent* const stream = stream_of(listener, socket)) {
        const auto read = [](bufferevent* of, void*) {
            unsigned char byte = 0;
            bufferevent_read(of, &byte, 1);
            ++byte;
            // Closed when it is written.
            bufferevent_setcb(of, nullptr, [](bufferevent* done, void*) { bufferevent_free(done); }, end_of, nullptr);
            bufferevent_write(of, &byte, 1);
        };
        bufferevent_setcb(stream, read, nullptr, end_of, nullptr);
        bufferevent_enable(stream, EV_READ | EV_WRITE);
    }
}

// A connection by an event: it is its own owner, and ends with its socket.
class connection {
public:
    using handle = bool (*)(evutil_socket_t);

    // `use` says whether the connection goes on.
    static void begin(event_base* base, evutil_socket_t socket, handle use) {
        auto made = std::make_unique<connection>(socket, use);
        made->readable_ = owned<event_ptr>(event_new(base, socket, EV_READ | EV_PERSIST, on_readable, made.get()));
        event_add(made->readable_.get(), nullptr);
        (void)made.release();
    }

    connection(evutil_socket_t socket, handle use) : socket_{socket}, use_{use} {}

private:
    static void on_readable(evutil_socket_t socket, short, void* self) {
        auto* const it = static_cast<connection*>(self);
        if (!it->use_(socket)) {
            delete it;
        }
    }

    descriptor socket_;
    handle use_;
    event_ptr readable_;  // gone before its socket
};

bool echo_once(evutil_socket_t socket) {
    std::array<std::byte, 4'096> buffer;
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
        return got < 0 && errno == EAGAIN;
    }
    // The client reads all the time, and the buffers of the kernel hold thousands of messages.
    return send(socket, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
}

bool answer_once(evutil_socket_t socket) {
    unsigned char byte = 0;
    const ssize_t got = recv(socket, &byte, 1, 0);
    if (got < 0 && errno == EAGAIN) {
        return true;
    }
    if (got == 1) {
        ++byte;
        (void)send(socket, &byte, 1, MSG_NOSIGNAL);
    }
    return false;
}

void begin_echo(evconnlistener* listener, evutil_socket_t socket, sockaddr*, int, void*) {
    harness::send_at_once(socket);
    connection::begin(evconnlistener_get_base(listener), socket, echo_once);
}

void begin_byte(evconnlistener* listener, evutil_socket_t socket, sockaddr*, int, void*) {
    connection::begin(evconnlistener_get_base(listener), socket, answer_once);
}

harness::measured under_load(const harness::request& r, connected begin) {
    const descriptor socket = harness::listen_on_loopback(SOCK_NONBLOCK);
    loop serving;
    const auto listener =
        owned<listener_ptr>(evconnlistener_new(serving.get(), begin, nullptr, LEV_OPT_CLOSE_ON_EXEC, 0, socket.get()));
    const stopper stop{serving};
    std::jthread server{[&serving] { serving.run(); }};
    harness::measured m;
    try {
        harness::load_client load{r, harness::port_of(socket.get())};
        m = harness::measure(r, [&load](harness::stopwatch& watch) { return load.pass(watch); });
    } catch (...) {
        stop.stop();
        throw;
    }
    stop.stop();
    return m;
}

}  // namespace

harness::measured echo_many(const harness::request& r) {
    harness::require_descriptors(r);
    return under_load(r, echo_to_the_end);
}

harness::measured echo_many_expert(const harness::request& r) {
    harness::require_descriptors(r);
    return under_load(r, begin_echo);
}

harness::measured accept_churn(const harness::request& r) {
    return under_load(r, answer_a_byte);
}

harness::measured accept_churn_expert(const harness::request& r) {
    return under_load(r, begin_byte);
}

}  // namespace lab
