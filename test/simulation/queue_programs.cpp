// Queues between coroutines: spsc, mpsc, oneshot, broadcast, watch.
#include "trial.hpp"

#include <array>
#include <iterator>
#include <optional>
#include <vector>

namespace coflux_simulations {
namespace {

constexpr std::size_t many = 5;  // values of one sender

/// Senders and one receiver. A sender's values are its number times `many` and what follows.
struct passage {
    std::array<bool, 2 * many> sent{};
    std::array<bool, 2 * many> received{};
    std::array<int, 2> last{-1, -1};
    bool saw_close = false;

    void out(trial& t, const token& v) noexcept {
        const std::size_t from = v.id() / many;
        const int number = static_cast<int>(v.id() % many);
        t.expect(v.valid() && !received[v.id()], "a value is received once");
        t.expect(number > last[from], "the values of one sender come in their order");
        received[v.id()] = true;
        last[from] = number;
    }
};

template <typename Sender>
job feeds(coflux::environment&, borrowed<trial> t, borrowed<passage> x, Sender tx, std::size_t who) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t i = who * many; i != (who + 1) * many; ++i) {
        token v(*t, i);
        bool sent = false;
        if constexpr (requires { tx.reserve(); }) {
            switch (t->random.below(3)) {
            case 0: sent = tx.try_send(std::move(v)); break;
            case 1: {
                auto place = co_await tx.reserve();
                if (t->random.one_in(2)) co_await coflux::yield();
                if (!place || t->random.one_in(4)) break;
                place->send(std::move(v));
                sent = true;
                break;
            }
            default: sent = co_await tx.send(std::move(v));
            }
        } else {
            sent = tx.send(std::move(v));
        }
        COFLUX_HOLDS(t, sent != v.valid());
        if (sent) x->sent[i] = true;
        if (t->random.one_in(3)) co_await coflux::yield();
        if (t->random.one_in(16)) break;
        if (t->random.one_in(16)) throw planned_error();
    }
    tx.close();
}

template <typename Receiver>
struct closes_in_the_end {
    Receiver& rx;
    ~closes_in_the_end() { rx.close(); }
};

template <typename Receiver>
job drains(coflux::environment&, borrowed<trial> t, borrowed<passage> x, borrowed<Receiver> rx) {
    const closes_in_the_end<Receiver> when_it_is_gone{*rx};
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (;;) {
        if (t->random.one_in(3)) {
            std::vector<token> batch;
            const std::size_t n = co_await rx->receive_some(std::back_inserter(batch), 3);
            COFLUX_HOLDS(t, n == batch.size() && n <= 3);
            if (n == 0) break;
            for (const token& v : batch) x->out(*t, v);
        } else {
            auto v = co_await rx->receive();
            if (!v) break;
            x->out(*t, *v);
        }
        if (t->random.one_in(24)) rx->close();
    }
    x->saw_close = true;
}

/// Stops receiver and senders at random. Values that the receiver was not there for any more are still in the queue.
template <typename Receiver>
coflux::call<void> passed(coflux::environment& here, trial& t, passage& x, std::vector<job>& jobs, Receiver& rx) {
    co_await joined(here, t, jobs, jobs.size());
    while (auto v = rx.try_receive()) {
        t.expect(!x.saw_close, "nothing comes after the end");
        x.out(t, *v);
    }
    t.expect(x.sent == x.received, "what was sent is received or still there");
}

root spsc_keeps_all(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    passage x;
    auto [tx, rx] = coflux::make_spsc<token>(1 + t->random.below(3));
    auto& receiver = rx;
    std::vector<job> jobs;
    jobs.push_back(feeds(here, t, borrowed(x), std::move(tx), 0));
    jobs.push_back(drains(here, t, borrowed(x), borrowed(receiver)));
    co_await passed(here, *t, x, jobs, receiver);
}

root mpsc_keeps_all(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    passage x;
    auto [tx, rx] = coflux::make_mpsc<token>(1 + t->random.below(3));
    auto& receiver = rx;
    auto second = tx;
    std::vector<job> jobs;
    jobs.push_back(feeds(here, t, borrowed(x), std::move(tx), 0));
    jobs.push_back(feeds(here, t, borrowed(x), std::move(second), 1));
    jobs.push_back(drains(here, t, borrowed(x), borrowed(receiver)));
    co_await passed(here, *t, x, jobs, receiver);
}

root unbounded_mpsc_keeps_all(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    passage x;
    auto [tx, rx] = coflux::make_unbounded_mpsc<token>();
    auto& receiver = rx;
    auto second = tx;
    std::vector<job> jobs;
    jobs.push_back(feeds(here, t, borrowed(x), std::move(tx), 0));
    jobs.push_back(feeds(here, t, borrowed(x), std::move(second), 1));
    jobs.push_back(drains(here, t, borrowed(x), borrowed(receiver)));
    co_await passed(here, *t, x, jobs, receiver);
}

struct letter {
    bool sent = false;
    bool refused = false;
    bool received = false;
    bool none = false;
};

job answers_once(coflux::environment&, borrowed<trial> t, borrowed<letter> x, coflux::oneshot_sender<token> tx) {
    for (std::size_t pause = t->random.below(3); pause != 0; --pause) co_await coflux::yield();
    if (t->random.one_in(4)) co_return;
    token v(*t, 7);
    x->sent = tx.send(std::move(v));
    x->refused = !x->sent;
    COFLUX_HOLDS(t, x->sent != v.valid());
}

job hears_once(coflux::environment&, borrowed<trial> t, borrowed<letter> x,
               borrowed<coflux::oneshot_receiver<token>> rx) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    if (t->random.one_in(4)) {
        rx->close();
        co_return;
    }
    const std::optional<token> v = co_await rx->receive();
    x->received = v && v->id() == 7;
    x->none = !v;
}

root oneshot_answers(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    letter x;
    auto [tx, rx] = coflux::make_oneshot<token>();
    auto& receiver = rx;
    std::vector<job> jobs;
    jobs.push_back(answers_once(here, t, borrowed(x), std::move(tx)));
    jobs.push_back(hears_once(here, t, borrowed(x), borrowed(receiver)));
    co_await joined(here, *t, jobs, 2);
    const bool left = receiver.try_receive().has_value();
    COFLUX_HOLDS(t, x.sent == (x.received || left) && !(x.received && left) && !(x.none && x.sent));
}

struct counted {
    counted(trial& of, std::uint64_t number) noexcept : t(&of), n(number) { ++of.live; }
    counted(const counted& from) noexcept : t(from.t), n(from.n) { ++t->live; }
    counted& operator=(const counted& from) noexcept {
        n = from.n;
        return *this;
    }
    ~counted() { --t->live; }
    trial* t;
    std::uint64_t n;
};

struct news {
    std::uint64_t sent = 0;
};

job listens(coflux::environment&, borrowed<trial> t, borrowed<news> x, coflux::broadcast_receiver<counted> rx) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    const std::uint64_t before = x->sent;
    bool first = true;
    std::uint64_t next = 0;
    for (;;) {
        const auto message = co_await rx.receive();
        if (!message) break;
        if (!first) COFLUX_HOLDS(t, message->n == next + message.missed());
        COFLUX_HOLDS(t, message->n < x->sent);
        first = false;
        next = message->n + 1;
        if (t->random.one_in(3)) co_await coflux::yield();
    }
    COFLUX_HOLDS(t, first ? x->sent == 0 || before == x->sent : next == x->sent);
}

root broadcast_tells_all_or_what_is_missed(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    news x;
    auto [tx, rx] = coflux::make_broadcast<counted>(1 + t->random.below(3));
    std::vector<job> jobs;
    jobs.push_back(listens(here, t, borrowed(x), rx.subscribe()));
    jobs.push_back(listens(here, t, borrowed(x), std::move(rx)));
    for (std::size_t n = 1 + t->random.below(5); n != 0; --n) {
        counted v(*t, x.sent);
        ++x.sent;
        (void)tx.send(std::move(v));
        if (t->random.one_in(2)) co_await coflux::yield();
        if (t->random.one_in(8)) jobs[0].request_stop();
    }
    tx.close();
    co_await joined(here, *t, jobs, 2);
}

job follows(coflux::environment&, borrowed<trial> t, borrowed<news> x, coflux::watch_receiver<counted> rx) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    std::uint64_t seen = 0;
    for (;;) {
        const bool more = co_await rx.changed();
        if (!more) break;
        const auto now = rx.borrow();
        COFLUX_HOLDS(t, now->n > seen && now->n <= x->sent);
        seen = now->n;
        if (t->random.one_in(3)) co_await coflux::yield();
    }
    const auto last = rx.borrow();
    COFLUX_HOLDS(t, last->n == x->sent);
}

root watch_ends_with_the_last(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    news x;
    counted none(*t, 0);
    auto [tx, rx] = coflux::make_watch(none);
    std::vector<job> jobs;
    jobs.push_back(follows(here, t, borrowed(x), rx));
    jobs.push_back(follows(here, t, borrowed(x), std::move(rx)));
    for (std::size_t n = t->random.below(5); n != 0; --n) {
        counted v(*t, ++x.sent);
        (void)tx.send(std::move(v));
        if (t->random.one_in(2)) co_await coflux::yield();
        if (t->random.one_in(8)) jobs[0].request_stop();
    }
    tx.close();
    co_await joined(here, *t, jobs, 2);
}

const listed queue_programs{
    {"spsc", spsc_keeps_all},
    {"mpsc bounded", mpsc_keeps_all},
    {"mpsc unbounded", unbounded_mpsc_keeps_all},
    {"oneshot", oneshot_answers},
    {"broadcast", broadcast_tells_all_or_what_is_missed},
    {"watch", watch_ends_with_the_last},
};

}  // namespace
}  // namespace coflux_simulations
