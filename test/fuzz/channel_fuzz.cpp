// Channels against queues that serve first come, first served (docs/design/channel.md): send, receive, reserve and
// permits, select over two of them, try_ forms, close and stops, on a rendezvous and on channels of some slots.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include "fuzz/stage.hpp"

namespace {

using coflux_fuzz::item;
using coflux_fuzz::party;
using coflux_fuzz::root;
using coflux_fuzz::stand;

using any_channel = coflux::basic_channel<item>;
using places = coflux::dynamic_channel<item>;

enum class doing { send, receive, reserve, nothing };

struct result {
    bool ok = false;
    int value = 0;
    bool operator==(const result&) const = default;
};

struct model;

/// A waiter's part at one channel. One that selects does several and gets one.
struct part {
    doing what = doing::nothing;
    model* at = nullptr;
    std::optional<item> payload;
};

struct waiter : party {
    part parts[3];
    std::size_t count = 1;
    bool can_be_done[3] = {};
    std::size_t won = 0;
    result got;

    ~waiter() = default;
    [[nodiscard]] bool may_be_forgotten() const noexcept { return true; }
    void begins();
    void ends(std::size_t which, result r, std::optional<coflux::permit<item>> p = std::nullopt);
    void stop();
    void leave();
    void decide(std::size_t which, result r);
};

/// The rules of a channel. Entries of the two queues are a waiter and which of its parts waits.
struct model {
    explicit model(std::size_t n) : capacity(n) {
        if (n == 0) {
            rendezvous = std::make_unique<coflux::channel<item[]>>();
            real = rendezvous.get();
        } else {
            bounded = std::make_unique<places>(n);
            real = bounded.get();
        }
    }

    using entry = std::pair<waiter*, std::size_t>;
    std::size_t capacity;
    std::unique_ptr<coflux::channel<item[]>> rendezvous;
    std::unique_ptr<places> bounded;
    any_channel* real;
    std::vector<coflux::permit<item>> permits;

    std::deque<int> values;
    std::size_t reserved = 0;
    bool closed = false;
    std::deque<entry> senders;
    std::deque<entry> receivers;

    [[nodiscard]] bool has_room() const { return values.size() + reserved < capacity; }
    [[nodiscard]] bool drained() const { return closed && values.empty() && reserved == 0; }
    [[nodiscard]] static bool is_send(const entry& e) { return e.first->parts[e.second].what == doing::send; }
    [[nodiscard]] bool a_send_waits() const { return std::any_of(senders.begin(), senders.end(), is_send); }
    [[nodiscard]] bool can(doing what) const {
        switch (what) {
        case doing::send: return closed || !receivers.empty() || has_room();
        case doing::receive: return !values.empty() || a_send_waits() || drained();
        case doing::reserve: return closed || has_room();
        default: return true;
        }
    }
    result perform(doing what, int value) {
        switch (what) {
        case doing::send: return {send(value), 0};
        case doing::receive: return receive();
        case doing::reserve:
            if (closed) return {};
            ++reserved;
            return {true, 0};
        default: return {};
        }
    }
    void put(int value) {
        if (receivers.empty()) {
            values.push_back(value);
        } else {
            const entry first = receivers.front();
            first.first->decide(first.second, {true, value});
        }
    }
    bool send(int value) {
        if (closed) return false;
        put(value);
        return true;
    }
    result receive() {
        if (!values.empty()) {
            const int value = values.front();
            values.pop_front();
            fill();
            return {true, value};
        }
        if (a_send_waits()) return {true, serve(*std::find_if(senders.begin(), senders.end(), is_send))};
        return {};
    }
    /// A sender that waits has sent: its value.
    static int serve(entry first) {
        const int value = first.first->parts[first.second].payload->value();
        first.first->decide(first.second, {true, 0});
        return value;
    }
    void fill() {
        while (has_room() && !senders.empty()) {
            const entry first = senders.front();
            if (is_send(first)) {
                put(serve(first));
            } else {
                ++reserved;
                first.first->decide(first.second, {true, 0});
            }
        }
        tell_if_drained();
    }
    void tell_if_drained() {
        while (drained() && !receivers.empty()) {
            const entry first = receivers.front();
            first.first->decide(first.second, {});
        }
    }
    void permit_sends(int value) {
        --reserved;
        put(value);
        fill();
    }
    void permit_dies() {
        --reserved;
        fill();
    }
    void close() {
        closed = true;
        while (!senders.empty()) {
            const entry first = senders.front();
            first.first->decide(first.second, {});
        }
        tell_if_drained();
    }
    void compare() {
        COFLUX_VERIFY(real->closed() == closed, "closed");
        COFLUX_VERIFY(real->drained() == drained(), "drained");
        if (bounded != nullptr)
            COFLUX_VERIFY(bounded->size() == values.size(), "%zu values, not %zu", bounded->size(), values.size());
    }
};

void waiter::leave() {
    for (std::size_t i = 0; i < count; ++i) {
        if (parts[i].at == nullptr) continue;
        std::erase(parts[i].at->senders, model::entry(this, i));
        std::erase(parts[i].at->receivers, model::entry(this, i));
    }
}
void waiter::decide(std::size_t which, result r) {
    leave();
    won = which;
    got = r;
    at = stand::decided;
}
void waiter::begins() {
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
        can_be_done[i] = parts[i].at != nullptr && parts[i].at->can(parts[i].what);
        any = any || can_be_done[i];
    }
    if (!any && parts[count - 1].at == nullptr) any = can_be_done[count - 1] = true;  // otherwise
    if (any) {
        at = stand::choosing;
        return;
    }
    if (!must_wait()) return;
    for (std::size_t i = 0; i < count; ++i)
        (parts[i].what == doing::receive ? parts[i].at->receivers : parts[i].at->senders).emplace_back(this, i);
}
void waiter::ends(std::size_t which, result r, std::optional<coflux::permit<item>> p) {
    if (at == stand::choosing) {
        COFLUX_VERIFY(which < count && can_be_done[which], "case %zu has won, which cannot be done", which);
        won = which;
        got =
            parts[which].at == nullptr
                ? result{}
                : parts[which].at->perform(parts[which].what, parts[which].payload ? parts[which].payload->value() : 0);
    }
    // The model looks at the values of waiting sends; moved from is what a send has sent, and nothing else.
    goes_on();
    COFLUX_VERIFY(which == won, "case %zu has won, not %zu", which, won);
    COFLUX_VERIFY(r == got, "ends with %d %d, not %d %d", r.ok, r.value, got.ok, got.value);
    if (p) parts[which].at->permits.push_back(std::move(*p));
}
void waiter::stop() {
    const bool took_out = party::stop();
    if (took_out) leave();
}

// A value stays in its waiter until the channel takes it, so the model reads the number from a copy.
struct cargo {
    item real;
    explicit cargo(const waiter& w, std::size_t i) : real(*w.parts[i].payload) {}
    void check(bool sent) const {
        COFLUX_VERIFY((real.value() == item::moved_from) == sent, "a value was%s moved from", sent ? " not" : "");
    }
};

root sends(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    cargo c(*w, 0);
    any_channel& ch = *w->parts[0].at->real;
    w->begins();
    const bool sent = co_await ch.send(std::move(c.real));
    c.check(sent);
    w->ends(0, {sent, 0});
}
root sends_a_copy(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    cargo c(*w, 0);
    any_channel& ch = *w->parts[0].at->real;
    w->begins();
    const bool sent = co_await (ch << std::as_const(c.real));
    c.check(false);
    w->ends(0, {sent, 0});
}
root receives(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    any_channel& ch = *w->parts[0].at->real;
    w->begins();
    const std::optional<item> v = co_await ch.receive();
    w->ends(0, {v.has_value(), v ? v->value() : 0});
}
root receives_into(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    any_channel& ch = *w->parts[0].at->real;
    item v(-7);
    w->begins();
    const bool received = co_await (ch >> v);
    COFLUX_VERIFY(received || v.value() == -7, "nothing was received, and it was written");
    w->ends(0, {received, received ? v.value() : 0});
}
root reserves(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    places& ch = *w->parts[0].at->bounded;
    w->begins();
    std::optional<coflux::permit<item>> p = co_await ch.reserve();
    const bool got = p.has_value();
    w->ends(0, {got, 0}, std::move(p));
}

template <doing What>
auto case_of(waiter& w, std::size_t i, item& payload) {
    if constexpr (What == doing::send) {
        return w.parts[i].at->real->send(std::move(payload));
    } else if constexpr (What == doing::receive) {
        return w.parts[i].at->real->receive();
    } else {
        return w.parts[i].at->bounded->reserve();
    }
}
template <std::size_t I, doing What, typename Selected>
void ends_select(waiter& w, Selected& got, item& payload) {
    if (got.index() != I) return;
    auto& r = got.template get<I>();
    if constexpr (What == doing::send) {
        COFLUX_VERIFY((payload.value() == item::moved_from) == r, "the value of case %zu", I);
        w.ends(I, {r, 0});
    } else if constexpr (What == doing::receive) {
        w.ends(I, {r.has_value(), r ? r->value() : 0});
    } else {
        const bool ok = r.has_value();
        w.ends(I, {ok, 0}, std::move(r));
    }
}
item payload_of(const part& p) {
    return p.payload ? item(*p.payload) : item(0);
}

template <doing A, doing B>
root selects(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    item a = payload_of(w->parts[0]);
    item b = payload_of(w->parts[1]);
    auto first = case_of<A>(*w, 0, a);
    auto second = case_of<B>(*w, 1, b);
    w->begins();
    auto got = co_await coflux::select(std::move(first), std::move(second));
    COFLUX_VERIFY(got.index() == 0 || A != doing::send || a.value() != item::moved_from, "a loser was moved from");
    COFLUX_VERIFY(got.index() == 1 || B != doing::send || b.value() != item::moved_from, "a loser was moved from");
    ends_select<0, A>(*w, got, a);
    ends_select<1, B>(*w, got, b);
}
root looks(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    item a = payload_of(w->parts[0]);
    item b = payload_of(w->parts[1]);
    auto first = case_of<doing::send>(*w, 0, a);
    auto second = case_of<doing::receive>(*w, 1, b);
    w->begins();
    auto got = co_await coflux::select(std::move(first), std::move(second), coflux::otherwise);
    ends_select<0, doing::send>(*w, got, a);
    ends_select<1, doing::receive>(*w, got, b);
    if (got.index() == 2) w->ends(2, {});
}

class run {
public:
    explicit run(coflux_fuzz::program& p) : program_(p) {
        for (int i = 0; i < 2; ++i) channels_.push_back(std::make_unique<model>(p.below(4)));
    }

    void steps() {
        for (int i = 0; i < 300 && !program_.ended(); ++i) step();
        end();
    }

private:
    model& channel() { return *channels_[program_.below(2)]; }
    part piece(doing what) {
        part p{what, &channel(), std::nullopt};
        if (what == doing::send) p.payload.emplace(++last_);
        return p;
    }
    waiter& begins(part a) {
        waiter& w = waiters_.add();
        w.parts[0] = std::move(a);
        return w;
    }
    waiter& begins(part a, part b) {
        waiter& w = begins(std::move(a));
        w.parts[1] = std::move(b);
        w.count = 2;
        return w;
    }

    void step() {
        switch (program_.below(20)) {
        case 0:
        case 1:
            if (!waiters_.full()) {
                waiter& w = begins(piece(doing::send));
                w.coroutine.emplace(sends(on_.env, &w));
            }
            break;
        case 2:
            if (!waiters_.full()) {
                waiter& w = begins(piece(doing::send));
                w.coroutine.emplace(sends_a_copy(on_.env, &w));
            }
            break;
        case 3:
        case 4:
            if (!waiters_.full()) {
                waiter& w = begins(piece(doing::receive));
                w.coroutine.emplace(receives(on_.env, &w));
            }
            break;
        case 5:
            if (!waiters_.full()) {
                waiter& w = begins(piece(doing::receive));
                w.coroutine.emplace(receives_into(on_.env, &w));
            }
            break;
        case 6: {
            part p = piece(doing::reserve);
            if (waiters_.full() || p.at->capacity == 0) break;
            waiter& w = begins(std::move(p));
            w.coroutine.emplace(reserves(on_.env, &w));
            break;
        }
        case 7:
        case 8:
            if (!waiters_.full()) select();
            break;
        case 9: {
            model& m = channel();
            item v(++last_);
            const bool fits = !m.closed && m.can(doing::send);
            const bool expected = fits && m.send(v.value());
            const bool sent = m.real->try_send(std::move(v));
            COFLUX_VERIFY(sent == expected && (v.value() == item::moved_from) == sent, "try_send");
            break;
        }
        case 10: {
            model& m = channel();
            const result expected = m.can(doing::receive) ? m.receive() : result{};
            const std::optional<item> v = m.real->try_receive();
            COFLUX_VERIFY(v.has_value() == expected.ok && (!v || v->value() == expected.value), "try_receive");
            break;
        }
        case 11: {
            model& m = channel();
            if (m.capacity == 0) break;
            const bool expected = m.has_room() && !m.closed;
            std::optional<coflux::permit<item>> p = m.bounded->try_reserve();
            COFLUX_VERIFY(p.has_value() == expected, "try_reserve");
            if (!p) break;
            ++m.reserved;
            m.permits.push_back(std::move(*p));
            break;
        }
        case 12:
        case 13: {
            model& m = channel();
            if (m.permits.empty()) break;
            coflux::permit<item> p = std::move(m.permits.back());
            m.permits.pop_back();
            if (program_.coin()) {
                const int value = ++last_;
                m.permit_sends(value);
                p.send(item(value));
            } else {
                m.permit_dies();
            }
            break;
        }
        case 14:
        case 15:
            if (waiter* const w = waiters_.pick(program_.byte())) w->stop();
            break;
        case 16: {
            model& m = channel();
            if (!program_.coin()) break;
            m.close();
            m.real->close();
            break;
        }
        case 17: on_.executor.run_one(program_.byte()); break;
        default: waiters_.run_all(on_); break;
        }
        for (const auto& m : channels_) m->compare();
    }
    void select() {
        const std::size_t kind = program_.below(6);
        if (kind == 5) {
            waiter& w = begins(piece(doing::send), piece(doing::receive));
            w.count = 3;
            w.coroutine.emplace(looks(on_.env, &w));
        } else if (kind == 4) {
            part p = piece(doing::reserve);
            if (p.at->capacity == 0) return;
            waiter& w = begins(std::move(p), piece(doing::receive));
            w.coroutine.emplace(selects<doing::reserve, doing::receive>(on_.env, &w));
        } else {
            part first = piece(kind % 2 == 0 ? doing::send : doing::receive);
            part second = piece(kind < 2 ? doing::send : doing::receive);
            waiter& w = begins(std::move(first), std::move(second));
            switch (kind) {
            case 0: w.coroutine.emplace(selects<doing::send, doing::send>(on_.env, &w)); break;
            case 1: w.coroutine.emplace(selects<doing::receive, doing::send>(on_.env, &w)); break;
            case 2: w.coroutine.emplace(selects<doing::send, doing::receive>(on_.env, &w)); break;
            default: w.coroutine.emplace(selects<doing::receive, doing::receive>(on_.env, &w)); break;
            }
        }
    }
    /// Either all are closed or all waiters are stopped; values that were not received die with their channel.
    void end() {
        const bool by_close = program_.coin();
        for (const auto& w : waiters_) {
            if (!by_close) w->stop();
        }
        waiters_.run_all(on_);
        for (const auto& m : channels_) {
            while (!m->permits.empty()) {
                m->permit_dies();
                m->permits.pop_back();
            }
            m->close();
            m->real->close();
        }
        // A permit that was being handed over gives its slot back, too.
        waiters_.run_all(on_);
        for (const auto& m : channels_) {
            while (!m->permits.empty()) {
                m->permit_dies();
                m->permits.pop_back();
            }
            m->compare();
        }
        waiters_.run_all(on_);
        for (const auto& w : waiters_) COFLUX_VERIFY(w->coroutine->done(), "a coroutine waits at a closed channel");
    }

    coflux_fuzz::program& program_;
    int last_ = 0;
    coflux_fuzz::stage on_;
    std::vector<std::unique_ptr<model>> channels_;
    coflux_fuzz::parties<waiter> waiters_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    coflux_fuzz::program p(bytes, size);
    {
        run r(p);
        r.steps();
    }
    COFLUX_VERIFY(item::alive == 0, "%ld values are left", item::alive);
    return 0;
}
