// A listener that does what a test says, and a server of it in virtual time.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/io/serve.hpp>
#include <coflux/testing/testing.hpp>

namespace coflux_test {

using namespace std::chrono_literals;
using sim = coflux::testing::sim_executor;

/// A connection that counts how many of its kind are open.
class peer {
public:
    peer(int number, int* open) noexcept : number(number), open_(open) { ++*open_; }
    peer(peer&& other) noexcept : number(other.number), open_(std::exchange(other.open_, nullptr)) {}
    peer& operator=(peer&&) = delete;
    ~peer() {
        if (open_ != nullptr) --*open_;
    }
    int number;

private:
    int* open_;
};

/// Gives what was put into it: a connection, or an error.
class fake_listener {
public:
    explicit fake_listener(coflux::environment& of) : of_(&of) {}

    void connect(int count = 1) {
        for (int i = 0; i < count; ++i) script_.push_back({});
        changed_.set();
    }
    void fail(std::errc error, int count = 1) {
        for (int i = 0; i < count; ++i)
            script_.push_back(std::make_exception_ptr(std::system_error(make_error_code(error))));
        changed_.set();
    }
    void fail(std::exception_ptr error) {
        script_.push_back(std::move(error));
        changed_.set();
    }
    coflux::fork<peer, sim> accept() { return next(*of_, this); }
    void close() noexcept { is_closed = true; }

    [[nodiscard]] std::size_t backlog() const noexcept { return script_.size(); }
    /// The connection that accept() gives, if it does not have to wait.
    std::optional<peer> take() {
        if (script_.empty()) return std::nullopt;
        const std::exception_ptr first = std::move(script_.front());
        script_.pop_front();
        if (first != nullptr) std::rethrow_exception(first);
        return std::optional<peer>(std::in_place, ++taken, &open);
    }

    int open = 0;   // connections
    int taken = 0;  // connections so far
    bool is_closed = false;
    std::vector<std::chrono::nanoseconds> asked;  // when accept() was called

private:
    static coflux::fork<peer, sim> next(coflux::environment&, fake_listener* self) {
        self->asked.push_back(coflux::testing::simulation::current()->elapsed());
        while (self->script_.empty()) co_await self->changed_.wait();
        co_return *self->take();
    }

    coflux::environment* of_;
    std::deque<std::exception_ptr> script_;
    coflux::auto_reset_event changed_;
};

inline std::chrono::nanoseconds now() {
    return coflux::testing::simulation::current()->elapsed();
}

template <typename F>
coflux::task<void, sim> root(coflux::environment&, F body) {
    auto&& here = co_await coflux::context();
    fake_listener listener(here);
    co_await body(here, listener);
    EXPECT_EQ(listener.open, 0);
}
/// Runs `body(here, listener)` in a world of its own.
template <typename F>
void in_virtual_time(F body) {
    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation world(fifo);
    sim on(world);
    auto env = coflux::make_environment(on);
    root(env, body).get();
}

template <typename Handler>
coflux::fork<coflux::serve_report, sim> server(coflux::environment&, fake_listener* from, Handler handler,
                                               coflux::serve_options options) {
    auto&& here = co_await coflux::context();
    co_return co_await coflux::serve(here, *from, handler, options);
}
/// Serves for so long, then stops; gives the report.
template <typename Handler>
coflux::call<coflux::serve_report> serve_for(coflux::environment&, fake_listener& from, std::chrono::nanoseconds time,
                                             Handler handler, coflux::serve_options options) {
    auto&& here = co_await coflux::context();
    auto inside = coflux::make_environment(here);
    auto running = server(inside, &from, handler, options);
    co_await coflux::sleep_for(time);
    inside.request_stop();
    const auto ended = co_await coflux::as_outcome(std::move(running));
    co_await inside.join();
    EXPECT_FALSE(ended.is_stopped());
    const coflux::serve_report report = ended.value();
    EXPECT_EQ(report.accepted, report.served + report.failed + report.cut);
    co_return report;
}

/// Has nothing to read, but after each so long a wait.
struct readable_after {
    std::chrono::nanoseconds time;

    [[nodiscard]] bool is_readable() const noexcept { return false; }
    [[nodiscard]] auto wait_readable() const noexcept { return coflux::sleep_for(time); }
};

/// A client that sends a request each second; a request takes 400 ms.
struct keeps_alive {
    std::vector<int>* requests;
    coflux::call<void> operator()(coflux::environment&, peer p, coflux::drain_token server) const {
        auto&& here = co_await coflux::context();
        requests->resize(static_cast<std::size_t>(p.number));
        readable_after next{600ms};
        while (co_await server.idle(here, next)) {
            co_await 400ms;
            ++requests->at(static_cast<std::size_t>(p.number - 1));
        }
        EXPECT_TRUE(server.is_draining());
    }
};

}  // namespace coflux_test
