// Sleeping and waking of a pool's workers: src/executor/pool/idle_workers.hpp and the parker as they are, and the
// injection queue as what they look at. The workers' loop is that of pool_worker::search(); it parks without the watch
// of 10 ms, so that a wake-up from outside that is lost is a deadlock, and not a delay. Where workers push to queues of
// their own, it has the watch.
#include "../../src/executor/pool/idle_workers.hpp"

#include <memory>

#include "../../src/executor/pool/injection_queue.hpp"
#include "support/model.hpp"
#include "support/model_parker.hpp"

namespace {

using coflux::detail::idle_workers;
using coflux::detail::injection_queue;
using coflux::detail::os::parker;
using coflux::model::plain;
using rest = idle_workers::rest;

/// A job, and which job its end wakes; `waits` if it only ends when another has run.
struct job {
    plain<int> made{0};
    int ran = 0;
    parker ended;
};

/// A look-out that keeps so for one look.
auto goes_off_after_a_look() {
    return [looks = 0]() mutable { return looks++ == 0; };
}

struct pool {
    explicit pool(std::size_t workers) : idle(workers), parkers(std::make_unique<parker[]>(workers)), size(workers) {}

    idle_workers idle;
    injection_queue queue{2};
    injection_queue own{2};  // those of the workers, in one
    bool watches = false;
    std::unique_ptr<parker[]> parkers;
    std::size_t size;
    plain<int> alive{1};

    void execute(job& j) {
        if (!queue.push(std::coroutine_handle<>::from_address(&j), [this] { return idle.must_wake(); })) return;
        idle.wake_one();
        MODEL_CHECK(alive.get() == 1);
        idle.leave();
    }
    /// The steps of worker::push_fork() and pool_worker::notify_one() on an empty queue.
    void push_lone(job& j) {
        own.push(std::coroutine_handle<>::from_address(&j));
        const std::uint32_t word = idle.word().load(coflux::detail::memory_order_relaxed);
        if (word - 1 < 0xffffU && !idle.has_lookout()) idle.wake_one();
    }
    void end() {
        idle.end();
        for (std::size_t i = 0; i < size; ++i) parkers[i].unpark();
    }
    template <typename Run>
    void serve(std::size_t i, Run run) {
        const auto work_in_sight = [this] { return !queue.empty() || !own.empty(); };
        for (;;) {
            idle.begin_search(parkers[i]);
            std::coroutine_handle<> found = queue.take();
            if (!found) found = own.take();
            if (!found && i != 0) idle.prepare_lookout(parkers[i]);
            idle.end_search(static_cast<bool>(found), work_in_sight);
            if (found) {
                run(*static_cast<job*>(found.address()));
                continue;
            }
            if (idle.prepare_park(parkers[i])) {
                // A watch, of a moment or of 10 ms, may end at any time: what is pushed to a worker's own queue may
                // wait for it.
                idle.sleep(parkers[i], i != 0, work_in_sight, goes_off_after_a_look(), [&](rest r) {
                    return parkers[i].park_until(watches && r != rest::for_ever ? 1 : parker::never);
                });
                idle.end_park(parkers[i]);
            }
            if (idle.ended() && !work_in_sight()) return;
        }
    }
};

template <unsigned Workers, unsigned Others, int Jobs>
struct of_pool : coflux::model::scenario<Workers + Others> {
    pool executor{Workers};
    job jobs[Jobs];

    void give(int i) {
        jobs[i].made.set(1);
        executor.execute(jobs[i]);
    }
    void await(int i) { MODEL_CHECK(jobs[i].ended.park_until(parker::never)); }
    virtual void run(job& j) {
        MODEL_CHECK(j.made.get() == 1);
        MODEL_CHECK(++j.ran == 1);
        j.ended.unpark();
    }
    virtual void other(unsigned index) = 0;
    void thread(unsigned index) override {
        if (index < Workers) {
            executor.serve(index, [this](job& j) { run(j); });
        } else {
            other(index - Workers);
        }
    }
    void after() override {
        for (const job& j : jobs) MODEL_CHECK(j.ran == 1);
        MODEL_CHECK(executor.idle.word().load(coflux::detail::memory_order_relaxed) == 0);
    }
};

/// The worker is awake, looks, is about to park, or is parked: the job is run in any case, without another wake-up.
struct one_sleeper : of_pool<1, 1, 2> {
    void other(unsigned) override {
        give(0);
        await(0);
        give(1);
        await(1);
        executor.end();
    }
};

struct two_outsiders : of_pool<1, 2, 2> {
    coflux::detail::atomic<int> ended{0};
    void other(unsigned index) override {
        give(static_cast<int>(index));
        await(static_cast<int>(index));
        if (ended.fetch_add(1) == 1) executor.end();
    }
};

/// The first job ends only after the second has run: the worker that took it, last to search, must have woken the
/// other.
struct needs_both : of_pool<2, 1, 2> {
    parker second_ran;
    void run(job& j) override {
        if (&j == &jobs[0]) {
            MODEL_CHECK(second_ran.park_until(parker::never));
        } else {
            second_ran.unpark();
        }
        of_pool::run(j);
    }
    void other(unsigned) override {
        give(0);
        give(1);
        await(0);
        await(1);
        executor.end();
    }
};

/// A worker makes a lone job and computes until another has run it: one that is parked is woken, or looks out, or
/// looks.
struct lone_job : of_pool<2, 1, 2> {
    void before() override { executor.watches = true; }
    void run(job& j) override {
        if (&j == &jobs[0]) {
            jobs[1].made.set(1);
            executor.push_lone(jobs[1]);
            MODEL_CHECK(jobs[1].ended.park_until(parker::never));
        }
        of_pool::run(j);
    }
    void other(unsigned) override {
        give(0);
        await(0);
        executor.end();
    }
};

/// A worker wakes up by itself, as for a timer, makes a lone job and computes until another has run it. That one looks
/// out, or goes off at that moment, because all are parked.
struct woken_by_itself : coflux::model::scenario<2> {
    pool executor{2};
    job only;

    void thread(unsigned index) override {
        idle_workers& idle = executor.idle;
        parker& own = executor.parkers[index];
        MODEL_CHECK(idle.prepare_park(own));
        if (index == 1) {
            idle.end_park(own);
            executor.push_lone(only);
            MODEL_CHECK(only.ended.park_until(parker::never));
            return;
        }
        while (only.ran == 0) {
            idle.sleep(
                own, true, [this] { return !executor.own.empty(); }, goes_off_after_a_look(),
                [&](rest r) { return own.park_until(r != rest::for_ever ? 1 : parker::never); });
            idle.end_park(own);
            idle.begin_search(own);
            const std::coroutine_handle<> found = executor.own.take();
            if (!found) idle.prepare_lookout(own);
            idle.end_search(static_cast<bool>(found), [] { return false; });
            if (found) {
                ++only.ran;
                only.ended.unpark();
            } else {
                MODEL_CHECK(idle.prepare_park(own));
            }
        }
    }
    void after() override { MODEL_CHECK(only.ran == 1); }
};

/// Ended while all look, are parked, or are about to park: what was pushed before is run.
struct end_at_once : of_pool<2, 1, 1> {
    void other(unsigned) override {
        give(0);
        executor.end();
    }
};

/// The same to a worker that an old token keeps from parking: it is not listed, so it is not woken.
struct end_after_token : of_pool<1, 1, 1> {
    void before() override { executor.parkers[0].unpark(); }
    void other(unsigned) override {
        coflux::model::wait_a_while(48);  // often until the token has woken the worker
        give(0);
        executor.end();
    }
};

/// The last pusher uses the pool until it has left; the owner knows of the job's end and destroys it.
struct destroyed : coflux::model::scenario<3> {
    std::unique_ptr<pool> executor = std::make_unique<pool>(1);
    job only;
    parker joined;

    void thread(unsigned index) override {
        if (index == 0) {
            executor->serve(0, [](job& j) {
                ++j.ran;
                j.ended.unpark();
            });
            joined.unpark();
        } else if (index == 1) {
            executor->execute(only);
        } else {
            MODEL_CHECK(only.ended.park_until(parker::never));
            executor->end();
            MODEL_CHECK(joined.park_until(parker::never));
            executor->idle.wait_for_leavers();
            executor->alive.set(0);
            executor.reset();
        }
    }
    void after() override { MODEL_CHECK(only.ran == 1); }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "idle_workers", "the pool's sleeping and waking",
        {
            searched<one_sleeper>("one_sleeper", "a push while the worker works, looks, is listed, sleeps", 1),
            sampled<two_outsiders>("two_outsiders", "two push at once to one worker"),
            sampled<needs_both>("needs_both", "two workers, one at a time: the last to look wakes the next"),
            sampled<lone_job>("lone_job", "a worker's own push while another looks, looks out, sleeps for ever"),
            sampled<woken_by_itself>("woken_by_itself", "the same against a look-out that goes off while all sleep"),
            sampled<end_at_once>("end_at_once", "the end while workers look, are listed, sleep"),
            sampled<end_after_token>("end_after_token",
                                     "a push and the end, to a worker that an old token keeps awake"),
            sampled<destroyed>("destroyed", "what has entered is waited for"),
        });
}
