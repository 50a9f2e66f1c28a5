// The machinery of sim_network; docs/design/sim_network.md.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <coflux/io/endpoint.hpp>
#include <coflux/testing/sim_network.hpp>

#include "io/detail/socket_calls.hpp"
#include "testing/world.hpp"
#include "testing/world_part.hpp"

namespace coflux::testing::detail {

class network;
class network_source;

struct network_host {
    sim_executor on;
    std::string address;
    std::size_t index;  // in the order in which they were made
    std::size_t most = std::numeric_limits<std::size_t>::max();
    std::size_t open = 0;
    std::size_t turns = 0;  // of listeners that share a port
    std::uint16_t next_port = 49152;
    bool up = true;
};

[[nodiscard]] inline coflux::detail::clock_tick ticks(std::chrono::nanoseconds d) noexcept {
    return static_cast<coflux::detail::clock_tick>(std::max(d, std::chrono::nanoseconds(0)).count());
}

/// The kind of an arrival at the other end.
enum class arrival : std::uint8_t {
    asked,     ///< for a connection, at a listener
    answered,  ///< the connection is made
    refused,   ///< at the one that asked: no socket listens
    lost,      ///< at the one that asked: its time is over. It stays there as long as an answer may come
    data,
    end,     ///< no more data
    cut,     ///< the connection is no more, because its program says so; lost as data is
    bounced  ///< the connection is no more: the answer to what came for it. Its sender would send it again, and so
             ///< no bounce is lost
};
struct segment {
    coflux::detail::clock_tick due;
    arrival what;
    std::string bytes{};
};

/// A datagram.
struct message {
    endpoint from;
    std::string bytes;
};
/// One on its way. It is an arrival of its own.
struct packet {
    std::uint64_t name;  // as a candidate
    coflux::detail::clock_tick due;
    int sender;
    network_host* of;
    network_host* to;
    endpoint at;
    message what;
    bool is_refusal = false;  // comes back: no socket receives at what.from
};
struct way_of_message {
    network_host* host = nullptr;
    endpoint from;
    endpoint to;
};

enum class socket_state : std::uint8_t {
    fresh,
    listening,
    connecting,
    connected,
    messages,  ///< of datagrams
    closed,    ///< by its program; what it has sent is still on its way
    lost       ///< in a crash of its host
};

/// One end of a connection, a listener, or a socket of datagrams.
struct sim_socket {
    int number;
    std::uint64_t name;  // of its next arrival, as a candidate
    network_host* on;
    network_host* to = nullptr;
    int other = 0;  // the other end
    socket_state is = socket_state::fresh;
    bool owned = true;  // by a descriptor; one in a backlog is not yet
    bool shared_port = false;
    bool sent_end = false;
    bool got_end = false;
    bool cut = false;                         // this end knows no connection any more, whatever the other one knows
    bool asks = false;                        // its connect has begun, and waits for settle()
    bool any_address = false;                 // it listens at all addresses, or connects to its own machine so
    int error = 0;                            // positive; told once
    coflux::detail::clock_tick gives_up = 0;  // while it connects
    endpoint local{};
    endpoint peer{};
    std::size_t most_in_backlog = 0;
    std::deque<int> backlog{};
    std::deque<segment> out{};  // on its way from here
    std::size_t out_bytes = 0;
    std::string unread{};
    coflux::detail::io_operation* waiting[2]{};  // by direction
    // Datagrams alone; `other` is of a pair, `peer` of one that is connected:
    int family = 0;
    bool may_broadcast = false;
    std::deque<message> messages{};
    std::size_t without_room = 0;  // so many came, and are lost
};

class network final : public coflux::detail::socket_calls, public world_part {
public:
    network(simulation& in, const sim_network_options& options);
    ~network();

    // socket_calls: what programs do
    int open_stream(int family) noexcept override;
    void close_descriptor(int descriptor) noexcept override;
    int listen_at(int descriptor, coflux::detail::os::const_socket_name at, int backlog,
                  bool shared_port) noexcept override;
    int accept_one(int descriptor, coflux::detail::os::socket_name& peer) noexcept override;
    int begin_connect(int descriptor, coflux::detail::os::const_socket_name to) noexcept override;
    int connect_result(int descriptor) noexcept override;
    std::ptrdiff_t receive(int descriptor, void* into, std::size_t size) noexcept override;
    int is_readable(int descriptor) noexcept override;
    int is_readable_now(int descriptor) noexcept override;
    std::ptrdiff_t send(int descriptor, const void* from, std::size_t size) noexcept override;
    std::ptrdiff_t send_now(int descriptor, const void* from, std::size_t size) noexcept override;
    std::ptrdiff_t receive_buffers(int descriptor, const coflux::detail::os::buffer* into,
                                   std::size_t buffers) noexcept override;
    std::ptrdiff_t send_buffers(int descriptor, const coflux::detail::os::buffer* from,
                                std::size_t buffers) noexcept override;
    int shutdown_send(int descriptor) noexcept override;
    int cut_connection(int descriptor) noexcept override;
    int send_at_once(int) noexcept override { return 0; }
    int bind_source(int descriptor, coflux::detail::os::const_socket_name at, bool has_port) noexcept override;
    /// They change nothing that a program can see here.
    int change_settings(int, const coflux::detail::os::socket_settings&, const char*&) noexcept override { return 0; }
    int local_name(int descriptor, coflux::detail::os::socket_name& name) noexcept override;
    int open_datagram(int family) noexcept override;
    int open_datagram_pair(int (&ends)[2]) noexcept override;
    int bind_to(int descriptor, coflux::detail::os::const_socket_name at) noexcept override;
    int connect_datagram(int descriptor, coflux::detail::os::const_socket_name to) noexcept override;
    std::ptrdiff_t receive_datagram(int descriptor, coflux::detail::os::datagram_message& m) noexcept override;
    std::ptrdiff_t send_datagram(int descriptor, const coflux::detail::os::datagram_message& m) noexcept override;
    int receive_datagrams(int descriptor, coflux::detail::os::datagram_message* messages,
                          std::size_t count) noexcept override;
    int send_datagrams(int descriptor, const coflux::detail::os::datagram_message* messages,
                       std::size_t count) noexcept override;
    int share_port(int descriptor) noexcept override;
    int allow_broadcast(int descriptor) noexcept override;
    int join_group(int descriptor, coflux::detail::os::const_socket_name group) noexcept override;
    int leave_group(int descriptor, coflux::detail::os::const_socket_name group) noexcept override;
    std::shared_ptr<coflux::detail::io_source> source(coflux::detail::promise_base& p) override;

    // world_part: what happens
    bool settle() noexcept override;
    [[nodiscard]] coflux::detail::clock_tick next_event() const noexcept override;
    void add_due(std::vector<std::uint64_t>& to) const override;
    bool happen(std::uint64_t name) noexcept override;
    [[nodiscard]] std::string describe() const override;

    // of network_source
    void wait_at(int number, coflux::detail::io_operation& op) noexcept;
    bool claim(int number, coflux::detail::io_operation& op) noexcept;

    // of sim_network
    network_host& host(std::string_view address);
    network_host& local() noexcept { return hosts_.front(); }
    void partition(network_host& a, network_host& b) { partitions_.insert(key(a, b)); }
    void heal(network_host& a, network_host& b) noexcept { partitions_.erase(key(a, b)); }
    void heal() noexcept { partitions_.clear(); }
    void set_latency(network_host& a, network_host& b, std::chrono::nanoseconds d);
    void crash(network_host& h) noexcept;
    [[nodiscard]] std::size_t open_sockets() const noexcept;
    [[nodiscard]] std::string dump() const;

private:
    using host_pair = std::pair<std::size_t, std::size_t>;
    [[nodiscard]] static host_pair key(const network_host& a, const network_host& b) noexcept {
        return std::minmax(a.index, b.index);
    }

    // Called by programs:
    [[nodiscard]] network_host& host_of_thread() noexcept;
    [[nodiscard]] network_host* host_at(network_host& from, const endpoint& e) noexcept;
    [[nodiscard]] sim_socket& make_socket(network_host& on);
    [[nodiscard]] sim_socket* find(int number) noexcept;
    /// 0, or the negative error of a call on it.
    [[nodiscard]] int error_of(const sim_socket* s) const noexcept;
    int ask(sim_socket& s) noexcept;
    /// The test itself may open what another machine has: 0, or a negative error.
    int move_to_owner(sim_socket& s, const endpoint& local) noexcept;
    [[nodiscard]] std::uint16_t free_port(network_host& on) noexcept;
    [[nodiscard]] bool is_in_use(const network_host& on, const endpoint& e, bool shared) const noexcept;
    [[nodiscard]] std::size_t amount(std::size_t most) noexcept;
    /// 0 where nothing goes wrong; `of`: candidates, with 0.
    [[nodiscard]] std::size_t fault(bool kind, std::size_t of) noexcept;

    // Datagrams:
    [[nodiscard]] bool is_taken(const sim_socket& by, const endpoint& e, bool any) const noexcept;
    int route(const sim_socket& s, const endpoint& to, way_of_message& found) noexcept;
    struct fate {
        std::size_t copies = 1;
        std::chrono::nanoseconds late{0};  // the last of them
    };
    static constexpr std::size_t most_fates = 9;
    [[nodiscard]] fate choose_fate() noexcept;
    std::ptrdiff_t send_locally(sim_socket& s, const endpoint& to, message sent) noexcept;
    void touch_senders(const sim_socket& at) noexcept;
    void add(packet p) noexcept;
    void add_due_packets(std::vector<std::uint64_t>& to) const;
    bool deliver(std::uint64_t name) noexcept;
    [[nodiscard]] sim_socket* receiver_of(const packet& p) noexcept;
    [[nodiscard]] sim_socket* bound_at(const network_host& on, const endpoint& path) noexcept;
    void end_messages(sim_socket& s) noexcept;
    void write_messages(const sim_socket& s, std::string& to) const;

    // Messages on their way:
    [[nodiscard]] std::chrono::nanoseconds latency(const network_host& a, const network_host& b) const noexcept;
    void send_out(sim_socket& s, arrival what, std::string bytes = {}) noexcept;
    void wait_for_answer(sim_socket& s) noexcept;
    void ask_again(sim_socket& lost) noexcept;
    void drop_out(sim_socket& s) noexcept;
    [[nodiscard]] bool is_held(const sim_socket& s) const noexcept;
    [[nodiscard]] coflux::detail::clock_tick due_of(const sim_socket& s) const noexcept;
    /// A listener with room, or any that is full. nullptr: none listens.
    [[nodiscard]] const sim_socket* listener_for(const sim_socket& s) const noexcept;
    void arrive(sim_socket& s) noexcept;
    void ask_listener(sim_socket& s) noexcept;
    void arrive_at(sim_socket& s, sim_socket& other, segment what) noexcept;
    void fail(sim_socket& s, int error) noexcept;
    void cut_off(sim_socket& s) noexcept;
    void bounce(sim_socket& s) noexcept;
    void give_up(sim_socket& s) noexcept;
    void touch(sim_socket& s, coflux::detail::direction way) noexcept;
    void tidy(int number) noexcept;

    void write(const sim_socket& s, std::string& to) const;
    [[nodiscard]] bool is_waited_for() const noexcept;

    simulation& is_;
    const sim_network_options options_;
    std::size_t faults_left_;
    std::deque<network_host> hosts_;
    world* world_ = nullptr;
    std::map<int, sim_socket> sockets_;
    int last_number_ = 1 << 30;          // no system has as many descriptors
    std::map<int, sim_socket*> flying_;  // from which something is on its way
    std::set<int> listening_;
    std::set<int> bound_;         // of datagrams
    std::deque<packet> packets_;  // by due time
    std::set<host_pair> partitions_;
    std::map<host_pair, std::chrono::nanoseconds> latencies_;
    struct late {
        int number;
        coflux::detail::direction way;
    };
    std::vector<late> late_;    // to be tried, in settle()
    std::vector<late> trying_;  // of which settle() has begun
    bool settles_ = false;      // settle() tries: elsewhere each call that could wait would block
    std::shared_ptr<network_source> source_;
};

/// Where operations of simulated sockets wait: in their network.
class network_source final : public coflux::detail::io_source {
public:
    explicit network_source(network& in) noexcept : in_(in) {}

    std::size_t look(std::size_t) noexcept override { return 0; }
    std::size_t try_late() noexcept override { return 0; }
    [[nodiscard]] bool has_late() const noexcept override { return false; }
    [[nodiscard]] bool has_pending() const noexcept override { return false; }
    [[nodiscard]] bool has_found() const noexcept override { return false; }
    [[nodiscard]] int descriptor() const noexcept override { return -1; }
    void add_left(coflux::detail::left_behind&) noexcept override {}
    void sleep_until(std::uint64_t) noexcept override {}
    void wake() noexcept override {}

    coflux::detail::io_slot attach(int number) override { return {static_cast<std::uint32_t>(number), 0}; }
    void detach(coflux::detail::io_slot, int) noexcept override {}
    coflux::detail::wait_attempt arm(coflux::detail::io_operation& op, coflux::detail::io_slot at) noexcept override {
        return arm_for_next_look(op, at);
    }
    coflux::detail::wait_attempt arm_for_next_look(coflux::detail::io_operation& op,
                                                   coflux::detail::io_slot at) noexcept override {
        if (op.must_end()) return coflux::detail::wait_attempt::stop;
        in_.wait_at(static_cast<int>(at.number), op);
        return coflux::detail::wait_attempt::waits;
    }
    bool claim(coflux::detail::io_operation& op, coflux::detail::io_slot at) noexcept override {
        return in_.claim(static_cast<int>(at.number), op);
    }

private:
    network& in_;
};

}  // namespace coflux::testing::detail
