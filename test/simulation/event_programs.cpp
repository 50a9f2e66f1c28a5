// Events, conditions and once: no waiter misses what it waits for.
#include "trial.hpp"

#include <deque>
#include <vector>

namespace coflux_simulations {
namespace {

struct signalled {
    coflux::manual_reset_event e;
    int sets = 0;
};

job waits_for_event(coflux::environment&, borrowed<trial> t, borrowed<signalled> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(2); rounds != 0; --rounds) {
        const bool was_set = x->e.is_set();
        const int before = x->sets;
        co_await x->e.wait();
        COFLUX_HOLDS(t, was_set || x->sets > before);
        if (t->random.one_in(2)) co_await coflux::yield();
    }
}

root manual_reset_event_lets_all_go(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    signalled x;
    std::vector<job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(waits_for_event(here, t, borrowed(x)));
    for (std::size_t n = t->random.below(3); n != 0; --n) {
        co_await coflux::yield();
        if (t->random.one_in(2)) jobs[0].request_stop();
        ++x.sets;
        x.e.set();
        if (t->random.one_in(2)) x.e.reset();
    }
    co_await coflux::yield();
    ++x.sets;
    x.e.set();
    co_await joined(here, *t, jobs, 2);
}

struct work {
    coflux::auto_reset_event more;
    int waiting = 0;  // items that were not taken
    int taken = 0;
    static constexpr int all = 4;
};

job takes_work(coflux::environment&, borrowed<trial> t, borrowed<work> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    while (x->taken != work::all) {
        co_await x->more.wait();
        x->taken += std::exchange(x->waiting, 0);
        COFLUX_HOLDS(t, x->taken <= work::all);
    }
    x->more.set();  // the other waiters end, too
}

root auto_reset_event_loses_no_set(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    work x;
    std::vector<job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(takes_work(here, t, borrowed(x)));
    for (int i = 0; i < work::all; ++i) {
        if (t->random.one_in(2)) co_await coflux::yield();
        if (t->random.one_in(4)) jobs[t->random.below(2)].request_stop();
        ++x.waiting;
        x.more.set();
    }
    co_await joined(here, *t, jobs, 2);  // the third is never stopped: it ends only if no set was lost
    COFLUX_HOLDS(t, x.taken == work::all);
}

struct buffer {
    coflux::mutex m;
    coflux::condition_variable changed;
    std::deque<std::size_t> items;
    bool closed = false;
    int put = 0;
    int taken = 0;
    std::size_t producers = 2;
};

struct leaves {
    buffer& x;
    ~leaves() {
        if (--x.producers != 0) return;
        x.closed = true;
        x.changed.notify_all();
    }
};

job produces(coflux::environment&, borrowed<trial> t, borrowed<buffer> x) {
    const leaves in_the_end{*x};
    for (std::size_t n = 1 + t->random.below(3); n != 0; --n) {
        auto held = co_await x->m.lock();
        x->items.push_back(n);
        ++x->put;
        if (t->random.one_in(2)) held.unlock();
        if (t->random.one_in(4))
            x->changed.notify_all();
        else
            x->changed.notify_one();
    }
}

job consumes(coflux::environment&, borrowed<trial> t, borrowed<buffer> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (;;) {
        auto held = co_await x->m.lock();
        if (t->random.one_in(2)) {
            while (x->items.empty() && !x->closed) co_await x->changed.wait(held);
        } else {
            const auto filled = [&x] { return !x->items.empty() || x->closed; };
            co_await x->changed.wait(held, filled);
        }
        COFLUX_HOLDS(t, held);
        if (x->items.empty()) co_return;
        x->items.pop_front();
        ++x->taken;
        if (t->random.one_in(2)) co_await coflux::yield();  // with the lock
    }
}

root condition_variable_passes_notifications_on(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    buffer x;
    std::vector<job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(consumes(here, t, borrowed(x)));
    for (int i = 0; i < 2; ++i) jobs.push_back(produces(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, 2);
    COFLUX_HOLDS(t, x.items.empty() && x.put == x.taken);
}

struct loaded {
    coflux::once flag;
    int running = 0;
    int loads = 0;
};

coflux::call<void> loads(coflux::environment&, trial& t, loaded& x) {
    const presence here(x.running);
    t.expect(x.running == 1, "two run the function of a once at a time");
    for (std::size_t pause = t.random.below(3); pause != 0; --pause) co_await coflux::yield();
    if (t.random.one_in(3)) throw planned_error();
    ++x.loads;
}

job needs_it(coflux::environment&, borrowed<trial> t, borrowed<loaded> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    const auto load = [&t, &x](coflux::environment& env) { return loads(env, *t, *x); };
    co_await x->flag.call(load);
    COFLUX_HOLDS(t, x->flag.done() && x->loads == 1);
}

root once_runs_to_its_end_once(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    loaded x;
    std::vector<job> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(needs_it(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size());
    COFLUX_HOLDS(t, x.loads == (x.flag.done() ? 1 : 0) && x.running == 0);
}

const listed event_programs{
    {"manual_reset_event", manual_reset_event_lets_all_go},
    {"auto_reset_event", auto_reset_event_loses_no_set},
    {"condition_variable", condition_variable_passes_notifications_on},
    {"once", once_runs_to_its_end_once},
};

}  // namespace
}  // namespace coflux_simulations
