#include <coflux/testing/sim_network.hpp>

#include <algorithm>

#include <coflux/base/assert.hpp>

#include "network.hpp"

namespace coflux::testing {
namespace detail {
namespace {

constexpr std::size_t most_lines = 64;

std::string count_text(std::size_t n, std::string what, const char* how) {
    return "; " + std::to_string(n) + ' ' + what + (n == 1 ? " " : "s ") + how;
}
std::string bytes_text(std::size_t n, const char* how) {
    return count_text(n, "byte", how);
}

}  // namespace

void network::write(const sim_socket& s, std::string& to) const {
    to += "  " + s.on->address + ": ";
    const auto* const in = s.waiting[0];
    const auto* const out = s.waiting[1];
    switch (s.is) {
    case socket_state::fresh: to += "a socket that was just opened"; break;
    case socket_state::listening:
        to += "listens at " + s.local.to_string() + "; " + std::to_string(s.backlog.size()) + " of " +
              std::to_string(s.most_in_backlog) + " in its backlog";
        if (in != nullptr) to += "; a coroutine accepts";
        break;
    case socket_state::connecting: to += "connects to " + s.peer.to_string(); break;
    case socket_state::connected: to += s.local.to_string() + " is connected to " + s.peer.to_string(); break;
    case socket_state::messages: return write_messages(s, to);
    case socket_state::closed: to += s.local.to_string() + " is closed, was connected to " + s.peer.to_string(); break;
    case socket_state::lost: to += "a socket that was lost in a crash"; break;
    }
    if (s.is == socket_state::connected && !s.owned) to += ", in a backlog";
    if (s.cut && s.is == socket_state::connected) to += "; the connection was cut";
    if (!s.unread.empty()) to += bytes_text(s.unread.size(), "unread");
    if (s.out_bytes != 0) to += bytes_text(s.out_bytes, "on their way");
    if (!s.out.empty() && is_held(s)) to += "; nothing arrives at the other end";
    if (s.got_end) to += "; the other end sends no more";
    if (s.sent_end) to += "; it sends no more";
    if (in != nullptr && s.is != socket_state::listening) to += "; a coroutine reads";
    if (out != nullptr) to += s.is == socket_state::connecting ? "; a coroutine connects" : "; a coroutine writes";
    to += '\n';
}

void network::write_messages(const sim_socket& s, std::string& to) const {
    const auto on_their_way = std::count_if(packets_.begin(), packets_.end(),
                                            [&](const packet& p) { return p.sender == s.number && !p.is_refusal; });
    to += s.local.size() == 0 ? "sends messages, and has no name" : "receives messages at " + s.local.to_string();
    if (s.peer.size() != 0) to += "; is connected to " + s.peer.to_string();
    if (!s.messages.empty()) to += count_text(s.messages.size(), "message", "unread");
    if (s.without_room != 0) to += count_text(s.without_room, "message", "lost for want of room");
    if (on_their_way != 0) to += count_text(static_cast<std::size_t>(on_their_way), "message", "on their way from it");
    if (s.waiting[0] != nullptr) to += "; a coroutine receives";
    if (s.waiting[1] != nullptr) to += "; a coroutine sends";
    to += '\n';
}

std::string network::dump() const {
    std::string text;
    for (const network_host& h : hosts_) {
        if (!h.up) text += "  " + h.address + ": is down\n";
    }
    for (const auto& [a, b] : partitions_)
        text += "  " + hosts_[a].address + " and " + hosts_[b].address + ": nothing comes through\n";
    std::size_t left = most_lines;
    for (const auto& [number, s] : sockets_) {
        if (left-- == 0) return text + "  and " + std::to_string(sockets_.size() - most_lines) + " more\n";
        write(s, text);
    }
    return text;
}

bool network::is_waited_for() const noexcept {
    return std::any_of(sockets_.begin(), sockets_.end(), [](const auto& entry) {
        return entry.second.waiting[0] != nullptr || entry.second.waiting[1] != nullptr;
    });
}

std::string network::describe() const {
    return is_waited_for() ? "network:\n" + dump() : std::string();
}

std::size_t network::open_sockets() const noexcept {
    std::size_t n = 0;
    for (const network_host& h : hosts_) n += h.open;
    return n;
}

}  // namespace detail

sim_executor sim_host::executor() const noexcept {
    return of_->on;
}
endpoint sim_host::at(std::uint16_t port) const {
    return endpoint::ip(of_->address, port);
}
const std::string& sim_host::address() const noexcept {
    return of_->address;
}
void sim_host::limit_descriptors(std::size_t most) noexcept {
    of_->most = most;
}
std::size_t sim_host::open_sockets() const noexcept {
    return of_->open;
}
bool sim_host::is_up() const noexcept {
    return of_->up;
}

sim_network::sim_network(sim_network_options options)
    : sim_network(
          []() -> simulation& {
              simulation* const in = simulation::current();
              COFLUX_VERIFY(in != nullptr, "a sim_network is made where there is no simulation");
              return *in;
          }(),
          options) {}
sim_network::sim_network(simulation& in, sim_network_options options)
    : network_(std::make_unique<detail::network>(in, options)) {}
sim_network::~sim_network() = default;

sim_host sim_network::host(std::string_view address) {
    return sim_host(network_->host(address));
}
sim_host sim_network::local() noexcept {
    return sim_host(network_->local());
}
void sim_network::partition(sim_host a, sim_host b) {
    COFLUX_VERIFY(!(a == b), "a machine is to be partitioned from itself");
    network_->partition(*a.of_, *b.of_);
}
void sim_network::heal(sim_host a, sim_host b) noexcept {
    network_->heal(*a.of_, *b.of_);
}
void sim_network::heal() noexcept {
    network_->heal();
}
void sim_network::latency(sim_host a, sim_host b, std::chrono::nanoseconds d) {
    network_->set_latency(*a.of_, *b.of_, d);
}
void sim_network::crash(sim_host h) noexcept {
    network_->crash(*h.of_);
}
void sim_network::restart(sim_host h) noexcept {
    h.of_->up = true;
}
std::size_t sim_network::open_sockets() const noexcept {
    return network_->open_sockets();
}
std::string sim_network::dump() const {
    return network_->dump();
}

}  // namespace coflux::testing
