// Work around locks, permits, gates and stop requests.
#include <array>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "soak/job.hpp"

namespace coflux_test::soak {
namespace {

using forks = std::vector<coflux::fork<void, pool>>;

struct guarded {
    coflux::mutex lock;
    coflux::shared_mutex shared;
    long plain = 0;
    long twin = 0;
};
coflux::fork<void, pool> counts(coflux::environment&, coflux::borrowed<guarded> g, long n) {
    const present here;
    for (long i = 0; i < n; ++i) {
        const auto guard = co_await g->lock.lock();
        const long before = g->plain;
        if (i % 8 == 0) co_await coflux::yield();
        g->plain = before + 1;
    }
}
coflux::fork<void, pool> mutexes(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    const long n = r.numbers().below(40) + 1;
    guarded g;
    forks all;
    for (int i = 0; i < 4; ++i) all.push_back(counts(env, coflux::borrowed(g), n));
    co_await coflux::when_all(std::move(all));
    expect(g.plain == 4 * n, "every lock let one in", r);
    r.done->add(static_cast<std::uint64_t>(4 * n));
}

/// Whole again when it dies: a stop may come in between.
struct writing {
    explicit writing(guarded& g) noexcept : of(g) { ++of.plain; }
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;
    ~writing() { ++of.twin; }
    guarded& of;
};
coflux::fork<void, pool> reads_and_writes(coflux::environment&, coflux::borrowed<guarded> g, round r, unsigned number) {
    const present here;
    random_numbers random(r.seed + number);
    for (int i = 0; i < 20; ++i) {
        if (random.one_in(3)) {
            const auto guard = co_await g->shared.lock();
            const writing both(*g);
            if (random.one_in(8)) co_await coflux::yield();
        } else {
            const auto guard = co_await g->shared.lock_shared();
            expect(g->plain == g->twin, "no coroutine reads what is half written", r);
            if (random.one_in(8)) co_await coflux::yield();
        }
    }
}
coflux::fork<void, pool> shared_mutexes(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    guarded g;
    forks all;
    for (unsigned i = 0; i < 4; ++i) all.push_back(reads_and_writes(env, coflux::borrowed(g), r, i));
    co_await coflux::when_all(std::move(all));
    r.done->add(80);
}

struct limited {
    coflux::semaphore places{2};
    std::atomic<int> inside{0};
};
struct entry {
    entry(limited& l, int width) noexcept : of(l), by(width), now(l.inside.fetch_add(width) + width) {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { of.inside.fetch_sub(by); }
    limited& of;
    int by;
    int now;
};
coflux::fork<void, pool> enters(coflux::environment&, coflux::borrowed<limited> l, round r, std::size_t width) {
    const present here;
    for (int i = 0; i < 20; ++i) {
        const auto permit = co_await l->places.acquire_guard(width);
        const entry in(*l, static_cast<int>(width));
        expect(in.now <= 2, "no more are inside than there are permits", r);
        if (i % 8 == 0) co_await coflux::yield();
    }
}
coflux::fork<void, pool> semaphores(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    limited l;
    forks all;
    for (std::size_t i = 0; i < 4; ++i) all.push_back(enters(env, coflux::borrowed(l), r, i % 2 + 1));
    co_await coflux::when_all(std::move(all));
    expect(l.places.available() == 2 && l.inside.load() == 0, "all permits are back", r);
    r.done->add(80);
}

struct waited_for {
    coflux::mutex lock;
    coflux::semaphore none{0};
    coflux::manual_reset_event closed;
    coflux::channel<int[]> empty;
};
coflux::fork<void, pool> waits(coflux::environment&, coflux::borrowed<waited_for> w, unsigned depth) {
    const present here;
    auto&& env = co_await coflux::context();
    if (depth != 0) {
        auto below = waits(env, w, depth - 1);
        co_await std::move(below);
    }
    switch (depth % 4) {
    case 0: {
        const auto guard = co_await w->lock.lock();
        break;
    }
    case 1: co_await w->none.acquire(); break;
    case 2: co_await w->closed.wait(); break;
    default: (void)co_await w->empty.receive();
    }
}
coflux::fork<void, pool> stops(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    random_numbers random = r.numbers();
    waited_for w;
    const auto held = co_await w.lock.lock();
    forks all;
    for (unsigned i = 0; i < 4; ++i) all.push_back(waits(env, coflux::borrowed(w), i));
    for (unsigned left = random.below(4); left != 0; --left) co_await coflux::yield();
    for (auto& f : all) f.request_stop();
    for (auto& f : all) {
        const auto end = co_await coflux::as_outcome(std::move(f));
        expect(end.is_stopped(), "a stop ends every wait", r);
    }
    r.done->add(10);
}

struct meeting {
    coflux::barrier<> all{3};
    coflux::latch end{3};
    std::atomic<long> arrived{0};
};
coflux::fork<void, pool> meets(coflux::environment&, coflux::borrowed<meeting> m) {
    const present here;
    for (int phase = 0; phase < 5; ++phase) {
        m->arrived.fetch_add(1);
        co_await m->all.arrive_and_wait();
    }
    m->end.count_down();
}
coflux::fork<void, pool> barriers(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    meeting m;
    forks all;
    for (int i = 0; i < 3; ++i) all.push_back(meets(env, coflux::borrowed(m)));
    co_await m.end.wait();
    co_await coflux::when_all(std::move(all));
    expect(m.arrived.load() == 15, "all have come to all phases", r);
    r.done->add(15);
}

}  // namespace

std::span<const job> sync_jobs() noexcept {
    static constexpr std::array<job, 5> all{{{"mutexes", &mutexes},
                                             {"shared_mutexes", &shared_mutexes},
                                             {"semaphores", &semaphores},
                                             {"stops", &stops},
                                             {"barriers", &barriers}}};
    return all;
}

}  // namespace coflux_test::soak
