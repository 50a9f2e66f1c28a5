// The primitives of sync against queues: mutex, shared_mutex, semaphore, auto_reset_event, manual_reset_event, latch
// and barrier; each party waits for one of them, keeps what it got until the program releases it, and may be stopped at
// any time.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include <coflux/coflux.hpp>

#include "fuzz/stage.hpp"

namespace {

using coflux_fuzz::party;
using coflux_fuzz::root;
using coflux_fuzz::stand;

struct waiter;

/// The waiters at one primitive, first come, first served.
struct line {
    std::deque<waiter*> all;

    void leave(waiter& w) { std::erase(all, &w); }
    inline void serve_first();
};

enum class wish { mutex, writer, reader, permits, once_set, while_set, counted, arrives_at_latch, meets };

struct scene;
struct waiter : party {
    scene* in = nullptr;
    wish what = wish::mutex;
    std::size_t count = 1;
    std::optional<coflux::mutex::guard> lock;
    std::optional<coflux::shared_mutex::guard> write;
    std::optional<coflux::shared_mutex::shared_guard> read;
    std::optional<coflux::semaphore::permit> permit;

    [[nodiscard]] bool holds() const noexcept { return lock || write || read || permit; }
    [[nodiscard]] bool may_be_forgotten() const noexcept { return !holds(); }
    void begins();
    void stop();
    void give_back();
};
void line::serve_first() {
    all.front()->at = stand::decided;
    all.pop_front();
}

struct scene {
    scene(std::size_t permits, std::size_t count, std::size_t meets)
        : real_permits(permits),
          real_latch(count),
          real_barrier(meets),
          available(permits),
          left(count),
          expected(meets),
          pending(meets) {}

    coflux::mutex real_mutex;
    coflux::shared_mutex real_shared;
    coflux::semaphore real_permits;
    coflux::auto_reset_event real_auto;
    coflux::manual_reset_event real_manual;
    coflux::latch real_latch;
    coflux::barrier<> real_barrier;

    bool locked = false;
    line for_mutex;
    std::size_t readers = 0;
    bool writer = false;
    line for_shared;
    std::size_t available;
    line for_permits;
    bool auto_set = false;
    line for_auto;
    bool manual_set = false;
    line for_manual;
    std::size_t left;
    line for_latch;
    std::size_t expected;
    std::size_t pending;
    line for_barrier;

    line& of(wish what) {
        switch (what) {
        case wish::mutex: return for_mutex;
        case wish::writer:
        case wish::reader: return for_shared;
        case wish::permits: return for_permits;
        case wish::once_set: return for_auto;
        case wish::while_set: return for_manual;
        case wish::counted:
        case wish::arrives_at_latch: return for_latch;
        default: return for_barrier;
        }
    }
    bool enters(bool shared) {
        if (writer || (!shared && readers != 0)) return false;
        writer = !shared;
        if (shared) ++readers;
        return true;
    }
    void let_in() {
        while (!for_shared.all.empty() && enters(for_shared.all.front()->what == wish::reader))
            for_shared.serve_first();
    }
    void give(std::size_t n) {
        available += n;
        while (!for_permits.all.empty() && for_permits.all.front()->count <= available) {
            available -= for_permits.all.front()->count;
            for_permits.serve_first();
        }
    }
    void count_down(std::size_t n) {
        left -= n;
        while (left == 0 && !for_latch.all.empty()) for_latch.serve_first();
    }
    /// True if it is the last to arrive.
    bool arrives() {
        if (--pending != 0) return false;
        while (!for_barrier.all.empty()) for_barrier.serve_first();
        pending = expected;
        return true;
    }
    /// One takes his wish at once if that is possible.
    bool at_once(const waiter& w) {
        switch (w.what) {
        case wish::mutex: return !std::exchange(locked, true);
        case wish::writer: return for_shared.all.empty() && enters(false);
        case wish::reader: return for_shared.all.empty() && enters(true);
        case wish::permits:
            if (!for_permits.all.empty() || available < w.count) return false;
            available -= w.count;
            return true;
        case wish::once_set: return std::exchange(auto_set, false);
        case wish::while_set: return manual_set;
        case wish::arrives_at_latch: count_down(w.count); return left == 0;
        case wish::counted: return left == 0;
        default: return arrives();
        }
    }
    void compare() const {
        COFLUX_VERIFY(real_permits.available() == available, "%zu permits, not %zu", real_permits.available(),
                      available);
        COFLUX_VERIFY(real_manual.is_set() == manual_set, "the manual_reset_event");
        COFLUX_VERIFY(real_latch.try_wait() == (left == 0), "the latch");
    }
};

void waiter::begins() {
    if (in->at_once(*this)) {
        at = stand::decided;
    } else if (must_wait()) {
        in->of(what).all.push_back(this);
    } else if (what == wish::meets) {
        --in->expected;
    }
}
void waiter::stop() {
    const bool waited = at == stand::waits;
    if (!waited) {
        (void)party::stop();
        return;
    }
    in->of(what).leave(*this);
    if (what == wish::meets) --in->expected;
    if (what == wish::writer || what == wish::reader) in->let_in();
    if (what == wish::permits) in->give(0);
    (void)party::stop();
}
void waiter::give_back() {
    if (lock) {
        if (in->for_mutex.all.empty()) {
            in->locked = false;
        } else {
            in->for_mutex.serve_first();
        }
        lock.reset();
    } else if (write) {
        in->writer = false;
        in->let_in();
        write.reset();
    } else if (read) {
        --in->readers;
        in->let_in();
        read.reset();
    } else if (permit) {
        in->give(count);
        permit.reset();
    }
}

root waits(coflux::environment&, waiter* w) {
    const party::presence here(*w);
    scene& s = *w->in;
    w->begins();
    switch (w->what) {
    case wish::mutex: w->lock.emplace(co_await s.real_mutex.lock()); break;
    case wish::writer: w->write.emplace(co_await s.real_shared.lock()); break;
    case wish::reader: w->read.emplace(co_await s.real_shared.lock_shared()); break;
    case wish::permits: w->permit.emplace(co_await s.real_permits.acquire_guard(w->count)); break;
    case wish::once_set: co_await s.real_auto.wait(); break;
    case wish::while_set: co_await s.real_manual.wait(); break;
    case wish::counted: co_await s.real_latch.wait(); break;
    case wish::arrives_at_latch: co_await s.real_latch.arrive_and_wait(w->count); break;
    case wish::meets: co_await s.real_barrier.arrive_and_wait(); break;
    }
    w->goes_on();
}

class run {
public:
    explicit run(coflux_fuzz::program& p) : program_(p), scene_(p.below(6), p.below(8), p.below(4) + 1) {}

    void steps() {
        for (int i = 0; i < 300 && !program_.ended(); ++i) {
            step();
            scene_.compare();
        }
        end();
    }

private:
    void step() {
        switch (program_.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: begin(); break;
        case 5:
        case 6:
            if (waiter* const w = waiters_.pick(program_.byte())) w->stop();
            break;
        case 7:
        case 8:
            if (waiter* const w = waiters_.pick(program_.byte())) w->give_back();
            break;
        case 9:
            if (scene_.for_auto.all.empty()) {
                scene_.auto_set = true;
            } else {
                scene_.for_auto.serve_first();
            }
            scene_.real_auto.set();
            break;
        case 10:
            scene_.manual_set = program_.coin();
            if (scene_.manual_set) {
                while (!scene_.for_manual.all.empty()) scene_.for_manual.serve_first();
                scene_.real_manual.set();
            } else {
                scene_.real_manual.reset();
            }
            break;
        case 11: {
            if (unarrived() == 0) break;
            const std::size_t n = 1 + program_.byte() % unarrived();
            scene_.count_down(n);
            scene_.real_latch.count_down(n);
            break;
        }
        case 12: tries(); break;
        case 13: {
            const std::size_t n = program_.below(3);
            scene_.give(n);
            scene_.real_permits.release(n);
            break;
        }
        case 14: on_.executor.run_one(program_.byte()); break;
        default: waiters_.run_all(on_); break;
        }
    }
    void begin() {
        if (waiters_.full()) return;
        const wish what = static_cast<wish>(program_.below(9));
        const std::size_t count = program_.below(4);
        if (what == wish::arrives_at_latch && count > unarrived()) return;
        waiter& w = waiters_.add();
        w.in = &scene_;
        w.what = what;
        w.count = count;
        w.coroutine.emplace(waits(on_.env, &w));
    }
    /// The number by which the latch may still be counted down, now that some parties that will do it have begun.
    std::size_t unarrived() const {
        std::size_t promised = 0;
        for (const auto& w : waiters_) {
            if (w->what == wish::arrives_at_latch && w->at == stand::fresh) promised += w->count;
        }
        return scene_.left - promised;
    }
    void tries() {
        waiter probe;
        probe.in = &scene_;
        probe.count = program_.below(4);
        switch (program_.below(5)) {
        case 0: {
            const bool expected = scene_.at_once(probe);
            probe.lock.emplace(scene_.real_mutex.try_lock());
            check_try(static_cast<bool>(*probe.lock), expected);
            if (!expected) probe.lock.reset();
            break;
        }
        case 1: {
            probe.what = wish::writer;
            const bool expected = scene_.at_once(probe);
            probe.write.emplace(scene_.real_shared.try_lock());
            check_try(static_cast<bool>(*probe.write), expected);
            if (!expected) probe.write.reset();
            break;
        }
        case 2: {
            probe.what = wish::reader;
            const bool expected = scene_.at_once(probe);
            probe.read.emplace(scene_.real_shared.try_lock_shared());
            check_try(static_cast<bool>(*probe.read), expected);
            if (!expected) probe.read.reset();
            break;
        }
        case 3: {
            probe.what = wish::permits;
            const bool expected = scene_.at_once(probe);
            probe.permit.emplace(scene_.real_permits.try_acquire_guard(probe.count));
            check_try(static_cast<bool>(*probe.permit), expected);
            if (!expected) probe.permit.reset();
            break;
        }
        default: {
            probe.what = wish::once_set;
            check_try(scene_.real_auto.try_wait(), scene_.at_once(probe));
            break;
        }
        }
        probe.give_back();
    }
    static void check_try(bool got, bool expected) {
        COFLUX_VERIFY(got == expected, "a try_ that %s", got ? "succeeds" : "fails");
    }

    /// Those that wait are stopped, in their order; those that hold something release it.
    void end() {
        while (!on_.executor.idle()) on_.executor.run_one(program_.byte());
        for (const auto& w : waiters_) {
            if (!w->coroutine->done()) w->stop();
        }
        for (bool more = true; more;) {
            waiters_.run_all(on_);
            more = false;
            for (const auto& w : waiters_) {
                more = more || w->holds();
                w->give_back();
            }
        }
        for (const auto& w : waiters_) COFLUX_VERIFY(w->coroutine->done(), "a coroutine still waits");
        COFLUX_VERIFY(!scene_.locked && scene_.readers == 0 && !scene_.writer, "the model");
        COFLUX_VERIFY(static_cast<bool>(scene_.real_mutex.try_lock()), "a mutex is left locked");
        COFLUX_VERIFY(static_cast<bool>(scene_.real_shared.try_lock()), "a shared_mutex is left locked");
        scene_.compare();
    }

    coflux_fuzz::program& program_;
    coflux_fuzz::stage on_;
    scene scene_;
    coflux_fuzz::parties<waiter> waiters_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    coflux_fuzz::program p(bytes, size);
    run r(p);
    r.steps();
    return 0;
}
