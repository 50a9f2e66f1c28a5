// Channels and select: what was sent is received once, in its order, or is still there; what was stopped has not
// happened.
#include "trial.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace coflux_simulations {
namespace {

constexpr std::size_t producers = 2;
constexpr std::size_t a_producer = 4;  // values that one may send

/// Which sender sent what, and what has come out: exact, because a coroutine goes on only if its operation had its
/// effect.
struct ledger {
    explicit ledger(trial& of) noexcept : t(of) { last.fill(-1); }
    trial& t;
    std::array<bool, producers * a_producer> sent{};
    std::array<bool, producers * a_producer> received{};
    std::array<int, producers> last;  // received from each

    void in(std::size_t id) noexcept { sent[id] = true; }
    void out(const token& v) noexcept {
        t.expect(v.valid() && !received[v.id()], "a value is received once");
        received[v.id()] = true;
        // Receivers note what they got when they run, in another order than they got it; so one receiver at a time is
        // ordered.
    }
    void in_order(std::array<int, producers>& mine, const token& v) noexcept {
        const std::size_t from = v.id() / a_producer;
        const int number = static_cast<int>(v.id() % a_producer);
        t.expect(number > mine[from], "one receiver sees the values of one sender in their order");
        mine[from] = number;
    }
};

template <typename Channel>
struct exchange {
    exchange(trial& t, Channel& c) noexcept : book(t), ch(c) {}
    ledger book;
    Channel& ch;
    std::size_t sending = producers;
    std::size_t receiving = 2;
};

/// The last at either end closes the channel, also if it is stopped: no coroutine waits for one that is gone.
template <typename Channel>
struct closes {
    Channel& ch;
    std::size_t& here;
    ~closes() {
        if (--here == 0) ch.close();
    }
};

template <typename Channel>
job sends(coflux::environment&, borrowed<trial> t, borrowed<exchange<Channel>> x, std::size_t who) {
    const closes<Channel> in_the_end{x->ch, x->sending};
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t i = who * a_producer; i != (who + 1) * a_producer; ++i) {
        token v(*t, i);
        bool sent = false;
        switch (t->random.below(4)) {
        case 0: sent = x->ch.try_send(std::move(v)); break;
        case 1: sent = co_await (x->ch << std::move(v)); break;
        case 2:
            if constexpr (requires { x->ch.reserve(); }) {
                auto place = co_await x->ch.reserve();
                if (t->random.one_in(2)) co_await coflux::yield();
                if (place && !t->random.one_in(4)) {
                    place->send(std::move(v));
                    sent = true;
                }
                break;
            }
            [[fallthrough]];
        default: sent = co_await x->ch.send(std::move(v));
        }
        COFLUX_HOLDS(t, sent != v.valid());
        if (sent) x->book.in(i);
        if (t->random.one_in(16)) x->ch.close();
    }
}

template <typename Channel>
job receives(coflux::environment&, borrowed<trial> t, borrowed<exchange<Channel>> x) {
    const closes<Channel> in_the_end{x->ch, x->receiving};
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    std::array<int, producers> mine;
    mine.fill(-1);
    for (;;) {
        token into(*t, 0);
        switch (t->random.below(3)) {
        case 0: {
            auto v = x->ch.try_receive();
            if (!v) {
                co_await coflux::yield();
                if (x->ch.drained()) co_return;
                continue;
            }
            into = std::move(*v);
            break;
        }
        case 1: {
            const bool got = co_await (x->ch >> into);
            if (!got) co_return;
            break;
        }
        default: {
            auto v = co_await x->ch.receive();
            if (!v) co_return;
            into = std::move(*v);
        }
        }
        x->book.out(into);
        x->book.in_order(mine, into);
        if (t->random.one_in(4)) co_await coflux::yield();
    }
}

template <typename Channel>
coflux::call<void> exchanged(coflux::environment& here, trial& t, Channel& ch) {
    exchange<Channel> x(t, ch);
    std::vector<job> jobs;
    for (std::size_t i = 0; i != producers; ++i) jobs.push_back(sends<Channel>(here, borrowed(t), borrowed(x), i));
    for (int i = 0; i != 2; ++i) jobs.push_back(receives<Channel>(here, borrowed(t), borrowed(x)));
    // With one receiver that is never stopped everything comes out; else the rest is still in the channel.
    const bool all_may_stop = t.random.one_in(2);
    co_await joined(here, t, jobs, all_may_stop ? jobs.size() : jobs.size() - 1);
    while (auto left = ch.try_receive()) {
        t.expect(all_may_stop, "a receiver leaves nothing in a closed channel");
        x.book.out(*left);
    }
    t.expect(x.book.sent == x.book.received, "what was sent is received or still there");
    t.expect(ch.closed() && ch.drained(), "the channel is closed and drained");
}

root bounded_channel_keeps_all(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    coflux::channel<token[2]> ch;
    co_await exchanged(here, *t, ch);
}
root rendezvous_channel_hands_over(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    coflux::channel<token[]> ch;
    co_await exchanged(here, *t, ch);
}
root dynamic_channel_keeps_all(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    coflux::dynamic_channel<token> ch(1 + t->random.below(3));
    co_await exchanged(here, *t, ch);
}

struct places {
    coflux::channel<std::size_t[2]> ch;
    int held = 0;
    std::size_t sent = 0;
};

job holds_places(coflux::environment&, borrowed<trial> t, borrowed<places> x) {
    for (std::size_t rounds = 1 + t->random.below(3); rounds != 0; --rounds) {
        auto place = co_await x->ch.reserve();
        if (!place) co_return;
        const presence here(x->held);
        COFLUX_HOLDS(t, x->held <= 2);
        co_await coflux::yield();
        if (t->random.one_in(3)) continue;  // the slot goes back
        place->send(rounds);                // also if the channel was closed meanwhile
        ++x->sent;
    }
}

root permits_keep_their_places(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    places x;
    std::vector<job> jobs;
    for (int i = 0; i != 3; ++i) jobs.push_back(holds_places(here, t, borrowed(x)));
    std::size_t received = 0;
    for (std::size_t n = t->random.below(4); n != 0; --n) {
        if (x.ch.try_receive()) ++received;
        co_await coflux::yield();
    }
    x.ch.close();
    // No sender waits for a slot any more, but one that has a slot may send.
    for (job& j : jobs) {
        while (!j.done()) {
            if (x.ch.try_receive()) ++received;
            co_await coflux::yield();
        }
    }
    co_await joined(here, *t, jobs, 0);
    while (x.ch.try_receive()) ++received;
    COFLUX_HOLDS(t, received == x.sent && x.held == 0 && x.ch.drained());
}

struct crossing {
    explicit crossing(trial& t) noexcept : book(t) {}
    ledger book;
    coflux::channel<token[1]> a;
    coflux::channel<token[]> b;
    std::size_t open = producers;
};

struct closes_both {
    crossing& x;
    ~closes_both() {
        if (--x.open != 0) return;
        x.a.close();
        x.b.close();
    }
};

job offers(coflux::environment&, borrowed<trial> t, borrowed<crossing> x, std::size_t who) {
    const closes_both in_the_end{*x};
    for (std::size_t i = who * a_producer; i != (who + 1) * a_producer; ++i) {
        token v(*t, i);
        token w(*t, i);
        // The same value twice: the case that loses has not touched its own.
        auto got = co_await coflux::select(x->a.send(std::move(v)), x->b.send(std::move(w)));
        const bool sent = got.index() == 0 ? get<0>(got) : get<1>(got);
        COFLUX_HOLDS(t, sent && v.valid() == (got.index() == 1) && w.valid() == (got.index() == 0));
        x->book.in(i);
    }
}

job chooses(coflux::environment&, borrowed<trial> t, borrowed<crossing> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    bool a_open = true;
    bool b_open = true;
    while (a_open || b_open) {
        std::optional<token> v;
        if (a_open && b_open) {
            if (t->random.one_in(4)) {
                auto got = co_await coflux::select(x->a.receive(), x->b.receive(), coflux::otherwise);
                if (got.index() == 2) {
                    co_await coflux::yield();
                    continue;
                }
                v = got.index() == 0 ? std::move(get<0>(got)) : std::move(get<1>(got));
                if (!v) (got.index() == 0 ? a_open : b_open) = false;
            } else {
                auto got = co_await coflux::select(x->a.receive(), x->b.receive());
                v = got.index() == 0 ? std::move(get<0>(got)) : std::move(get<1>(got));
                if (!v) (got.index() == 0 ? a_open : b_open) = false;
            }
        } else if (a_open) {
            v = co_await x->a.receive();
            if (!v) a_open = false;
        } else {
            v = co_await x->b.receive();
            if (!v) b_open = false;
        }
        if (v) x->book.out(*v);
    }
}

root select_takes_one(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    crossing x(*t);
    std::vector<job> jobs;
    for (std::size_t i = 0; i != producers; ++i) jobs.push_back(offers(here, t, borrowed(x), i));
    for (int i = 0; i != 2; ++i) jobs.push_back(chooses(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size() - 1);
    COFLUX_HOLDS(t, !x.a.try_receive() && !x.b.try_receive() && x.book.sent == x.book.received);
}

/// Channels whose number is known at run time.
struct row {
    row(trial& t, std::size_t n) : book(t), channels(n) {}
    ledger book;
    std::deque<coflux::channel<token[1]>> channels;
    std::size_t open = producers;
};

struct closes_row {
    row& x;
    ~closes_row() {
        if (--x.open != 0) return;
        for (auto& c : x.channels) c.close();
    }
};

job sends_in_row(coflux::environment&, borrowed<trial> t, borrowed<row> x, std::size_t who) {
    const closes_row in_the_end{*x};
    for (std::size_t i = who * a_producer; i != (who + 1) * a_producer; ++i) {
        const bool sent = co_await x->channels[t->random.below(x->channels.size())].send(token(*t, i));
        COFLUX_HOLDS(t, sent);
        x->book.in(i);
    }
}

job yields_a_little(coflux::environment&, borrowed<trial> t) {
    for (std::size_t pause = t->random.below(4); pause != 0; --pause) co_await coflux::yield();
}

job chooses_in_row(coflux::environment&, borrowed<trial> t, borrowed<row> x) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::channel<token[1]>*> open;
    for (auto& c : x->channels) open.push_back(&c);
    const auto takes = [&](std::size_t index, const std::optional<token>& v) {
        if (v) {
            x->book.out(*v);
        } else {
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
        }
    };
    while (!open.empty()) {
        switch (t->random.below(4)) {
        case 0: {
            auto got = co_await coflux::select(open, coflux::otherwise);
            if (got.index() == 0) takes(get<0>(got).index(), get<0>(got).value());
            if (got.index() == 1) co_await coflux::yield();
            break;
        }
        case 1: {
            std::vector<job> breaks;
            for (std::size_t n = t->random.below(3); n != 0; --n) breaks.push_back(yields_a_little(here, t));
            auto got = co_await coflux::select(std::move(breaks), open);
            if (got.index() == 1) takes(get<1>(got).index(), get<1>(got).value());
            break;
        }
        default: {
            auto got = co_await coflux::select(open);
            takes(got.index(), got.value());
        }
        }
    }
}

root select_over_a_range_takes_one(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    row x(*t, 1 + t->random.below(4));
    std::vector<job> jobs;
    for (std::size_t i = 0; i != producers; ++i) jobs.push_back(sends_in_row(here, t, borrowed(x), i));
    for (int i = 0; i != 2; ++i) jobs.push_back(chooses_in_row(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size() - 1);
    for (auto& c : x.channels) {
        while (auto left = c.try_receive()) x.book.out(*left);
    }
    COFLUX_HOLDS(t, x.book.sent == x.book.received);
}

const listed channel_programs{
    {"channel bounded", bounded_channel_keeps_all},
    {"channel rendezvous", rendezvous_channel_hands_over},
    {"channel dynamic", dynamic_channel_keeps_all},
    {"channel permits", permits_keep_their_places},
    {"select", select_takes_one},
    {"select range", select_over_a_range_takes_one},
};

}  // namespace
}  // namespace coflux_simulations
