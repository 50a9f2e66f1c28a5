// Messages on a simulated network: of Internet sockets each an arrival of its own, of local sockets there at once.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "addresses.hpp"
#include "network.hpp"

namespace coflux::testing::detail {

using coflux::detail::clock_tick;
using coflux::detail::direction;
namespace os = coflux::detail::os;

namespace {

/// IPv4's limit, without the headers.
constexpr std::size_t longest_message = 65'507;

bool is_of_version_six(int family) {
    static const int six = endpoint::ip("::", 0).family();
    return family == six;
}
/// `e`, or the loopback address for what is every machine's name of itself.
endpoint without_any(const endpoint& e) {
    const std::string address = address_of(e);
    return is_any(address) ? endpoint::ip(address == "::" ? "::1" : "127.0.0.1", e.port()) : e;
}

}  // namespace

// --- sockets

int network::open_datagram(int family) noexcept {
    const int opened = open_stream(family);
    if (opened < 0) return opened;
    sim_socket& s = *find(opened);
    s.is = socket_state::messages;
    s.family = family;
    return opened;
}

int network::open_datagram_pair(int (&ends)[2]) noexcept {
    const int one = open_datagram(os::local_family());
    if (one < 0) return one;
    const int two = open_datagram(os::local_family());
    if (two < 0) {
        close_descriptor(one);
        return two;
    }
    find(one)->other = two;
    find(two)->other = one;
    ends[0] = one;
    ends[1] = two;
    return 0;
}

bool network::is_taken(const sim_socket& by, const endpoint& e, bool any) const noexcept {
    return std::any_of(bound_.begin(), bound_.end(), [&](int number) {
        const sim_socket& s = sockets_.at(number);
        if (s.on != by.on) return false;
        if (is_path(by.family) || is_path(s.family)) return s.local == e;
        if (s.local.port() != e.port() || (s.shared_port && by.shared_port)) return false;
        return any || s.any_address || s.local == e;
    });
}

int network::bind_to(int descriptor, os::const_socket_name at) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    endpoint local = endpoint_of(at);
    if (is_path(local) != is_path(s->family) || !is_known(local.family())) return -EINVAL;
    if (!is_path(local)) {
        if (const int e = move_to_owner(*s, local); e != 0) return e;
        s->any_address = is_any(address_of(local));
        if (local.port() == 0) {
            do {
                local = endpoint::ip(address_of(local), free_port(*s->on));
            } while (is_taken(*s, local, s->any_address));
        }
    }
    if (is_taken(*s, local, s->any_address)) return -EADDRINUSE;
    s->local = local;
    bound_.insert(descriptor);
    return 0;
}

/// Where a message for `to` comes from, and where it goes: 0, or the negative error of a send or a connect.
int network::route(const sim_socket& s, const endpoint& to, way_of_message& found) noexcept {
    if (!is_known(to.family()) || is_path(to)) return to.size() == 0 ? -EINVAL : -EAFNOSUPPORT;
    if (is_of_version_six(to.family()) && !is_of_version_six(s.family)) return -EAFNOSUPPORT;
    const std::string address = address_of(to);
    if (address == "255.255.255.255" && !s.may_broadcast) return -EACCES;
    found.host = host_at(*s.on, to);
    if (found.host == nullptr) return -ENETUNREACH;
    found.to = without_any(to);
    found.from = s.local;
    if (s.any_address) {
        const std::string used = address_of(found.to);
        const bool is_near = is_loopback(used);
        found.from = endpoint::ip(!is_near ? s.on->address : used == "::1" ? "::1" : "127.0.0.1", s.local.port());
    }
    return found.host != s.on && is_loopback(address_of(found.from)) ? -EINVAL : 0;
}

int network::connect_datagram(int descriptor, os::const_socket_name to) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    const endpoint peer = endpoint_of(to);
    if (is_path(s->family)) {
        if (!is_path(peer)) return -EINVAL;
        if (bound_at(*s->on, peer) == nullptr) return -error_of_missing(peer);
        s->peer = peer;
        return 0;
    }
    way_of_message found;
    if (const int e = route(*s, peer, found); e != 0) return e;
    s->local = found.from;
    s->any_address = false;
    s->peer = found.to;
    return 0;
}

int network::share_port(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    s->shared_port = true;
    return 0;
}
int network::allow_broadcast(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    s->may_broadcast = true;
    return 0;
}
/// No machine has an interface for groups.
int network::join_group(int descriptor, os::const_socket_name) noexcept {
    const int e = error_of(find(descriptor));
    return e != 0 ? e : -ENODEV;
}
int network::leave_group(int descriptor, os::const_socket_name) noexcept {
    const int e = error_of(find(descriptor));
    return e != 0 ? e : -EADDRNOTAVAIL;
}

// --- sending

std::ptrdiff_t network::send_datagram(int descriptor, const os::datagram_message& m) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    // A local socket that is not connected never waits for room.
    if (!settles_ && (!is_path(s->family) || m.name == nullptr)) return -EAGAIN;
    if (s->error != 0) return -std::exchange(s->error, 0);
    const endpoint to = m.name != nullptr ? endpoint_of(m.name, m.name_size) : s->peer;
    message sent{s->local, std::string(static_cast<const char*>(m.bytes.data), m.bytes.size)};
    if (is_path(s->family)) {
        if (m.name != nullptr && bound_at(*s->on, to) == nullptr) return -error_of_missing(to);
        return send_locally(*s, to, std::move(sent));
    }
    if (to.size() == 0) return -EDESTADDRREQ;
    if (m.bytes.size > longest_message) return -EMSGSIZE;
    way_of_message found;
    if (const int e = route(*s, to, found); e != 0) return e;
    sent.from = found.from;
    const fate becomes = choose_fate();
    for (std::size_t copy = 1; copy <= becomes.copies; ++copy) {
        const auto late = copy == becomes.copies ? becomes.late : std::chrono::nanoseconds(0);
        packet p{world_->new_name(),
                 world_->now() + ticks(latency(*s->on, *found.host) + late),
                 s->number,
                 s->on,
                 found.host,
                 found.to,
                 sent};
        if (!options_.reorders) {
            for (const packet& earlier : packets_) {
                if (earlier.sender == p.sender && earlier.to == p.to) p.due = std::max(p.due, earlier.due);
            }
        }
        add(std::move(p));
    }
    return static_cast<std::ptrdiff_t>(m.bytes.size);
}

/// The fate of a datagram: a fault, or what is right.
network::fate network::choose_fate() noexcept {
    std::array<fate, most_fates> all;
    std::size_t n = 1;
    if (options_.loses) all[n++] = {0, {}};
    if (options_.duplicates) all[n++] = {2, {}};
    if (options_.delays) {
        for (const int part : {16, 4, 1}) {
            all[n++] = {1, options_.longest_delay / part};
            if (options_.duplicates) all[n++] = {2, options_.longest_delay / part};
        }
    }
    return all[fault(n != 1, n)];
}

/// None is lost: where there is no room, the sender waits for it.
std::ptrdiff_t network::send_locally(sim_socket& s, const endpoint& to, message sent) noexcept {
    sim_socket* const at = to.size() != 0 ? bound_at(*s.on, to) : find(s.other);
    if (to.size() == 0 && s.other == 0) return -ENOTCONN;
    if (at == nullptr || at->is != socket_state::messages) return -ECONNREFUSED;
    if (at->peer.size() != 0 && !(at->peer == s.local)) return -EPERM;
    if (at->messages.size() >= options_.messages) return -EAGAIN;
    const auto size = static_cast<std::ptrdiff_t>(sent.bytes.size());
    at->messages.push_back(std::move(sent));
    touch(*at, direction::in);
    return size;
}

int network::send_datagrams(int descriptor, const os::datagram_message* messages, std::size_t count) noexcept {
    count = settles_ ? amount(count) : count;
    for (std::size_t i = 0; i != count; ++i) {
        const std::ptrdiff_t sent = send_datagram(descriptor, messages[i]);
        if (sent < 0) return static_cast<int>(i == 0 ? sent : static_cast<std::ptrdiff_t>(i));
    }
    return static_cast<int>(count);
}

// --- receiving

std::ptrdiff_t network::receive_datagram(int descriptor, os::datagram_message& m) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (!settles_) return -EAGAIN;
    if (s->error != 0) return -std::exchange(s->error, 0);
    if (s->messages.empty()) return -EAGAIN;
    const message got = std::move(s->messages.front());
    s->messages.pop_front();
    if (is_path(s->family)) touch_senders(*s);
    m.whole = got.bytes.size();
    m.name_size = std::min(m.name_size, got.from.size());
    if (m.name != nullptr) std::memcpy(m.name, got.from.data(), m.name_size);
    const std::size_t n = std::min(m.whole, m.bytes.size);
    if (n != 0) std::memcpy(m.bytes.data, got.bytes.data(), n);
    return static_cast<std::ptrdiff_t>(n);
}

int network::receive_datagrams(int descriptor, os::datagram_message* messages, std::size_t count) noexcept {
    const sim_socket* const s = find(descriptor);
    if (settles_ && s != nullptr && !s->messages.empty()) count = amount(std::min(count, s->messages.size()));
    for (std::size_t i = 0; i != count; ++i) {
        const std::ptrdiff_t got = receive_datagram(descriptor, messages[i]);
        if (got < 0) return static_cast<int>(i == 0 ? got : static_cast<std::ptrdiff_t>(i));
    }
    return static_cast<int>(count);
}

/// One of them may wait for room there.
void network::touch_senders(const sim_socket& at) noexcept {
    for (auto& [number, s] : sockets_) {
        if (s.other == at.number || (at.local.size() != 0 && s.peer == at.local)) touch(s, direction::out);
    }
}

// --- on their way

/// After those that are due at the same time.
void network::add(packet p) noexcept {
    const auto later = std::find_if(packets_.begin(), packets_.end(), [&](const packet& o) { return o.due > p.due; });
    packets_.insert(later, std::move(p));
}

void network::add_due_packets(std::vector<std::uint64_t>& to) const {
    for (auto p = packets_.begin(); p != packets_.end() && p->due <= world_->now(); ++p) {
        const auto before = [&](const packet& o) { return o.sender == p->sender && o.to == p->to; };
        if (options_.reorders || std::none_of(packets_.begin(), p, before)) to.push_back(p->name);
    }
}

bool network::deliver(std::uint64_t name) noexcept {
    const auto at = std::find_if(packets_.begin(), packets_.end(), [&](const packet& p) { return p.name == name; });
    if (at == packets_.end()) return false;
    packet p = std::move(*at);
    packets_.erase(at);
    if (!p.to->up || partitions_.contains(key(*p.of, *p.to))) return true;
    if (p.is_refusal) {
        sim_socket* const sender = find(p.sender);
        if (sender == nullptr || sender->is != socket_state::messages || !(sender->peer == p.what.from)) return true;
        sender->error = ECONNREFUSED;
        touch(*sender, direction::in);
        touch(*sender, direction::out);
        return true;
    }
    if (sim_socket* const receiver = receiver_of(p); receiver == nullptr) {
        packet refusal{
            world_->new_name(), world_->now() + ticks(latency(*p.of, *p.to)), p.sender, p.to, p.of, p.what.from,
            {p.at, {}}};
        refusal.is_refusal = true;
        add(std::move(refusal));
    } else if (receiver->messages.size() >= options_.messages) {
        ++receiver->without_room;
    } else {
        receiver->messages.push_back(std::move(p.what));
        touch(*receiver, direction::in);
    }
    return true;
}

/// A socket that is connected comes before one that is not, and an address before all; several that are alike share
/// senders by their ports.
sim_socket* network::receiver_of(const packet& p) noexcept {
    std::vector<sim_socket*> best;
    int most = -1;
    for (const int number : bound_) {
        sim_socket& s = *find(number);
        if (s.on != p.to || is_path(s.family) || s.local.port() != p.at.port()) continue;
        const bool hears = s.any_address ? s.family == p.at.family() || is_of_version_six(s.family) : s.local == p.at;
        if (!hears || (s.peer.size() != 0 && !(s.peer == p.what.from))) continue;
        const int how = (s.peer.size() != 0 ? 2 : 0) + (s.any_address ? 0 : 1);
        if (how > most) best.clear();
        if (how >= most) best.push_back(&s);
        most = std::max(most, how);
    }
    return best.empty() ? nullptr : best[p.what.from.port() % best.size()];
}

/// The local socket that has this name.
sim_socket* network::bound_at(const network_host& on, const endpoint& path) noexcept {
    const auto at = std::find_if(bound_.begin(), bound_.end(), [&](int number) {
        const sim_socket& s = sockets_.at(number);
        return s.on == &on && s.local == path;
    });
    return at != bound_.end() ? find(*at) : nullptr;
}

/// Its program closes it, or it is lost in a crash.
void network::end_messages(sim_socket& s) noexcept {
    bound_.erase(s.number);
    s.messages.clear();
    if (is_path(s.family)) touch_senders(s);
}

}  // namespace coflux::testing::detail
