#include <coflux/tls/stream.hpp>

#include <array>
#include <cstdint>
#include <system_error>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/combine/when_any.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/io/result.hpp>
#include <coflux/sync/mutex.hpp>
#include <coflux/time/timeout.hpp>

#include "connection.hpp"

namespace coflux {
namespace detail {
namespace {

using step = tls_connection::step;

/// One coroutine at a time reads, and one writes.
class tls_turn {
public:
    tls_turn(atomic<bool>& taken, const char* what) : taken_(taken) {
        COFLUX_VERIFY(!taken_.exchange(true, memory_order_acquire), "two coroutines %s one TLS stream",
                      what);  // pairs with the release below
    }
    tls_turn(const tls_turn&) = delete;
    tls_turn& operator=(const tls_turn&) = delete;
    ~tls_turn() { taken_.store(false, memory_order_release); }

private:
    atomic<bool>& taken_;
};

/// All that is to be sent, also what other operations left. Between a write to the socket and the note of it there is
/// no stop point.
call<void> flush(environment&, tls_connection& c) {
    do {
        const auto guard = co_await c.sending.lock();
        for (;;) {
            const std::span<const std::byte> bytes = c.to_be_sent();
            if (bytes.empty()) break;
            c.sent(co_await c.socket.write_some(bytes));
        }
    } while (!c.to_be_sent().empty());  // of one that found `sending` locked: see send_what_fits()
}
call<void> flush_if_possible(environment&, tls_connection& c) {
    auto&& here = co_await context();
    try {
        co_await flush(here, c);
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): it comes again, to an operation that writes
    }
}

/// The turn to read the socket, which had been read `seen` times. No mutex: it has been read again, whether or not
/// the one that did so reads on.
call<coflux::mutex::guard> take_turn(environment&, tls_connection& c, std::uint64_t seen) {
    auto turn = c.receiving.try_lock();
    if (!turn) {
        c.has_received.reset();  // before the look at the count; receive() counts, and sets it then
        if (c.receipts() != seen) co_return turn;
        auto first = co_await when_any(c.receiving.lock(), c.has_received.wait());
        if (first.index() == 0) turn = std::get<0>(std::move(first));
    }
    if (turn && c.receipts() != seen) turn.unlock();
    co_return turn;
}

/// Bytes for the session, which wanted some when the socket had been read `seen` times. The operation that comes first
/// reads the socket; another one waits until it has, or was stopped.
call<void> receive(environment&, tls_connection& c, std::uint64_t seen, const char* what) {
    auto&& here = co_await context();
    const auto turn = co_await take_turn(here, c, seen);
    if (!turn) co_return;
    if (c.has_socket_ended()) c.throw_truncated(what);
    // An answer to the peer, or what a stopped writer has left. If this waited for room alone, it might wait for a peer
    // that waits to be read.
    if (!c.send_what_fits()) co_await when_any(c.socket.wait_readable(), flush_if_possible(here, c));
    c.received(co_await c.socket.read_some(c.room_for_received()));
    c.has_received.set();
}

call<void> do_handshake(environment&, tls_connection& c) {
    static constexpr const char* what = "handshake with";
    auto&& here = co_await context();
    const tls_turn reads(c.is_read, "read from");
    const tls_turn writes(c.is_written, "write to");
    for (;;) {
        const std::uint64_t seen = c.receipts();
        const step s = c.handshake();
        if (s == step::failed) {
            c.send_what_fits();  // the alert
            c.throw_failure(what);
        }
        if (!c.to_be_sent().empty()) co_await flush(here, c);
        if (s == step::done) co_return;
        if (s == step::wants_room) continue;
        if (s == step::ended) c.throw_truncated(what);
        co_await receive(here, c, seen, what);
    }
}

using take = step (tls_connection::*)(std::span<std::byte> into, std::size_t& count) noexcept;

/// At least one byte; 0: the peer has ended its stream.
call<std::size_t> read_once(environment&, tls_connection& c, std::span<std::byte> into, const char* what,
                            take how = &tls_connection::read) {
    auto&& here = co_await context();
    co_await detail::turn();
    for (;;) {
        std::size_t count = 0;
        const std::uint64_t seen = c.receipts();
        switch ((c.*how)(into, count)) {
        case step::done: co_return count;
        case step::ended: co_return 0;
        case step::failed: c.send_what_fits(); c.throw_failure(what);
        case step::wants_room: co_await flush(here, c); continue;
        case step::wants_bytes: break;
        }
        co_await receive(here, c, seen, what);
    }
}

call<std::size_t> do_read_some(environment&, tls_connection& c, std::span<std::byte> into) {
    static constexpr const char* what = "read from";
    c.check_ready(what);
    if (into.empty()) co_return 0;
    auto&& here = co_await context();
    const tls_turn reads(c.is_read, what);
    co_return co_await read_once(here, c, into, what);
}

call<void> do_wait_readable(environment&, tls_connection& c) {
    static constexpr const char* what = "wait for";
    c.check_ready(what);
    auto&& here = co_await context();
    const tls_turn reads(c.is_read, "read from");
    std::byte first{};
    (void)co_await read_once(here, c, std::span(&first, 1), what, &tls_connection::peek);
}

call<void> do_read_exactly(environment&, tls_connection& c, std::span<std::byte> into) {
    static constexpr const char* what = "read from";
    c.check_ready(what);
    auto&& here = co_await context();
    const tls_turn reads(c.is_read, what);
    for (std::size_t count = 0; count != into.size();) {
        const std::size_t got = co_await read_once(here, c, into.subspan(count), what);
        if (got == 0) throw end_of_stream(count);
        count += got;
    }
}

call<void> do_write_all(environment&, tls_connection& c, std::span<const std::byte> from) {
    static constexpr const char* what = "write to";
    c.check_ready(what);
    COFLUX_VERIFY(!c.has_said_end(), "a write to a TLS stream after its end was sent");
    auto&& here = co_await context();
    const tls_turn writes(c.is_written, what);
    for (;;) {
        const std::uint64_t seen = c.receipts();
        const step s = c.write(from);
        if (s == step::failed) {
            c.send_what_fits();
            c.throw_failure(what);
        }
        co_await flush(here, c);
        if (s == step::done) co_return;
        if (s == step::wants_bytes) co_await receive(here, c, seen, what);
    }
}

call<void> say_end(environment&, tls_connection& c) {
    static constexpr const char* what = "end the stream to";
    c.check_ready(what);
    auto&& here = co_await context();
    const tls_turn writes(c.is_written, what);
    for (;;) {
        const std::uint64_t seen = c.receipts();
        const step s = c.say_end();
        if (s == step::failed) {
            c.send_what_fits();
            c.throw_failure(what);
        }
        co_await flush(here, c);
        if (s == step::done) co_return;
        if (s == step::wants_bytes) co_await receive(here, c, seen, what);
    }
}

/// True: the peer has said that its stream ends.
call<bool> end_both(environment&, tls_connection& c) {
    auto&& here = co_await context();
    const tls_turn reads(c.is_read, "read from");
    std::array<std::byte, 512> dropped;
    try {
        co_await say_end(here, c);
        while (co_await read_once(here, c, dropped, "end the stream to") != 0) {}
        co_return true;
    } catch (const std::system_error& e) {
        // A peer that does not wait for the last word.
        if (e.code() == tls_errc::truncated || e.code() == std::errc::connection_reset ||
            e.code() == std::errc::broken_pipe)
            co_return false;
        throw;
    }
}

call<bool> do_shutdown(environment&, tls_connection& c, std::chrono::steady_clock::time_point by) {
    c.check_ready("end the stream to");
    auto&& here = co_await context();
    {
        // Also where no time is left.
        const tls_turn writes(c.is_written, "write to");
        (void)c.say_end();
        c.send_what_fits();
    }
    co_return (co_await deadline(end_both(here, c), by)).value_or(false);
}

}  // namespace
}  // namespace detail

tls_stream::tls_stream() noexcept = default;
tls_stream::tls_stream(const tls_context& context, tcp_stream connection, std::string_view host)
    : connection_(std::make_unique<detail::tls_connection>(context.settings_, std::move(connection), host)) {}
tls_stream::tls_stream(tls_stream&& other) noexcept = default;
tls_stream& tls_stream::operator=(tls_stream&& other) noexcept = default;
tls_stream::~tls_stream() = default;

detail::tls_connection& tls_stream::get() const noexcept {
    COFLUX_VERIFY(connection_ != nullptr, "an operation of a TLS stream that is closed, or was moved from");
    return *connection_;
}

call<void> tls_stream::handshake(environment& env) {
    return detail::do_handshake(env, get());
}
call<std::size_t> tls_stream::read_some(environment& env, std::span<std::byte> into) {
    return detail::do_read_some(env, get(), into);
}
call<void> tls_stream::read_exactly(environment& env, std::span<std::byte> into) {
    return detail::do_read_exactly(env, get(), into);
}
call<void> tls_stream::wait_readable(environment& env) {
    return detail::do_wait_readable(env, get());
}
bool tls_stream::is_readable() noexcept {
    return get().is_readable();
}
call<void> tls_stream::write_all(environment& env, std::span<const std::byte> from) {
    return detail::do_write_all(env, get(), from);
}
call<void> tls_stream::write_all(environment& env, std::string_view from) {
    return detail::do_write_all(env, get(), std::as_bytes(std::span(from)));
}
call<void> tls_stream::shutdown_send(environment& env) {
    return detail::say_end(env, get());
}
call<bool> tls_stream::shutdown(environment& env, std::chrono::steady_clock::time_point by) {
    return detail::do_shutdown(env, get(), by);
}
void tls_stream::abort() noexcept {
    if (is_open()) connection_->socket.abort();
}
void tls_stream::close() noexcept {
    connection_.reset();
}

bool tls_stream::has_failed() const noexcept {
    return get().has_failed();
}
std::string tls_stream::alpn() const {
    return get().alpn();
}
std::string tls_stream::peer_subject() const {
    return get().peer_subject();
}
std::string tls_stream::server_name() const {
    return get().server_name();
}
std::string tls_stream::protocol() const {
    return get().protocol();
}
bool tls_stream::resumed() const noexcept {
    return get().resumed();
}
const endpoint& tls_stream::peer_endpoint() const noexcept {
    return get().socket.peer_endpoint();
}
endpoint tls_stream::local_endpoint() const {
    return get().socket.local_endpoint();
}

}  // namespace coflux
