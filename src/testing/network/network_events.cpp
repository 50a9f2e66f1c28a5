// The events of a simulated network.
#include <algorithm>
#include <cerrno>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/thread/transfer.hpp>

#include "addresses.hpp"
#include "network.hpp"

namespace coflux::testing::detail {

using coflux::detail::clock_tick;
using coflux::detail::direction;
using coflux::detail::io_operation;
using coflux::detail::timing_wheel;

namespace {

bool listens_for(const sim_socket& listener, const sim_socket& s) {
    if (listener.on != s.to) return false;
    if (listener.local == s.peer) return true;
    const std::uint16_t port = s.peer.port();
    if (port == 0 || listener.local.port() != port) return false;  // 0: of a path
    return listener.any_address || (s.any_address && listener.local == endpoint::loopback(port));
}
bool bounces(const sim_socket& s) noexcept {
    return !s.out.empty() && s.out.back().what == arrival::bounced;
}
bool is_gone(const sim_socket& s) noexcept {
    return !s.owned && s.out.empty() && (s.is == socket_state::closed || s.is == socket_state::lost);
}

}  // namespace

// --- operations that wait

void network::wait_at(int number, io_operation& op) noexcept {
    sim_socket* const s = find(number);
    io_operation*& place = s->waiting[static_cast<std::size_t>(op.way())];
    COFLUX_VERIFY(place == nullptr,
                  "two coroutines wait for the same direction of a socket: one at a time reads or accepts, and one "
                  "writes");
    place = &op;
    late_.push_back({number, op.way()});
}

bool network::claim(int number, io_operation& op) noexcept {
    sim_socket* const s = find(number);
    io_operation*& place = s->waiting[static_cast<std::size_t>(op.way())];
    if (place != &op) return false;
    place = nullptr;
    return true;
}

void network::touch(sim_socket& s, direction way) noexcept {
    if (s.waiting[static_cast<std::size_t>(way)] != nullptr) late_.push_back({s.number, way});
}

/// Only what was to be tried when it is called: what that makes possible comes in the next call.
bool network::settle() noexcept {
    if (late_.empty()) return false;
    const coflux::detail::resumption_pause pause;
    trying_.swap(late_);
    settles_ = true;
    for (const late& l : trying_) {
        sim_socket* const s = find(l.number);
        if (s == nullptr) continue;
        io_operation* const op = std::exchange(s->waiting[static_cast<std::size_t>(l.way)], nullptr);
        if (op == nullptr) continue;
        if (op->attempt()) {
            op->wake();
        } else if (op->must_end()) {
            op->end_early();
        } else {
            s->waiting[static_cast<std::size_t>(l.way)] = op;
        }
    }
    trying_.clear();
    settles_ = false;
    return true;
}

// --- what is on its way

std::chrono::nanoseconds network::latency(const network_host& a, const network_host& b) const noexcept {
    if (&a == &b) return std::chrono::nanoseconds(0);
    const auto own = latencies_.find(key(a, b));
    return own != latencies_.end() ? own->second : options_.latency;
}

void network::send_out(sim_socket& s, arrival what, std::string bytes) noexcept {
    const clock_tick due = world_->now() + ticks(latency(*s.on, *s.to)) * (what == arrival::refused ? 2 : 1);
    s.out_bytes += bytes.size();
    s.out.push_back({due, what, std::move(bytes)});
    flying_.emplace(s.number, &s);
}

/// It has asked, and its time passes.
void network::wait_for_answer(sim_socket& s) noexcept {
    s.out.push_back({s.gives_up, arrival::lost});
    flying_.emplace(s.number, &s);
}

/// An answer is lost with the socket that gave it, and its machine: the one that asked does so again.
void network::ask_again(sim_socket& lost) noexcept {
    sim_socket* const s = find(lost.other);
    if (s == nullptr || s->other != lost.number || s->is != socket_state::connecting || s->cut) return;
    s->other = lost.other = 0;
    drop_out(*s);
    send_out(*s, arrival::asked);
}

void network::drop_out(sim_socket& s) noexcept {
    s.out.clear();
    s.out_bytes = 0;
    flying_.erase(s.number);
}

const sim_socket* network::listener_for(const sim_socket& s) const noexcept {
    if (listening_.size() == 1) {  // of most programs
        const sim_socket& l = sockets_.at(*listening_.begin());
        return listens_for(l, s) ? &l : nullptr;
    }
    std::vector<const sim_socket*> all;
    for (const int number : listening_) {
        const sim_socket& l = sockets_.at(number);
        if (listens_for(l, s)) all.push_back(&l);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const sim_socket* const l = all[(s.to->turns + i) % all.size()];
        if (l->backlog.size() < l->most_in_backlog) return l;
    }
    return all.empty() ? nullptr : all.front();
}

/// It does not arrive now, whatever the time is.
bool network::is_held(const sim_socket& s) const noexcept {
    const arrival what = s.out.front().what;
    if (what == arrival::lost) return false;
    if (!s.on->up || !s.to->up || partitions_.contains(key(*s.on, *s.to))) return true;
    if (what != arrival::asked) return false;
    const sim_socket* const l = listener_for(s);
    return l != nullptr && l->backlog.size() >= l->most_in_backlog;
}

/// When its next arrival happens, or is given up.
clock_tick network::due_of(const sim_socket& s) const noexcept {
    const segment& next = s.out.front();
    const bool connects = s.is == socket_state::connecting;
    if (next.due > world_->now() || !is_held(s)) return connects ? std::min(next.due, s.gives_up) : next.due;
    return connects ? s.gives_up : next.due + ticks(options_.send_limit);
}

clock_tick network::next_event() const noexcept {
    clock_tick next = packets_.empty() ? timing_wheel::never : packets_.front().due;
    for (const auto& [number, s] : flying_) next = std::min(next, due_of(*s));
    return next;
}

void network::add_due(std::vector<std::uint64_t>& to) const {
    for (const auto& [number, s] : flying_) {
        if (due_of(*s) <= world_->now()) to.push_back(s->name);
    }
    add_due_packets(to);
}

bool network::happen(std::uint64_t name) noexcept {
    for (const auto& on_its_way : flying_) {
        sim_socket& s = *on_its_way.second;
        if (s.name != name) continue;
        const int number = s.number;
        if (is_held(s) || s.out.front().due > world_->now()) {
            give_up(s);
            tidy(number);
        } else {
            arrive(s);
        }
        return true;
    }
    return deliver(name);
}

// --- arrivals

void network::fail(sim_socket& s, int error) noexcept {
    drop_out(s);
    s.error = error;
    cut_off(s);
    touch(s, direction::in);
    touch(s, direction::out);
}

/// From now on what comes for it bounces. Its unread bytes take no room any more: one that waits for that sends, and is
/// told.
void network::cut_off(sim_socket& s) noexcept {
    s.cut = true;
    if (sim_socket* const other = find(s.other); other != nullptr) touch(*other, direction::out);
}

/// After what is on its way from there.
void network::bounce(sim_socket& s) noexcept {
    cut_off(s);
    if (!bounces(s)) send_out(s, arrival::bounced);
}

/// The bytes that are held have been held for too long.
void network::give_up(sim_socket& s) noexcept {
    sim_socket* const other = bounces(s) ? find(s.other) : nullptr;
    fail(s, ETIMEDOUT);
    // Its bytes were never answered.
    if (other != nullptr && other->is == socket_state::connected && !other->cut) fail(*other, ETIMEDOUT);
}

void network::arrive(sim_socket& s) noexcept {
    const int number = s.number;
    segment what = std::move(s.out.front());
    s.out.pop_front();
    s.out_bytes -= what.bytes.size();
    if (s.out.empty()) flying_.erase(number);
    switch (what.what) {
    case arrival::asked: ask_listener(s); break;
    case arrival::refused:
        fail(s, is_path(s.peer) && !is_in_use(*s.on, s.peer, false) ? error_of_missing(s.peer) : ECONNREFUSED);
        break;
    case arrival::lost: fail(s, ETIMEDOUT); break;
    default: arrive_at(s, *find(s.other), std::move(what)); break;
    }
    tidy(number);
}

void network::ask_listener(sim_socket& s) noexcept {
    const sim_socket* const found = listener_for(s);
    if (found == nullptr) {
        s.out.push_back({world_->now() + ticks(latency(*s.on, *s.to)), arrival::refused});
        flying_.emplace(s.number, &s);
        return;
    }
    wait_for_answer(s);
    sim_socket& listener = *find(found->number);
    ++s.to->turns;
    sim_socket& accepted = make_socket(*s.to);
    accepted.owned = false;
    accepted.is = socket_state::connected;
    accepted.to = s.on;
    accepted.local = s.peer;
    accepted.peer = s.local;
    accepted.other = s.number;
    s.other = accepted.number;
    listener.backlog.push_back(accepted.number);
    send_out(accepted, arrival::answered);
    touch(listener, direction::in);
}

/// At `other`, from `s`.
void network::arrive_at(sim_socket& s, sim_socket& other, segment what) noexcept {
    if (what.what == arrival::cut || what.what == arrival::bounced) {
        if (other.cut) return;
        if (other.is == socket_state::closed) {
            drop_out(other);
            cut_off(other);
        } else {
            fail(other, other.is == socket_state::connecting ? ECONNREFUSED : ECONNRESET);
        }
        return;
    }
    // Its program has closed it, and still may hear that the other end has no more to say.
    if (other.is == socket_state::closed && !other.cut && what.what == arrival::end) return;
    if (other.cut || other.is == socket_state::closed) return bounce(other);
    if (what.what == arrival::answered) {
        drop_out(other);
        other.is = socket_state::connected;
        touch(other, direction::out);
        return;
    }
    if (fault(options_.resets, 2) != 0) {
        fail(s, ECONNRESET);
        fail(other, ECONNRESET);
        return;
    }
    if (what.what == arrival::end) {
        other.got_end = true;
    } else {
        other.unread += what.bytes;
    }
    touch(other, direction::in);
}

/// Forgets a connection that no socket owns, and on which nothing is on its way. Sockets may be gone afterwards.
void network::tidy(int number) noexcept {
    const sim_socket* const s = find(number);
    if (s == nullptr || !is_gone(*s)) return;
    const sim_socket* const other = find(s->other);
    if (other != nullptr) {
        if (!is_gone(*other)) return;
        sockets_.erase(other->number);
    }
    sockets_.erase(number);
}

void network::crash(network_host& h) noexcept {
    h.up = false;
    std::erase_if(packets_, [&h](const packet& p) { return p.of == &h; });
    std::vector<int> lost;
    for (auto& [number, s] : sockets_) {
        if (s.on != &h || s.is == socket_state::lost) continue;
        if (s.is == socket_state::listening) listening_.erase(number);
        if (s.is == socket_state::messages) end_messages(s);
        s.is = socket_state::lost;
        s.unread.clear();
        s.backlog.clear();
        const bool bounced = bounces(s);
        drop_out(s);
        cut_off(s);
        if (bounced) bounce(s);
        touch(s, direction::in);
        touch(s, direction::out);
        lost.push_back(number);
    }
    for (const int number : lost) {
        if (sim_socket* const s = find(number); s != nullptr) ask_again(*s);
        tidy(number);
    }
}

}  // namespace coflux::testing::detail
