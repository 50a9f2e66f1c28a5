// The calls of programs on a simulated network.
#include "network.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/worker.hpp>

#include "addresses.hpp"

namespace coflux::testing::detail {

using coflux::detail::direction;
namespace os = coflux::detail::os;

namespace {

constexpr std::size_t most_amounts = 16;

/// The n-th of the amounts that are tried, of which 0 is `most`.
std::size_t nth_amount(std::size_t n, std::size_t most) noexcept {
    if (n == 0) return most;
    if (most <= most_amounts || n <= 8) return n;
    return n + 1 == most_amounts ? most / 2 : most - (n - 8);
}

void check_latency(std::chrono::nanoseconds d) {
    COFLUX_VERIFY(d.count() >= 0, "a latency of a simulated network that is negative");
}

}  // namespace

network::network(simulation& in, const sim_network_options& options)
    : is_(in),
      options_(options),
      faults_left_(options.faults),
      source_(std::make_shared<network_source>(*this)) {
    COFLUX_VERIFY(options_.buffer != 0, "connections of a simulated network that hold no bytes");
    COFLUX_VERIFY(options_.messages != 0, "sockets of a simulated network that hold no datagrams");
    check_latency(options_.latency);
    check_latency(options_.longest_delay);
    hosts_.push_back({sim_executor(in), "192.0.2.1", 0});
    world_ = &static_cast<sim_worker*>(local().on.identity())->in();
    world_->attach(*this, *this);
}

network::~network() {
    COFLUX_VERIFY(open_sockets() == 0, "a simulated network ends while sockets are open:\n%s", dump().c_str());
    world_->detach(*this);
}

network_host& network::host(std::string_view address) {
    const std::string canonical = address_of(endpoint::ip(address, 0));
    if (is_any(canonical) || is_loopback(canonical))
        throw std::invalid_argument("coflux: '" + canonical + "' is every machine's name of itself");
    const auto known =
        std::find_if(hosts_.begin(), hosts_.end(), [&](const network_host& h) { return h.address == canonical; });
    if (known != hosts_.end()) return *known;
    hosts_.push_back({sim_executor(is_), canonical, hosts_.size()});
    return hosts_.back();
}

void network::set_latency(network_host& a, network_host& b, std::chrono::nanoseconds d) {
    check_latency(d);
    latencies_[key(a, b)] = d;
}

network_host& network::host_of_thread() noexcept {
    for (network_host& h : hosts_) {
        if (coflux::detail::worker::of_thread_for(h.on.identity()) != nullptr) return h;
    }
    return local();
}

network_host* network::host_at(network_host& from, const endpoint& e) noexcept {
    if (is_path(e)) return &from;
    const std::string address = address_of(e);
    if (is_any(address) || is_loopback(address)) return &from;
    for (network_host& h : hosts_) {
        if (h.address == address) return &h;
    }
    return nullptr;
}

sim_socket* network::find(int number) noexcept {
    COFLUX_VERIFY(world_->is_of_this_thread(), "a simulated socket is used by a thread other than its simulation's");
    const auto at = sockets_.find(number);
    return at != sockets_.end() ? &at->second : nullptr;
}

sim_socket& network::make_socket(network_host& on) {
    const int number = ++last_number_;
    return sockets_.emplace(number, sim_socket{number, world_->new_name(), &on}).first->second;
}

int network::error_of(const sim_socket* s) const noexcept {
    if (s == nullptr || !s->owned) return -EBADF;
    return s->is == socket_state::lost ? -ENETDOWN : 0;
}

std::uint16_t network::free_port(network_host& on) noexcept {
    return on.next_port == 65535 ? std::exchange(on.next_port, std::uint16_t{49152}) : on.next_port++;
}

bool network::is_in_use(const network_host& on, const endpoint& e, bool shared) const noexcept {
    return std::any_of(listening_.begin(), listening_.end(), [&](int number) {
        const sim_socket& s = sockets_.at(number);
        if (s.on != &on || (shared && s.shared_port)) return false;
        return is_path(e) || is_path(s.local) ? s.local == e : s.local.port() == e.port();
    });
}

std::size_t network::amount(std::size_t most) noexcept {
    if (!options_.short_moves || most < 2) return most;
    static constexpr std::array<std::uint64_t, most_amounts> names{0, 1, 2,  3,  4,  5,  6,  7,
                                                                   8, 9, 10, 11, 12, 13, 14, 15};
    return nth_amount(world_->choose(choice::amount, std::span(names).first(std::min(most, most_amounts))), most);
}

std::size_t network::fault(bool kind, std::size_t of) noexcept {
    if (!kind || faults_left_ == 0) return 0;
    static constexpr std::array<std::uint64_t, most_fates> names{0, 1, 2, 3, 4, 5, 6, 7, 8};
    const std::size_t chosen = world_->choose(choice::fault, std::span(names).first(of));
    if (chosen != 0) --faults_left_;
    return chosen;
}

// --- the calls

int network::open_stream(int family) noexcept {
    if (!is_known(family)) return -EAFNOSUPPORT;
    network_host& on = host_of_thread();
    if (!on.up) return -ENETDOWN;
    if (on.open >= on.most) return -EMFILE;
    ++on.open;
    return make_socket(on).number;
}

void network::close_descriptor(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    COFLUX_VERIFY(s != nullptr && s->owned, "a simulated descriptor %d is closed, and is not open", descriptor);
    s->owned = false;
    --s->on->open;
    switch (std::exchange(s->is, s->is == socket_state::lost ? socket_state::lost : socket_state::closed)) {
    case socket_state::listening:
        listening_.erase(descriptor);
        for (const int waits : std::exchange(s->backlog, {})) {
            sim_socket& b = *find(waits);
            b.is = socket_state::closed;
            if (!b.cut) {
                drop_out(b);
                cut_off(b);
                send_out(b, arrival::cut);
            }
            tidy(waits);
        }
        break;
    case socket_state::connecting: drop_out(*s); break;  // an answer will find that it is closed
    case socket_state::connected:
        if (s->cut) break;
        if (!s->unread.empty()) {
            drop_out(*s);
            cut_off(*s);
            send_out(*s, arrival::cut);
        } else if (!s->sent_end) {
            send_out(*s, arrival::end);
        }
        break;
    case socket_state::messages: end_messages(*s); break;
    case socket_state::fresh:
    case socket_state::closed:
    case socket_state::lost: break;
    }
    tidy(descriptor);
}

int network::move_to_owner(sim_socket& s, const endpoint& local) noexcept {
    network_host* const owner = host_at(*s.on, local);
    if (owner == s.on) return 0;
    if (owner == nullptr || s.on != &this->local()) return -EADDRNOTAVAIL;
    if (!owner->up) return -ENETDOWN;
    if (owner->open >= owner->most) return -EMFILE;
    --s.on->open;
    ++owner->open;
    s.on = owner;
    return 0;
}

int network::listen_at(int descriptor, os::const_socket_name at, int backlog, bool shared_port) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    endpoint local = endpoint_of(at);
    if (!is_path(local)) {
        const std::string address = address_of(local);
        if (const int e = move_to_owner(*s, local); e != 0) return e;
        s->any_address = is_any(address);
        while (local.port() == 0) {
            const endpoint chosen = endpoint::ip(address, free_port(*s->on));
            if (!is_in_use(*s->on, chosen, false)) local = chosen;
        }
    }
    if (is_in_use(*s->on, local, shared_port)) return -EADDRINUSE;
    s->local = local;
    s->is = socket_state::listening;
    listening_.insert(descriptor);
    s->shared_port = shared_port;
    s->most_in_backlog = static_cast<std::size_t>(std::max(backlog, 1));
    return 0;
}

int network::accept_one(int descriptor, os::socket_name& peer) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->is != socket_state::listening) return -EINVAL;
    if (!settles_ || s->backlog.empty()) return -EAGAIN;
    if (s->on->open >= s->on->most || fault(options_.no_descriptors, 2) != 0) return -EMFILE;
    sim_socket& accepted = *find(s->backlog.front());
    s->backlog.pop_front();
    accepted.owned = true;
    ++s->on->open;
    give(accepted.peer, peer);
    return accepted.number;
}

int network::begin_connect(int descriptor, os::const_socket_name to) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->is != socket_state::fresh) return -EISCONN;
    s->peer = endpoint_of(to);
    s->is = socket_state::connecting;
    s->asks = !settles_;
    const int e = settles_ ? ask(*s) : 0;
    return e != 0 ? e : -EINPROGRESS;
}

int network::bind_source(int descriptor, os::const_socket_name at, bool has_port) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    const endpoint local = endpoint_of(at);
    if (is_path(local) || s->is != socket_state::fresh) return -EINVAL;
    if (const int e = move_to_owner(*s, local); e != 0) return e;
    const std::string address = is_any(address_of(local)) ? s->on->address : address_of(local);
    s->local = endpoint::ip(address, has_port ? local.port() : free_port(*s->on));
    return 0;
}

/// Goes on with what begin_connect() has begun: 0, or a negative error.
int network::ask(sim_socket& s) noexcept {
    s.to = host_at(*s.on, s.peer);
    if (s.to == nullptr) return -ENETUNREACH;
    if (!is_path(s.peer)) {
        const std::string address = address_of(s.peer);
        const std::string own = is_loopback(address) ? address : is_any(address) ? "127.0.0.1" : s.on->address;
        if (s.local.family() == 0) s.local = endpoint::ip(own, free_port(*s.on));
        s.any_address = is_any(address);
    }
    s.gives_up = world_->now() + ticks(options_.connect_limit);
    switch (fault(options_.refuses, 3)) {
    case 1: send_out(s, arrival::refused); break;
    case 2: wait_for_answer(s); break;
    default: send_out(s, arrival::asked); break;
    }
    return 0;
}

int network::connect_result(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->asks && settles_) {
        s->asks = false;
        if (const int e = ask(*s); e != 0) return e;
    }
    if (s->error != 0) return -std::exchange(s->error, 0);
    return s->is == socket_state::connecting ? -EAGAIN : 0;
}

std::ptrdiff_t network::receive(int descriptor, void* into, std::size_t size) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->is != socket_state::connected) return -ENOTCONN;
    if (!settles_) return -EAGAIN;
    if (!s->unread.empty()) {
        const std::size_t n = amount(std::min(size, s->unread.size()));
        std::memcpy(into, s->unread.data(), n);
        s->unread.erase(0, n);
        if (sim_socket* const from = find(s->other); from != nullptr) touch(*from, direction::out);
        return static_cast<std::ptrdiff_t>(n);
    }
    if (s->error != 0) return -std::exchange(s->error, 0);
    return s->got_end || s->cut ? 0 : -EAGAIN;
}

int network::is_readable(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    if (error_of(s) != 0) return 1;
    if (!settles_) return 0;
    if (s->is == socket_state::listening) return s->backlog.empty() ? 0 : 1;
    return !s->unread.empty() || s->got_end || s->cut || s->error != 0 ? 1 : 0;
}

int network::is_readable_now(int descriptor) noexcept {
    const bool settled = std::exchange(settles_, true);
    const int readable = is_readable(descriptor);
    settles_ = settled;
    return readable;
}

std::ptrdiff_t network::send(int descriptor, const void* from, std::size_t size) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->is != socket_state::connected) return -ENOTCONN;
    if (!settles_) return -EAGAIN;
    if (s->error != 0) return -std::exchange(s->error, 0);
    if (s->cut || s->sent_end) return -EPIPE;
    const sim_socket* const to = find(s->other);
    const std::size_t held = s->out_bytes + (to != nullptr && !to->cut ? to->unread.size() : 0);
    if (held >= options_.buffer) return -EAGAIN;
    const std::size_t n = amount(std::min(size, options_.buffer - held));
    send_out(*s, arrival::data, std::string(static_cast<const char*>(from), n));
    return static_cast<std::ptrdiff_t>(n);
}

std::ptrdiff_t network::send_now(int descriptor, const void* from, std::size_t size) noexcept {
    const bool settled = std::exchange(settles_, true);
    const std::ptrdiff_t n = send(descriptor, from, size);
    settles_ = settled;
    return n;
}

/// A call may move less than all: here, what the first buffer has.
std::ptrdiff_t network::receive_buffers(int descriptor, const os::buffer* into, std::size_t buffers) noexcept {
    return buffers == 0 ? 0 : receive(descriptor, into->data, into->size);
}
std::ptrdiff_t network::send_buffers(int descriptor, const os::buffer* from, std::size_t buffers) noexcept {
    return buffers == 0 ? 0 : send(descriptor, from->data, from->size);
}

int network::shutdown_send(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->is != socket_state::connected || s->cut) return -ENOTCONN;
    if (!std::exchange(s->sent_end, true)) send_out(*s, arrival::end);
    return 0;
}

int network::cut_connection(int descriptor) noexcept {
    sim_socket* const s = find(descriptor);
    if (const int e = error_of(s); e != 0) return e;
    if (s->is != socket_state::connected || s->cut) return -ENOTCONN;
    s->unread.clear();
    fail(*s, ECONNRESET);
    send_out(*s, arrival::cut);
    return 0;
}

int network::local_name(int descriptor, os::socket_name& name) noexcept {
    sim_socket* const s = find(descriptor);
    if (s == nullptr || !s->owned) return -EBADF;
    give(s->local, name);
    return 0;
}

std::shared_ptr<coflux::detail::io_source> network::source(coflux::detail::promise_base&) {
    COFLUX_VERIFY(world_->runs_what_runs(),
                  "a coroutine waits for a simulated socket on an executor that is not of its simulation");
    return source_;
}

}  // namespace coflux::testing::detail
