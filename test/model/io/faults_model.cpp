// A server and its clients over I/O, on a simulated network and a simulated disk, under many seeds: for the
// mutants of test/model/mutants_io.toml, each of which must be found here. The program itself is right.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_disk.hpp>
#include <coflux/testing/sim_network.hpp>

#include "simulation/scenarios.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::endpoint;
using coflux::environment;
using coflux::file;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux::testing::sim_disk;
using coflux::testing::sim_executor;
using coflux::testing::sim_host;
using coflux::testing::sim_network;
using coflux::testing::sim_network_options;
using program = coflux::task<void, sim_executor>;

std::span<std::byte> bytes_of(std::string& s) {
    return std::as_writable_bytes(std::span(s));
}
void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

/// One server and one client, each on a machine. The server is stopped when the client has ended.
void run_both(const sim_network_options& options, program (*serve)(environment&, borrowed<tcp_listener>),
              program (*ask)(environment&, endpoint)) {
    sim_network net(options);
    sim_host a = net.host("10.0.0.1");
    sim_executor on_a = a.executor();
    sim_executor on_b = net.host("10.0.0.2").executor();
    tcp_listener listener(a.at(80));
    auto servers = coflux::make_environment(on_a);
    auto clients = coflux::make_environment(on_b);
    auto serving = serve(servers, borrowed(listener));
    struct stop_at_end {
        decltype(servers)& what;
        ~stop_at_end() { what.request_stop(); }
    };
    {
        const stop_at_end ends{servers};
        ask(clients, a.at(80)).get();
    }
    serving.join();
}

// --- a short read, a partial write

const std::string question = "what is it that comes in parts?";
const std::string answer = "all that is sent, and all that is read";

program answers(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    std::string got(question.size(), ' ');
    co_await peer.read_exactly(bytes_of(got));
    expect(got == question, "the question was '" + got + "'");
    co_await peer.write_all(answer);
    const std::array<std::string_view, 3> parts{"and ", "", "more"};
    const std::array<std::span<const std::byte>, 3> buffers{
        std::as_bytes(std::span(parts[0])), std::as_bytes(std::span(parts[1])), std::as_bytes(std::span(parts[2]))};
    co_await peer.write_all(buffers);
    peer.shutdown_send();
    std::byte none{};
    expect(co_await peer.read_some(std::span(&none, 1)) == 0, "more than a question");
}
program asks(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all(question);
    std::string got;
    std::array<std::byte, 16> some{};
    while (const std::size_t n = co_await peer.read_some(some))
        got.append(reinterpret_cast<const char*>(some.data()), n);
    expect(got == answer + "and more", "the answer was '" + got + "'");
}
void moves_all() {
    run_both({.buffer = 24}, answers, asks);
}

// --- a half-closed connection

program reads_to_the_end(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    std::string got(8, ' ');
    std::size_t count = 8;
    try {
        co_await peer.read_exactly(bytes_of(got));
    } catch (const coflux::end_of_stream& e) {
        count = e.count();
    }
    expect(count == 5, "an end that was not seen");
    co_await peer.write_all("bye");
}
program ends_its_half(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    co_await peer.write_all("12345");
    peer.shutdown_send();
    std::string got(3, ' ');
    co_await peer.read_exactly(bytes_of(got));
    std::byte none{};
    expect(got == "bye" && co_await peer.read_some(std::span(&none, 1)) == 0, "more than a good-bye");
}
/// The death of the half that writes is what the client waits for.
program lets_a_half_die(environment&, borrowed<tcp_listener> at) {
    tcp_stream peer = co_await at->accept();
    auto [reads, writes] = std::move(peer).split();
    co_await writes.write_all("bye");
    { const auto gone = std::move(writes); }
    std::string got(4, ' ');
    co_await reads.read_exactly(bytes_of(got));
    expect(got == "last", "the last was '" + got + "'");
}
program speaks_after_the_end(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::string got;
    std::array<std::byte, 2> some{};
    while (const std::size_t n = co_await peer.read_some(some))
        got.append(reinterpret_cast<const char*>(some.data()), n);
    expect(got == "bye", "'" + got + "'");
    co_await peer.write_all("last");
}
void sees_half_closes() {
    run_both({}, reads_to_the_end, ends_its_half);
}
void sends_half_closes() {
    run_both({}, lets_a_half_die, speaks_after_the_end);
}

// --- an accept loop without descriptors

coflux::call<void> greets(environment&, tcp_stream peer) {
    co_await peer.write_all("hello");
    peer.shutdown_send();
    std::byte none{};
    (void)co_await coflux::as_result(peer.read_some(std::span(&none, 1)));
}
program serves_greetings(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::serve(here, *at, greets, {.drain = 10s});
}
program is_greeted_twice(environment&, endpoint where) {
    for (int i = 0; i < 2; ++i) {
        tcp_stream peer = co_await tcp_stream::connect(where);
        std::string text(5, ' ');
        co_await peer.read_exactly(bytes_of(text));
        expect(text == "hello", "'" + text + "'");
    }
}
void accepts_after_emfile() {
    run_both({.faults = 3, .refuses = false, .resets = false}, serves_greetings, is_greeted_twice);
}

// --- a drain

coflux::call<void> never_ends(environment&, tcp_stream peer) {
    co_await peer.write_all("hello");
    coflux::manual_reset_event never;
    co_await never.wait();
}
program drains(environment&, borrowed<tcp_listener> at) {
    auto&& here = co_await coflux::context();
    const auto begun = coflux::clock::now();
    const coflux::serve_report r = co_await coflux::serve(here, *at, never_ends, {.drain = 2s});
    expect(r.cut == r.accepted && r.accepted == 1, "what took longer than the drain was not cut");
    expect(coflux::clock::now() - begun == 2s, "the drain took another time");
}
program hears_the_cut(environment&, endpoint where) {
    tcp_stream peer = co_await tcp_stream::connect(where);
    std::string text(5, ' ');
    co_await peer.read_exactly(bytes_of(text));
}
void ends_a_drain() {
    run_both({}, drains, hears_the_cut);
}

// --- files

program moves_a_file(environment&) {
    file f = co_await file::open("a", {.write = true, .create = true});
    co_await f.write_at(0, question);
    co_await f.append(answer);
    co_await f.sync();
    std::string got(question.size() + answer.size(), ' ');
    const std::size_t n = co_await f.read_at(0, bytes_of(got));
    expect(n == got.size() && got == question + answer, "the file was '" + got.substr(0, n) + "'");
}
void moves_files() {
    sim_executor on;
    sim_disk disk(on, {.short_moves = true});
    auto env = coflux::make_environment(on);
    moves_a_file(env).get();
    disk.crash();
    expect(disk.contents("a") == question + answer, "what was synced is lost");
}

constexpr std::array<coflux_simulations::scenario, 6> scenarios{{{"moves_all", moves_all},
                                                                 {"sees_half_closes", sees_half_closes},
                                                                 {"sends_half_closes", sends_half_closes},
                                                                 {"accepts_after_emfile", accepts_after_emfile},
                                                                 {"ends_a_drain", ends_a_drain},
                                                                 {"moves_files", moves_files}}};

}  // namespace

int main(int argc, char** argv) {
    return coflux_simulations::run_scenarios(argc, argv, scenarios, "simulation.io",
                                             "servers, streams and files on a simulated network and disk");
}
