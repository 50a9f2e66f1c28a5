// The primitives of sync: mutual exclusion, order, no wake-up lost, whatever is stopped when.
#include "trial.hpp"

#include <optional>
#include <vector>

namespace coflux_simulations {
namespace {

struct exclusive {
    coflux::mutex m;
    int inside = 0;
    int balance = 0;
    int written = 0;
    int next_ticket = 0;
    int last_served = -1;
};

job takes_lock(coflux::environment&, borrowed<trial> t, borrowed<exclusive> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(3); rounds != 0; --rounds) {
        coflux::mutex::guard held = x->m.try_lock();
        if (!held) {
            const int ticket = x->next_ticket++;
            held = co_await x->m.lock();
            COFLUX_HOLDS(t, ticket > x->last_served);
            x->last_served = ticket;
        }
        const presence here(x->inside);
        COFLUX_HOLDS(t, x->inside == 1);
        const int before = x->balance;
        if (t->random.one_in(2)) co_await coflux::yield();
        if (t->random.one_in(16)) throw planned_error();
        x->balance = before + 1;
        ++x->written;
    }
}

root mutex_excludes(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    exclusive x;
    std::vector<job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(takes_lock(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size());
    COFLUX_HOLDS(t, x.balance == x.written);
    const auto still_works = x.m.try_lock();
    COFLUX_HOLDS(t, still_works);
}

struct shared {
    coflux::shared_mutex m;
    int readers = 0;
    int writers = 0;
    int a = 0;
    int b = 0;
};

/// Makes the two equal again, also if the writer is stopped between them.
struct mended {
    shared& x;
    ~mended() { x.b = x.a; }
};

job reads_or_writes(coflux::environment&, borrowed<trial> t, borrowed<shared> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(3); rounds != 0; --rounds) {
        if (t->random.one_in(2)) {
            const auto held = co_await x->m.lock();
            const presence here(x->writers);
            const mended in_the_end(*x);
            COFLUX_HOLDS(t, x->writers == 1 && x->readers == 0);
            ++x->a;
            co_await coflux::yield();
        } else {
            auto held = x->m.try_lock_shared();
            if (!held) held = co_await x->m.lock_shared();
            const presence here(x->readers);
            if (t->random.one_in(2)) co_await coflux::yield();
            COFLUX_HOLDS(t, x->writers == 0 && x->a == x->b);
        }
    }
}

root shared_mutex_excludes_writers(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    shared x;
    std::vector<job> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(reads_or_writes(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size());
    const auto still_works = x.m.try_lock();
    COFLUX_HOLDS(t, still_works);
}

struct limited {
    coflux::semaphore permits{3};
    int used = 0;
};

job takes_permits(coflux::environment&, borrowed<trial> t, borrowed<limited> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    for (std::size_t rounds = 1 + t->random.below(3); rounds != 0; --rounds) {
        const std::size_t n = 1 + t->random.below(3);
        coflux::semaphore::permit permit = x->permits.try_acquire_guard(n);
        if (!permit) permit = co_await x->permits.acquire_guard(n);
        const presence here(x->used, static_cast<int>(n));
        COFLUX_HOLDS(t, x->used <= 3);
        if (t->random.one_in(2)) co_await coflux::yield();
        if (t->random.one_in(16)) throw planned_error();
    }
    co_await x->permits.acquire();
    x->permits.release();
}

root semaphore_bounds(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    limited x;
    std::vector<job> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(takes_permits(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size());
    COFLUX_HOLDS(t, x.permits.available() == 3 && x.used == 0);
}

struct gathering {
    coflux::latch all{3};
    int arrived = 0;
};

/// Arrives in any case: as the last thing, if it was stopped before.
struct arrival {
    gathering& at;
    bool arrived = false;
    void now() {
        arrived = true;
        ++at.arrived;
    }
    ~arrival() {
        if (arrived) return;
        now();
        at.all.count_down();
    }
};

job arrives(coflux::environment&, borrowed<trial> t, borrowed<gathering> x) {
    arrival mine{*x};
    for (std::size_t pause = t->random.below(3); pause != 0; --pause) co_await coflux::yield();
    mine.now();
    if (t->random.one_in(2)) {
        co_await x->all.arrive_and_wait();
        COFLUX_HOLDS(t, x->arrived == 3);
    } else {
        x->all.count_down();
    }
}

job waits_for_all(coflux::environment&, borrowed<trial> t, borrowed<gathering> x) {
    if (t->random.one_in(3)) co_await coflux::resume_on(t->second);
    co_await x->all.wait();
    COFLUX_HOLDS(t, x->arrived == 3 && x->all.try_wait());
}

root latch_opens_once_all_arrived(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    gathering x;
    std::vector<job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(arrives(here, t, borrowed(x)));
    for (int i = 0; i < 2; ++i) jobs.push_back(waits_for_all(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size());
    COFLUX_HOLDS(t, x.all.try_wait());
}

struct counts_phases {
    int* ended;
    void operator()() const noexcept { ++*ended; }
};

struct march {
    int ended = 0;
    coflux::barrier<counts_phases> step{3, counts_phases{&ended}};
};

/// A party that leaves between two phases says so; one that is stopped in arrive_and_wait() has left already.
struct marcher {
    march& in;
    bool waits = false;
    ~marcher() {
        if (!waits) in.step.arrive_and_drop();
    }
};

job marches(coflux::environment&, borrowed<trial> t, borrowed<march> x) {
    marcher mine{*x};
    for (std::size_t pause = t->random.below(3); pause != 0; --pause) co_await coflux::yield();
    int phase = x->ended;
    COFLUX_HOLDS(t, phase == 0);
    for (std::size_t rounds = t->random.below(4); rounds != 0; --rounds) {
        mine.waits = true;
        co_await x->step.arrive_and_wait();
        mine.waits = false;
        ++phase;
        COFLUX_HOLDS(t, x->ended == phase);
        if (t->random.one_in(2)) co_await coflux::yield();
    }
}

root barrier_keeps_step(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    march x;
    std::vector<job> jobs;
    for (int i = 0; i < 3; ++i) jobs.push_back(marches(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, jobs.size());
    COFLUX_HOLDS(t, x.step.expected() == 0);
}

const listed sync_programs{
    {"mutex", mutex_excludes},       {"shared_mutex", shared_mutex_excludes_writers},
    {"semaphore", semaphore_bounds}, {"latch", latch_opens_once_all_arrived},
    {"barrier", barrier_keeps_step},
};

}  // namespace
}  // namespace coflux_simulations
