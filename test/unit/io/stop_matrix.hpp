// The operations that a stop is tried on. stop_checks.hpp has the end of each, and the checks afterwards.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <coflux/coflux.hpp>
#include <coflux/io/process.hpp>
#include <coflux/io/signals.hpp>

#include "connected.hpp"

namespace coflux_test {

/// Not among them: a write over UDP. On the loopback network a message leaves its sender's buffer at once, so that none
/// has to wait. It is the operation that `send` is.
enum class stopped_operation {
    read_some,
    read_exactly,
    read_into_two,  ///< buffers
    write_some,
    write_some_of_two,
    write_all,
    write_all_of_two,
    accept,
    connect,
    wait_readable,
    read_local,  ///< of a local stream
    write_some_local,
    write_all_local,
    accept_local,
    send_descriptors,
    receive_descriptors,
    read_pipe,
    read_pipe_exactly,
    write_pipe,
    write_all_pipe,
    wait_readable_pipe,
    receive,  ///< a local datagram
    receive_from,
    receive_batch,
    send,
    send_batch,
    receive_from_udp,
    next_signal,
    wait_for_child
};
inline constexpr auto all_stopped_operations = [] {
    std::array<stopped_operation, static_cast<std::size_t>(stopped_operation::wait_for_child) + 1> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<stopped_operation>(i);
    return all;
}();

/// So much that it is written in parts.
constexpr bool writes_all(stopped_operation w) {
    return w == stopped_operation::write_all || w == stopped_operation::write_all_of_two ||
           w == stopped_operation::write_all_local || w == stopped_operation::write_all_pipe;
}
/// To what is full.
constexpr bool writes_some(stopped_operation w) {
    return w == stopped_operation::write_some || w == stopped_operation::write_some_of_two ||
           w == stopped_operation::write_some_local || w == stopped_operation::write_pipe ||
           w == stopped_operation::send || w == stopped_operation::send_batch ||
           w == stopped_operation::send_descriptors;
}

/// When the stop comes.
enum class stop_phase {
    before_submit,  ///< the operation waits, and the system knows nothing of it
    pending,        ///< the system does
    cancel_first,   ///< the same, and what the stop does has been done before the loop goes on
    completed,      ///< what ends it has come, and no thread has looked
    target_first,   ///< before what ends it, and no thread looks in between
    reaped          ///< another thread has found it ended, and its coroutine does not run yet
};
/// Without what needs another thread.
inline constexpr std::array all_stop_phases{stop_phase::before_submit, stop_phase::pending, stop_phase::cancel_first,
                                            stop_phase::completed, stop_phase::target_first};

/// The bytes that operations write: each tells its place.
inline const std::vector<std::byte>& written_bytes() {
    static const auto all = [] {
        std::vector<std::byte> bytes(8'000'000);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(1 + i % 251);
        return bytes;
    }();
    return all;
}
inline std::span<const std::byte> written_by(stopped_operation w) {
    const std::span all(written_bytes());
    return writes_all(w) ? all : all.first(1000);
}

/// The objects of the operations.
struct stop_place {
    coflux::tcp_stream near;
    coflux::tcp_stream far;
    coflux::tcp_listener listener{own_loopback()};
    coflux::tcp_listener full{own_loopback(), {.backlog = 0, .shared_port = true}};
    std::vector<coflux::tcp_stream> in_the_backlog;
    coflux::tcp_stream got;
    std::pair<coflux::unix_stream, coflux::unix_stream> local = coflux::unix_stream::pair();
    coflux::unix_listener local_listener{
        coflux::endpoint::local(std::string(1, '\0') + "coflux-stop-" + std::to_string(getpid()))};
    coflux::unix_stream got_local;
    std::array<coflux::owned_descriptor, 2> got_descriptors;
    coflux::pipe_ends pipe = coflux::make_pipe();
    std::pair<coflux::unix_datagram, coflux::unix_datagram> datagrams = coflux::unix_datagram::pair();
    coflux::udp_socket udp_near{own_loopback()};
    coflux::udp_socket udp_far{own_loopback()};
    std::optional<coflux::signal_set> signals;
    coflux::process child;
    coflux::endpoint connects_to = full.local_endpoint();
    std::array<std::byte, 2> two{};  // what is read
    int client = -1;                 // a socket of the test's own
    std::size_t count = 0;           // that the operation says it moved
    std::size_t left = 0;            // what the next operation of its kind gets
    std::size_t prefilled = 0;       // bytes on their way before
    std::size_t taken = 0;           // bytes that the test has read
    std::size_t taken_with = 0;      // descriptors that came with them
    coflux::environment* inside = nullptr;
    bool begins = false;
    bool is_stopped = false;
    std::thread::id ended_on;
    std::atomic<bool> has_ended{false};  // in whatever way; ended_on is written before
};

inline coflux::call<std::size_t> receives_batch(coflux::environment&, coflux::unix_datagram* from,
                                                std::array<std::byte, 2>* two) {
    std::byte more{};
    std::array<coflux::incoming_datagram, 2> into;
    into[0].into = *two;
    into[1].into = std::span(&more, 1);
    std::size_t all = 0;
    const std::size_t got = co_await from->receive_batch(into);
    for (std::size_t i = 0; i < got; ++i) all += into[i].got.size;
    co_return all;
}
inline coflux::call<std::size_t> sends_batch(coflux::environment&, coflux::unix_datagram* to) {
    const std::span bytes(written_bytes());
    const std::array<coflux::outgoing_datagram, 2> both{coflux::outgoing_datagram{bytes.first(1), {}},
                                                        coflux::outgoing_datagram{bytes.subspan(1, 1), {}}};
    co_return co_await to->send_batch(both);
}

/// Those of streams and pipes.
inline coflux::call<void> moves_bytes(coflux::environment&, stopped_operation w, stop_place* at) {
    const std::span two(at->two);
    const std::array<std::span<std::byte>, 2> parts{two.first(1), two.last(1)};
    const auto much = written_by(w);
    const std::array much_in_two{much.first(much.size() / 3), much.subspan(much.size() / 3)};
    const std::array descriptor{at->pipe.reader.native_handle()};
    switch (w) {
    case stopped_operation::read_some: at->count = co_await at->near.read_some(two); break;
    case stopped_operation::read_into_two: at->count = co_await at->near.read_some(parts); break;
    case stopped_operation::read_local: at->count = co_await at->local.first.read_some(two); break;
    case stopped_operation::read_pipe: at->count = co_await at->pipe.reader.read_some(two); break;
    case stopped_operation::write_some: at->count = co_await at->near.write_some(much); break;
    case stopped_operation::write_some_of_two: at->count = co_await at->near.write_some(much_in_two); break;
    case stopped_operation::write_some_local: at->count = co_await at->local.first.write_some(much); break;
    case stopped_operation::write_pipe: at->count = co_await at->pipe.writer.write_some(much); break;
    case stopped_operation::receive_descriptors: {
        const auto got = co_await at->local.first.receive_descriptors(two, at->got_descriptors);
        at->count = got.bytes;
        break;
    }
    case stopped_operation::read_exactly:
        co_await at->near.read_exactly(two);
        at->count = two.size();
        break;
    case stopped_operation::read_pipe_exactly:
        co_await at->pipe.reader.read_exactly(two);
        at->count = two.size();
        break;
    default:
        if (w == stopped_operation::write_all) co_await at->near.write_all(much);
        if (w == stopped_operation::write_all_of_two) co_await at->near.write_all(much_in_two);
        if (w == stopped_operation::write_all_local) co_await at->local.first.write_all(much);
        if (w == stopped_operation::write_all_pipe) co_await at->pipe.writer.write_all(much);
        if (w == stopped_operation::send_descriptors) co_await at->local.first.send_descriptors(descriptor, much);
        at->count = much.size();
        break;
    }
}

template <typename E>
coflux::fork<void, E> does(coflux::environment&, stopped_operation w, stop_place* at) {
    struct notes_end {
        stop_place* of;
        ~notes_end() {
            of->ended_on = std::this_thread::get_id();
            of->has_ended = true;
        }
    };
    const notes_end ends{at};
    auto&& here = co_await coflux::context();
    const std::span two(at->two);
    at->begins = true;
    switch (w) {
    case stopped_operation::accept: at->got = co_await at->listener.accept(); break;
    case stopped_operation::accept_local: at->got_local = co_await at->local_listener.accept(); break;
    case stopped_operation::connect: at->got = co_await coflux::tcp_stream::connect(at->connects_to); break;
    case stopped_operation::wait_readable: co_await at->near.wait_readable(); break;
    case stopped_operation::wait_readable_pipe: co_await at->pipe.reader.wait_readable(); break;
    case stopped_operation::receive: at->count = co_await at->datagrams.first.receive(two); break;
    case stopped_operation::receive_from: {
        const coflux::datagram got = co_await at->datagrams.first.receive_from(two);
        at->count = got.size;
        break;
    }
    case stopped_operation::receive_from_udp: {
        const coflux::datagram got = co_await at->udp_near.receive_from(two);
        at->count = got.size;
        break;
    }
    case stopped_operation::receive_batch:
        at->count = co_await receives_batch(here, &at->datagrams.first, &at->two);
        break;
    case stopped_operation::send:
        co_await at->datagrams.first.send(written_by(w).first(1));
        at->count = 1;
        break;
    case stopped_operation::send_batch: at->count = co_await sends_batch(here, &at->datagrams.first); break;
    case stopped_operation::next_signal:
        (void)co_await at->signals->next();
        at->count = 1;
        break;
    case stopped_operation::wait_for_child:
        (void)co_await at->child.wait();
        at->count = 1;
        break;
    default: co_await moves_bytes(here, w, at); break;
    }
}

/// Where it reads and writes, or what the other side of it does.
struct ends_of_operation {
    int reads;
    int writes;
};
inline ends_of_operation ends_of(stopped_operation w, const stop_place& at) {
    const int first_datagrams = at.datagrams.first.native_handle();
    const int second_datagrams = at.datagrams.second.native_handle();
    switch (w) {
    case stopped_operation::write_some:
    case stopped_operation::write_some_of_two:
    case stopped_operation::write_all:
    case stopped_operation::write_all_of_two: return {at.far.native_handle(), at.near.native_handle()};
    case stopped_operation::read_local:
    case stopped_operation::receive_descriptors:
        return {at.local.first.native_handle(), at.local.second.native_handle()};
    case stopped_operation::write_some_local:
    case stopped_operation::write_all_local:
    case stopped_operation::send_descriptors: return {at.local.second.native_handle(), at.local.first.native_handle()};
    case stopped_operation::read_pipe:
    case stopped_operation::read_pipe_exactly:
    case stopped_operation::write_pipe:
    case stopped_operation::write_all_pipe:
    case stopped_operation::wait_readable_pipe: return {at.pipe.reader.native_handle(), at.pipe.writer.native_handle()};
    case stopped_operation::receive:
    case stopped_operation::receive_from:
    case stopped_operation::receive_batch: return {first_datagrams, second_datagrams};
    case stopped_operation::send:
    case stopped_operation::send_batch: return {second_datagrams, first_datagrams};
    case stopped_operation::receive_from_udp: return {at.udp_near.native_handle(), at.udp_far.native_handle()};
    default: return {at.near.native_handle(), at.far.native_handle()};
    }
}

template <typename E>
coflux::fork<void, E> connects_into_backlog(coflux::environment&, stop_place* at) {
    at->in_the_backlog.push_back(co_await coflux::tcp_stream::connect(at->full.local_endpoint()));
}
/// From now on each operation waits.
template <typename E>
coflux::fork<void, E> prepares_to_wait(coflux::environment&, stopped_operation w, stop_place* at) {
    auto&& here = co_await coflux::context();
    auto pair = co_await connected(here);
    at->near = std::move(pair.near);
    at->far = std::move(pair.far);
    at->udp_far.connect(at->udp_near.local_endpoint());
    if (w == stopped_operation::next_signal) at->signals.emplace(std::initializer_list<int>{SIGUSR1});
    if (w == stopped_operation::wait_for_child) {
        const coflux::command_line reads_to_the_end{"cat"};
        const coflux::process_options how{.input = coflux::standard_stream::pipe()};
        at->child = co_await coflux::process::spawn(reads_to_the_end, how);
    }
    while (w == stopped_operation::connect && at->in_the_backlog.size() < 8 &&
           co_await coflux::timeout(connects_into_backlog<E>(here, at), std::chrono::milliseconds(20))) {}
    const std::array<char, 10'000> some{};
    const bool is_message = w == stopped_operation::send || w == stopped_operation::send_batch;
    const std::size_t at_once = is_message ? 1 : some.size();
    // The other side takes in what is on its way later, so that a full socket has room again.
    const bool is_tcp = w == stopped_operation::write_some || w == stopped_operation::write_some_of_two;
    for (int full = 0; writes_some(w) && full < (is_tcp ? 5 : 1);) {
        const ssize_t n = write(ends_of(w, *at).writes, some.data(), at_once);
        if (n > 0) at->prefilled += static_cast<std::size_t>(n);
        full = n > 0 ? 0 : full + 1;
        if (n <= 0) usleep(1000);
    }
}

}  // namespace coflux_test
