// Time: exact, in order, never early; what is late is stopped and joined.
#include "trial.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace coflux_simulations {
namespace {

using namespace std::chrono_literals;
using coflux::clock;

std::chrono::milliseconds some(trial& t, std::size_t most) {
    return std::chrono::milliseconds(t.random.below(most));
}

job sleeps(coflux::environment&, borrowed<trial> t) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(3); rounds != 0; --rounds) {
        const auto d = some(*t, t->random.one_in(4) ? 1'000'000 : 8);
        const auto begin = clock::now();
        if (t->random.one_in(2))
            co_await coflux::sleep_for(d);
        else
            co_await coflux::sleep_until(begin + d);
        // Time passes only when no coroutine can run: it is never late.
        COFLUX_HOLDS(t, clock::now() == begin + d);
    }
}

root sleeps_are_exact(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    std::vector<job> jobs;
    for (int i = 0; i != 4; ++i) jobs.push_back(sleeps(here, t));
    co_await joined(here, *t, jobs, jobs.size());
}

coflux::fork<int, sim_executor> needs(coflux::environment&, borrowed<trial> t, borrowed<int> running,
                                      std::chrono::milliseconds d) {
    const presence here(*running);
    if (t->random.one_in(4)) co_await coflux::resume_on(t->second);
    co_await coflux::sleep_for(d);
    if (t->random.one_in(8)) throw planned_error();
    co_return 3;
}

coflux::call<int> calls(coflux::environment&, borrowed<trial> t, borrowed<int> running, std::chrono::milliseconds d) {
    auto&& here = co_await coflux::context();
    co_return co_await needs(here, t, running, d);
}

job limits(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    for (std::size_t rounds = 1 + t->random.below(3); rounds != 0; --rounds) {
        int running = 0;
        const auto need = some(*t, 4);
        const auto limit = 1ms + some(*t, 4);
        const auto begin = clock::now();
        try {
            bool in_time = false;
            switch (t->random.below(3)) {
            case 0: {
                const auto got = co_await coflux::timeout(needs(here, t, borrowed(running), need), limit);
                in_time = got.has_value();
                break;
            }
            case 1: {
                const auto got = co_await coflux::timeout(calls(here, t, borrowed(running), need), limit);
                in_time = got.has_value();
                break;
            }
            default: {
                const auto got = co_await coflux::deadline(calls(here, t, borrowed(running), need), begin + limit);
                in_time = got.has_value();
            }
            }
            const auto took = clock::now() - begin;
            COFLUX_HOLDS(t, in_time ? took == need && need <= limit : took == limit && need >= limit);
        } catch (const planned_error&) {}
        COFLUX_HOLDS(t, running == 0);
    }
}

root timeouts_join_what_is_late(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    std::vector<job> jobs;
    for (int i = 0; i != 3; ++i) jobs.push_back(limits(here, t));
    co_await joined(here, *t, jobs, jobs.size());
}

job ticks(coflux::environment&, borrowed<trial> t, coflux::missed_ticks missed) {
    const auto period = 1ms + some(*t, 3);
    auto last = clock::now();
    coflux::interval tick(period, missed);
    for (std::size_t rounds = 1 + t->random.below(4); rounds != 0; --rounds) {
        const auto due = co_await tick.next();
        const auto now = clock::now();
        COFLUX_HOLDS(t, due <= now && due > last);
        COFLUX_HOLDS(t, missed != coflux::missed_ticks::burst || due == last + period);
        COFLUX_HOLDS(t, missed != coflux::missed_ticks::skip || (due - last) % period == 0ns);
        last = due;
        if (t->random.one_in(2)) co_await coflux::sleep_for(some(*t, 8));
    }
}

root intervals_keep_their_pace(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    std::vector<job> jobs;
    jobs.push_back(ticks(here, t, coflux::missed_ticks::burst));
    jobs.push_back(ticks(here, t, coflux::missed_ticks::delay));
    jobs.push_back(ticks(here, t, coflux::missed_ticks::skip));
    co_await joined(here, *t, jobs, jobs.size());
}

coflux::fork<int, sim_executor> naps(coflux::environment&, std::size_t times) {
    for (std::size_t i = 0; i != times; ++i) co_await coflux::sleep_for(1ms);
    co_return 1;
}

job has_a_deadline(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    const auto begin = clock::now();
    const auto limit = some(*t, 5);
    auto below = coflux::make_environment(here, begin + limit);
    const std::size_t times = t->random.below(6);
    auto worker = naps(below, times);
    const auto end = co_await coflux::as_outcome(std::move(worker));
    co_await below.join();
    const auto took = clock::now() - begin;
    const auto needed = std::chrono::milliseconds(times);
    COFLUX_HOLDS(t, took <= limit || took <= needed);
    COFLUX_HOLDS(t, !end.has_value() || took == needed);
}

root deadlines_stop_what_is_below(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    std::vector<job> jobs;
    for (int i = 0; i != 3; ++i) jobs.push_back(has_a_deadline(here, t));
    co_await joined(here, *t, jobs, 2);
}

/// The operations on a timer, in order; and from that, what a wait is to give, and when.
struct timer_history {
    struct change {
        clock::time_point at;
        bool set;
        clock::time_point moment;
    };
    struct end {
        bool fired;
        clock::time_point at;
        bool operator==(const end&) const = default;
    };

    coflux::timer timer;
    std::vector<change> changes{{clock::time_point::min(), false, {}}};

    [[nodiscard]] bool pending() const { return changes.back().set && changes.back().moment > clock::now(); }
    /// The end of a wait that began at `begin`, when there were `known` changes. Nothing while it is pending.
    [[nodiscard]] std::optional<end> end_of(clock::time_point begin, std::size_t known) const {
        for (std::size_t i = known - 1; i != changes.size(); ++i) {
            const change& c = changes[i];
            const auto from = std::max(begin, c.at);
            if (!c.set) return end{false, from};
            const auto until = i + 1 != changes.size() ? changes[i + 1].at : clock::now();
            if (c.moment <= until) return end{true, std::max(from, c.moment)};
        }
        return std::nullopt;
    }
};

job sets(coflux::environment&, borrowed<trial> t, borrowed<timer_history> h) {
    for (std::size_t rounds = 2 + t->random.below(4); rounds != 0; --rounds) {
        if (t->random.one_in(2)) co_await coflux::sleep_for(some(*t, 4));
        const bool was_pending = h->pending();
        COFLUX_HOLDS(t, h->timer.pending() == was_pending);
        if (t->random.one_in(4)) {
            // A timer that has fired stays so.
            if (was_pending) h->changes.push_back({clock::now(), false, {}});
            COFLUX_HOLDS(t, h->timer.stop() == was_pending);
        } else {
            const auto moment = clock::now() + some(*t, 6);
            h->changes.push_back({clock::now(), true, moment});
            COFLUX_HOLDS(t, h->timer.reset(moment) == was_pending);
        }
        if (t->random.one_in(3)) co_await coflux::yield();
    }
}

job waits_for_it(coflux::environment&, borrowed<trial> t, borrowed<timer_history> h) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(4); rounds != 0; --rounds) {
        if (t->random.one_in(2)) co_await coflux::sleep_for(some(*t, 3));
        const auto begin = clock::now();
        const std::size_t known = h->changes.size();
        if (t->random.one_in(3)) {
            const auto limit = some(*t, 5);
            const auto fired = co_await coflux::timeout(h->timer.wait(), limit);
            if (!fired.timed_out()) {
                const auto end = h->end_of(begin, known);
                COFLUX_HOLDS(t, end && end->fired == *fired && end->at == clock::now());
            } else {
                COFLUX_HOLDS(t, clock::now() == begin + limit);
            }
        } else {
            const bool fired = co_await h->timer.wait();
            COFLUX_HOLDS(t, h->end_of(begin, known) == timer_history::end{fired, clock::now()});
        }
    }
}

root timers_end_when_they_are_to(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    timer_history h;
    std::vector<job> jobs;
    for (int i = 0; i != 3; ++i) jobs.push_back(waits_for_it(here, t, borrowed(h)));
    for (int i = 0; i != 2; ++i) jobs.push_back(sets(here, t, borrowed(h)));
    co_await joined(here, *t, jobs, jobs.size());
}

/// A limiter, and when how many permits were given.
struct given_permits {
    coflux::rate_limiter limiter;
    std::size_t burst;
    std::chrono::nanoseconds each;
    std::vector<std::pair<clock::time_point, std::size_t>> given{};
};

job acquires(coflux::environment&, borrowed<trial> t, borrowed<given_permits> g) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(4); rounds != 0; --rounds) {
        if (t->random.one_in(2)) co_await coflux::sleep_for(some(*t, 6));
        const std::size_t n = 1 + t->random.below(g->burst);
        bool taken = true;
        switch (t->random.below(4)) {
        case 0: taken = g->limiter.try_acquire(n); break;
        case 1: taken = co_await coflux::timeout(g->limiter.acquire(n), some(*t, 6)); break;
        case 2: {
            const auto first = co_await coflux::select(coflux::sleep_for(some(*t, 6)), g->limiter.acquire(n));
            taken = first.index() == 1;
            break;
        }
        default: co_await g->limiter.acquire(n);
        }
        if (taken) g->given.emplace_back(clock::now(), n);
    }
}

root permits_come_at_their_rate(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    const std::size_t burst = 1 + t->random.below(4);
    const auto each = 1ms + some(*t, 3);
    given_permits g{coflux::rate_limiter(1, each, burst), burst, each};
    std::vector<job> jobs;
    for (int i = 0; i != 4; ++i) jobs.push_back(acquires(here, t, borrowed(g)));
    co_await joined(here, *t, jobs, jobs.size());
    for (std::size_t i = 0; i != g.given.size(); ++i) {
        std::size_t sum = 0;
        for (std::size_t k = i; k != g.given.size(); ++k) {
            sum += g.given[k].second;
            COFLUX_HOLDS(t, sum <= burst + static_cast<std::size_t>((g.given[k].first - g.given[i].first) / each));
        }
    }
    co_await coflux::sleep_for(each * (burst + 1));
    COFLUX_HOLDS(t, g.limiter.available() == burst);
}

/// Values with moments, and where they have gone.
struct delayed {
    static constexpr std::size_t each = 4;  // values of one job
    coflux::delay_queue<token> queue;
    std::vector<clock::time_point> due = std::vector<clock::time_point>(2 * each);
    std::vector<bool> in = std::vector<bool>(2 * each);
    std::vector<bool> out = std::vector<bool>(2 * each);
    bool saw_end = false;

    void take(trial& t, const token& v) {
        t.expect(v.valid() && in[v.id()] && !out[v.id()], "a value that was put in is received once");
        t.expect(!saw_end, "nothing comes after the end");
        out[v.id()] = true;
    }
};

job delays(coflux::environment&, borrowed<trial> t, borrowed<delayed> d, std::size_t who) {
    for (std::size_t i = who * delayed::each; i != (who + 1) * delayed::each; ++i) {
        token v(*t, i);
        d->due[i] = clock::now() + some(*t, 6) - 1ms;
        d->in[i] = true;
        const auto key = d->queue.push(std::move(v), d->due[i]);
        COFLUX_HOLDS(t, static_cast<bool>(key) != v.valid());
        if (!key) {
            d->in[i] = false;
            break;
        }
        if (t->random.one_in(2)) co_await coflux::sleep_for(some(*t, 4));
        if (t->random.one_in(3)) {
            const auto later = clock::now() + some(*t, 6);
            const auto before = std::exchange(d->due[i], later);
            if (!d->queue.reset(key, later)) d->due[i] = before;
        }
        if (t->random.one_in(4)) {
            const auto back = d->queue.remove(key);
            COFLUX_HOLDS(t, !back || back->id() == i);
            if (back) d->take(*t, *back);
        }
        if (t->random.one_in(24)) d->queue.close();
    }
}

/// With `limits` it is not stopped: a stop loses the result of what is limited.
job pops_them(coflux::environment&, borrowed<trial> t, borrowed<delayed> d, bool limits) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (;;) {
        std::optional<token> v;
        switch (t->random.below(limits ? 3 : 2)) {
        case 2: {
            auto got = co_await coflux::timeout(d->queue.pop(), some(*t, 5));
            if (got.timed_out()) continue;
            v = std::move(*got);
            break;
        }
        case 1: {
            auto first = co_await coflux::select(coflux::sleep_for(some(*t, 5) + 1ms), d->queue.pop());
            if (first.index() == 0) continue;
            v = std::move(first).get<1>();
            break;
        }
        default: v = co_await d->queue.pop();
        }
        if (!v) break;
        COFLUX_HOLDS(t, d->due[v->id()] <= clock::now());
        d->take(*t, *v);
    }
    d->saw_end = true;
}

root delayed_values_come_once(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    delayed d;
    {
        std::vector<job> jobs;
        for (std::size_t i = 0; i != 2; ++i) jobs.push_back(delays(here, t, borrowed(d), i));
        const bool limits = t->random.one_in(2);
        auto pops = pops_them(here, t, borrowed(d), limits);
        co_await joined(here, *t, jobs, jobs.size());
        d.queue.close();
        std::vector<job> last;
        last.push_back(std::move(pops));
        co_await joined(here, *t, last, limits ? 0 : 1);
    }
    co_await coflux::sleep_for(20ms);
    while (const auto v = d.queue.try_pop()) d.take(*t, *v);
    COFLUX_HOLDS(t, d.in == d.out && d.queue.size() == 0);
}

const listed time_programs{
    {"sleep", sleeps_are_exact},
    {"timeout and deadline", timeouts_join_what_is_late},
    {"interval", intervals_keep_their_pace},
    {"environment with a deadline", deadlines_stop_what_is_below},
    {"timer", timers_end_when_they_are_to},
    {"rate_limiter", permits_come_at_their_rate},
    {"delay_queue", delayed_values_come_once},
};

}  // namespace
}  // namespace coflux_simulations
