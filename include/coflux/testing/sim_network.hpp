// A network in a simulation: the sockets of code under test, with the faults of real ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <coflux/io/endpoint.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux::testing {

namespace detail {
struct network_host;
class network;
}  // namespace detail

/// The behaviour of a simulated network, and the faults that its chooser may choose.
struct sim_network_options {
    /// From one host to another one. On one host it is none.
    std::chrono::nanoseconds latency{0};
    /// Bytes that one direction of a connection holds at most: sent, and not yet read.
    std::size_t buffer = 4096;
    /// The chooser is asked how many bytes, or datagrams of a batch, a call moves (choice::amount).
    bool short_moves = true;
    /// Datagrams of a udp_socket that have come to their time arrive in any order (choice::next).
    bool reorders = true;
    /// Datagrams that a socket holds unread at most. Those beyond them are lost; those of local sockets never are:
    /// the sender waits.
    std::size_t messages = 64;
    /// How many faults the chooser may make in a run (choice::fault): of each of the kinds that follow.
    std::size_t faults = 0;
    bool refuses = true;         ///< a connect fails: refused, or timed out
    bool resets = true;          ///< a connection is cut when something arrives on it, for both sides
    bool no_descriptors = true;  ///< an accept fails with too_many_files_open; the connection stays in the backlog
    bool loses = true;           ///< a datagram of a udp_socket does not arrive
    bool duplicates = true;      ///< a datagram of a udp_socket arrives twice
    bool delays = true;  ///< a datagram of a udp_socket, or its second copy, arrives late: after what is sent later
    /// How late a datagram that is late arrives beyond the latency: so much, or a 4th or a 16th of it.
    std::chrono::nanoseconds longest_delay = std::chrono::seconds(1);
    /// A connect whose answer does not come fails then, with timed_out.
    std::chrono::nanoseconds connect_limit = std::chrono::seconds(127);
    /// A connection fails for the sender when so much time has passed since something should have arrived.
    std::chrono::nanoseconds send_limit = std::chrono::minutes(15);
};

/// A machine on a simulated network. It opens the sockets of coroutines on its executor.
///
/// Shapes: a handle; copies are the same machine.
/// Lifetime: that of its network.
class sim_host {
public:
    /// One executor, the same in each call.
    [[nodiscard]] sim_executor executor() const noexcept;
    /// Where others find it. Its own names for itself are `127.0.0.1`, with all of `127.0.0.0/8`, and `::1`.
    [[nodiscard]] endpoint at(std::uint16_t port) const;
    [[nodiscard]] const std::string& address() const noexcept;
    /// More sockets than these cannot be open at a time: too_many_files_open.
    void limit_descriptors(std::size_t most) noexcept;
    /// Sockets that its programs have open.
    [[nodiscard]] std::size_t open_sockets() const noexcept;
    [[nodiscard]] bool is_up() const noexcept;
    [[nodiscard]] friend bool operator==(const sim_host&, const sim_host&) noexcept = default;

private:
    friend class sim_network;
    explicit sim_host(detail::network_host& of) noexcept : of_(&of) {}

    detail::network_host* of_;
};

/// While it lives, tcp_listener, tcp_stream and udp_socket that are opened on the thread of its simulation are sockets
/// of this network, and no system call is made for them; so are unix_listener, unix_stream::connect() and
/// unix_datagram, without descriptors, credentials and files. The code that uses them is unchanged. Their
/// socket_options are taken and change nothing. All else of I/O is the system's.
///
/// A connection is a queue of bytes in each direction, in order and of a bounded length. Bytes that are sent arrive as
/// an event of its own: the chooser decides which arrival or which coroutine is next (choice::next), how many bytes a
/// call moves (choice::amount), and what fails (choice::fault). A datagram is an event of its own. The chooser decides
/// which of those that have come to their time arrives next; one that finds its receiver without room, or none there,
/// is lost. 0 is the network on a good day. Every await of an operation is a point at which others may come in. A
/// socket that is opened where no host's executor runs (by the test itself, by a coroutine on another executor) is
/// opened by local(); but a listener or a udp_socket for the address of a host is that host's.
///
///     simulation sim(decides);
///     sim_network net({.faults = 1});
///     sim_host server = net.host("10.0.0.1");
///     sim_executor on = server.executor();
///     auto env = make_environment(on);
///
/// Errors: as from the system. A deadlock_error and a livelock_error end with dump(). A network that ends while a
/// socket is open, a second network of one simulation, a wait on an executor that is not simulated, a use by another
/// thread, buffers and sockets that hold nothing, and a negative latency are checked errors.
/// Threads: the one of its simulation.
/// Costs: a few allocations for each socket and each call that sends.
/// Lifetime: its simulation outlives it, and it outlives the streams and listeners that were opened meanwhile.
class sim_network {
public:
    /// The network of the youngest simulation of this thread.
    /// Pre: there is one.
    explicit sim_network(sim_network_options options = {});
    explicit sim_network(simulation& in, sim_network_options options = {});
    sim_network(const sim_network&) = delete;
    sim_network& operator=(const sim_network&) = delete;
    ~sim_network();

    /// The machine with this numeric address; it is made in the first call.
    /// Errors: std::invalid_argument for what is no numeric address, or one of this machine.
    [[nodiscard]] sim_host host(std::string_view address);
    /// The machine of what runs on no host's executor: `192.0.2.1`.
    [[nodiscard]] sim_host local() noexcept;

    /// Nothing arrives at one from the other any more. Bytes that are on their way or sent wait for heal(); datagrams
    /// are lost.
    void partition(sim_host a, sim_host b);
    void heal(sim_host a, sim_host b) noexcept;
    /// All partitions.
    void heal() noexcept;
    /// The latency of all that is sent between the two from now on. It overtakes nothing that was sent before.
    void latency(sim_host a, sim_host b, std::chrono::nanoseconds d);

    /// The machine loses its sockets, and what was on its way from it. No peer is told: one that sends to it waits. Its
    /// coroutines live on, and each operation of a socket that was lost fails with network_down: stop their
    /// environment beside.
    void crash(sim_host h) noexcept;
    /// It can open sockets again. A peer that sends to a socket that it lost is told that the connection was cut.
    void restart(sim_host h) noexcept;

    [[nodiscard]] std::size_t open_sockets() const noexcept;
    /// A line for each socket: where, its state, what is unread and on its way, and what waits for it.
    [[nodiscard]] std::string dump() const;

private:
    std::unique_ptr<detail::network> network_;
};

}  // namespace coflux::testing
