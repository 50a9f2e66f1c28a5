// Four coroutines on two threads use one primitive, and stop requests hit them at random moments. Nothing may be lost:
// neither a lock nor a permit, neither a wake-up (then the test hangs and is ended by ctest) nor a count.
#include <coflux/coflux.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using random = std::mt19937_64;

constexpr std::size_t parties = 4;
constexpr std::size_t rounds = coflux_test::repetitions(8'000);
constexpr std::size_t steps = 20;

void dawdle(std::uint64_t pauses) {
    for (std::uint64_t i = 0; i < pauses; ++i) coflux::detail::cpu_pause();
}

// Each scene has one party, a coroutine that may be stopped at any time, and says in ends_well() what must hold when
// all have ended, `stopped` of them by a stop. Party 0 is never stopped.

struct with_mutex {
    coflux::mutex m;
    std::size_t plain = 0;
    std::atomic<std::size_t> counted{0};

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_mutex> s, std::size_t, random r) {
        for (std::size_t i = 0; i < steps; ++i) {
            const coflux::mutex::guard guard = co_await s->m.lock();
            ++s->plain;
            s->counted.fetch_add(1, std::memory_order_relaxed);
            if (r() % 4 == 0) co_await coflux::yield();
        }
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t stopped) {
        EXPECT_EQ(plain, counted.load());
        EXPECT_GE(plain, (parties - stopped) * steps);
        EXPECT_TRUE(m.try_lock());
    }
};

struct with_shared_mutex {
    coflux::shared_mutex m;
    std::size_t first = 0;
    std::size_t second = 0;

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_shared_mutex> s, std::size_t, random r) {
        for (std::size_t i = 0; i < steps; ++i) {
            if (r() % 3 == 0) {
                const coflux::shared_mutex::guard guard = co_await s->m.lock();
                ++s->first;
                dawdle(r() % 8);
                ++s->second;
            } else {
                const coflux::shared_mutex::shared_guard guard = co_await s->m.lock_shared();
                EXPECT_EQ(s->first, s->second);
                if (r() % 4 == 0) co_await coflux::yield();
            }
        }
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t) {
        EXPECT_EQ(first, second);
        EXPECT_TRUE(m.try_lock());
    }
};

struct with_semaphore {
    coflux::semaphore permits{3};
    std::atomic<std::size_t> inside{0};

    struct visit {
        std::atomic<std::size_t>& inside;
        std::size_t n;
        visit(std::atomic<std::size_t>& in, std::size_t count) : inside(in), n(count) {
            EXPECT_LE(inside.fetch_add(n) + n, 3U);
        }
        ~visit() { inside.fetch_sub(n); }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
    };
    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_semaphore> s, std::size_t, random r) {
        for (std::size_t i = 0; i < steps; ++i) {
            const std::size_t n = r() % 3 + 1;
            const coflux::semaphore::permit permit = co_await s->permits.acquire_guard(n);
            const visit v(s->inside, n);
            if (r() % 4 == 0) co_await coflux::yield();
        }
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t) {
        EXPECT_EQ(permits.available(), 3U);
        EXPECT_TRUE(permits.try_acquire(3));
    }
};

struct with_latch {
    coflux::latch l{parties};

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_latch> s, std::size_t, random r) {
        dawdle(r() % 64);
        co_await s->l.arrive_and_wait();
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t) { EXPECT_TRUE(l.try_wait()) << "a stopped one has counted down, too"; }
};

struct with_barrier {
    struct counts {
        std::size_t* phases;
        void operator()() const noexcept { ++*phases; }
    };
    std::size_t phases = 0;  // not atomic: only the last to arrive counts
    coflux::barrier<counts> b{parties, counts{&phases}};

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_barrier> s, std::size_t, random r) {
        for (std::size_t i = 0; i < steps; ++i) {
            dawdle(r() % 16);
            co_await s->b.arrive_and_wait();
        }
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t stopped) {
        EXPECT_EQ(phases, steps) << "party 0 took part in every phase";
        EXPECT_EQ(b.expected(), parties - stopped);
    }
};

/// One token goes round: the coroutine that takes it returns it before its next stop point.
struct with_auto_reset_event {
    coflux::auto_reset_event token{true};
    std::size_t plain = 0;
    std::atomic<std::size_t> counted{0};

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_auto_reset_event> s, std::size_t,
                                          random r) {
        for (std::size_t i = 0; i < steps; ++i) {
            co_await s->token.wait();
            ++s->plain;
            s->counted.fetch_add(1, std::memory_order_relaxed);
            dawdle(r() % 8);
            s->token.set();
            if (r() % 4 == 0) co_await coflux::yield();
        }
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t) {
        EXPECT_EQ(plain, counted.load());
        EXPECT_TRUE(token.try_wait());
        EXPECT_FALSE(token.try_wait());
    }
};

struct with_manual_reset_event {
    coflux::manual_reset_event open;

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_manual_reset_event> s, std::size_t,
                                          random r) {
        for (std::size_t i = 0; i < steps; ++i) {
            co_await s->open.wait();
            if (r() % 4 == 0) s->open.reset();
            s->open.set();
        }
    }
    coflux::call<void> run(coflux::environment&) {
        for (int i = 0; i < 5; ++i) {
            open.set();
            open.reset();
            co_await coflux::yield();
        }
        open.set();
    }
    void ends_well(std::size_t) { EXPECT_TRUE(open.is_set()); }
};

/// The parties take items until there will be no more; each is announced to one of them. The root goes on only when all
/// are taken: an announcement that got lost with a stopped party keeps it waiting for ever.
struct with_condition_variable {
    coflux::mutex m;
    coflux::condition_variable more;
    coflux::condition_variable none;
    std::size_t items = 0;
    std::size_t taken = 0;
    bool closed = false;

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_condition_variable> s, std::size_t,
                                          random r) {
        for (;;) {
            coflux::mutex::guard guard = co_await s->m.lock();
            while (s->items == 0 && !s->closed) co_await s->more.wait(guard);
            if (s->items == 0) co_return;
            --s->items;
            ++s->taken;
            if (s->items == 0) s->none.notify_one();
            if (r() % 4 == 0) guard.unlock();
        }
    }
    coflux::call<void> run(coflux::environment&) {
        for (std::size_t i = 0; i < steps; ++i) {
            coflux::mutex::guard guard = co_await m.lock();
            ++items;
            more.notify_one();
            if (i % 4 == 3) co_await none.wait(guard, [this] { return items == 0; });
        }
        coflux::mutex::guard guard = co_await m.lock();
        co_await none.wait(guard, [this] { return items == 0; });
        closed = true;
        more.notify_all();
    }
    void ends_well(std::size_t) {
        EXPECT_EQ(taken, steps);
        EXPECT_TRUE(m.try_lock());
    }
};

struct with_once {
    coflux::once o;
    std::size_t begun = 0;
    std::size_t done = 0;

    static coflux::fork<void, pool> party(coflux::environment&, borrowed<with_once> s, std::size_t, random r) {
        dawdle(r() % 16);
        co_await s->o.call([&](coflux::environment&) -> coflux::call<void> {
            ++s->begun;
            co_await coflux::yield();
            co_await coflux::yield();
            ++s->done;
        });
        EXPECT_EQ(s->done, 1U);
    }
    coflux::call<void> run(coflux::environment&) { co_return; }
    void ends_well(std::size_t) {
        EXPECT_TRUE(o.done());
        EXPECT_EQ(done, 1U);
        EXPECT_LE(begun, parties);
    }
};

template <typename Scene>
coflux::task<std::size_t, pool> hammers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::size_t all_stopped = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        random r(round);
        Scene scene;
        std::vector<coflux::fork<void, pool>> forks;
        for (std::size_t i = 0; i < parties; ++i)
            forks.push_back(Scene::party(here, borrowed(scene), i, random(round * parties + i)));
        for (std::uint64_t left = r() % 4; left != 0; --left) co_await coflux::yield();
        for (std::uint64_t left = r() % parties; left != 0; --left) {
            dawdle(r() % 256);
            forks[r() % (parties - 1) + 1].request_stop();
            if (r() % 2 == 0) co_await coflux::yield();
        }
        co_await scene.run(here);
        std::size_t stopped = 0;
        for (auto& f : forks) {
            const auto o = co_await coflux::as_outcome(std::move(f));
            if (o.is_stopped()) ++stopped;
        }
        scene.ends_well(stopped);
        all_stopped += stopped;
    }
    co_return all_stopped;
}

template <typename Scene>
class random_stops : public ::testing::Test {};
using scenes = ::testing::Types<with_mutex, with_shared_mutex, with_semaphore, with_latch, with_barrier,
                                with_auto_reset_event, with_manual_reset_event, with_condition_variable, with_once>;
struct scene_names {
    template <typename Scene>
    static std::string GetName(int at) {
        static const char* const names[] = {"mutex",   "shared_mutex",     "semaphore",          "latch",
                                            "barrier", "auto_reset_event", "manual_reset_event", "condition_variable",
                                            "once"};
        return names[at];
    }
};
TYPED_TEST_SUITE(random_stops, scenes, scene_names);

TYPED_TEST(random_stops, lose_nothing) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    // Few rounds, as under a sanitizer, may all be over before their stops: then there are more.
    std::size_t stopped = 0;
    for (int i = 0; i < 50 && stopped == 0; ++i) stopped = hammers<TypeParam>(env).get();
    EXPECT_GT(stopped, 0U) << "no stop came in time, so nothing was tested";
}

}  // namespace
