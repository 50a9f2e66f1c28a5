// Coroutines that other threads give to a serial executor: src/executor/detail/intake.hpp and the parker as they are. A
// strand's turn and the loop of a worker are those of strand_state and of serial_loop in short form: a strand has no
// queue of its own here, and a worker parks without a deadline, so that a wake-up that is lost is a deadlock or a
// livelock. The search of all interleavings does not end, because threads spin for the lock.
#include "../../src/executor/detail/intake.hpp"

#include <memory>

#include "support/model.hpp"
#include "support/model_parker.hpp"

namespace {

using coflux::detail::atomic;
using coflux::detail::intake;
using coflux::detail::memory_order_acq_rel;
using coflux::detail::memory_order_acquire;
using coflux::detail::memory_order_relaxed;
using coflux::detail::memory_order_release;
using coflux::detail::os::parker;
using coflux::model::plain;

struct item {
    plain<int> made{0};
    int ran = 0;
};

/// Items, and what running one means.
template <unsigned Threads, int Items>
struct of_items : coflux::model::scenario<Threads> {
    item items[Items];
    plain<int> inside{0};  // how many run
    int order[Items]{};    // which one ran when
    int runs = 0;
    // How many have ended; release pairs with the acquire of the thread that waits for it.
    atomic<int> ended{0};

    std::coroutine_handle<> make(int i) {
        items[i].made.set(1);
        return std::coroutine_handle<>::from_address(&items[i]);
    }
    void run(std::coroutine_handle<> h) {
        item& it = *static_cast<item*>(h.address());
        MODEL_CHECK(inside.get() == 0);
        inside.set(1);
        MODEL_CHECK(it.made.get() == 1);
        MODEL_CHECK(++it.ran == 1);
        order[runs++] = static_cast<int>(&it - items);
        inside.set(0);
        ended.fetch_add(1, memory_order_acq_rel);
    }
    [[nodiscard]] bool came_before(int first, int second) const {
        for (const int i : order) {
            if (i == first || i == second) return i == first;
        }
        return false;
    }
    void after() override {
        for (const item& it : items) MODEL_CHECK(it.ran == 1);
    }
};

// --- strands ---------------------------------------------------------------------------------------------------------

/// A strand over an executor that runs its turns on `Runners` threads.
template <unsigned Runners, unsigned Others, int Items>
struct of_strand : of_items<Runners + Others, Items> {
    intake queue;
    bool ends = false;  // as strand_state::ends_
    plain<int> alive{1};
    // Turns that the executor below has; acq_rel as its queue orders them.
    atomic<int> turns{0};
    // 1: the strand is freed, and all has run. release pairs with the acquire of the runners.
    atomic<int> freed{0};

    void execute(int i) {
        MODEL_CHECK(alive.get() == 1);
        if (queue.push(this->make(i), false)) post_turn();
    }
    void post_turn() { MODEL_CHECK(turns.fetch_add(1, memory_order_acq_rel) == 0); }
    /// A round of one resumption.
    void turn() {
        MODEL_CHECK(alive.get() == 1);
        if (const auto h = queue.take()) this->run(h);
        bool last = false;
        if (queue.has_some() || !queue.rest([&]() noexcept { last = ends; })) return post_turn();
        if (last) free();
    }
    void end() {
        const bool is_last = queue.with_lock([&](bool rests) noexcept {
            ends = true;
            return rests;
        });
        if (is_last) free();
    }
    void free() {
        MODEL_CHECK(alive.get() == 1);
        alive.set(0);
        MODEL_CHECK(freed.fetch_add(1, memory_order_acq_rel) == 0);
    }
    void await(int count) {
        while (this->ended.load(memory_order_acquire) < count) coflux::detail::cpu_pause();
    }
    void serve() {
        while (freed.load(memory_order_acquire) == 0) {
            int some = turns.load(memory_order_relaxed);
            if (some != 0 &&
                turns.compare_exchange_strong(some, some - 1, memory_order_acq_rel, memory_order_relaxed)) {
                turn();
            } else {
                coflux::detail::cpu_pause();
            }
        }
    }
    virtual void other(unsigned index) = 0;
    void thread(unsigned index) override {
        if (index < Runners) {
            serve();
        } else {
            other(index - Runners);
        }
    }
    void after() override {
        MODEL_CHECK(freed.load(memory_order_relaxed) == 1);
        MODEL_CHECK(turns.load(memory_order_relaxed) == 0);
        of_items<Runners + Others, Items>::after();
    }
};

/// The handle dies while what was posted is queued, runs, or has run.
struct handle_dies : of_strand<1, 1, 2> {
    void other(unsigned) override {
        execute(0);
        execute(1);
        coflux::model::wait_a_while(60);
        end();
    }
    void after() override {
        of_strand::after();
        MODEL_CHECK(came_before(0, 1));
    }
};

/// The next turn runs on another thread while the last one goes to rest; the handle dies when all has run.
struct turns_of_two_threads : of_strand<2, 1, 2> {
    void other(unsigned) override {
        execute(0);
        await(1);
        execute(1);
        await(2);
        end();
    }
};

struct two_posters : of_strand<1, 2, 2> {
    atomic<int> done{0};
    void other(unsigned index) override {
        execute(static_cast<int>(index));
        if (done.fetch_add(1, memory_order_acq_rel) == 1) {
            await(2);
            end();
        }
    }
};

// --- workers and loops -----------------------------------------------------------------------------------------------

/// A thread that parks when there is nothing, and whose executor is destroyed when all has run.
template <unsigned Others, int Items>
struct of_worker : of_items<Others + 1, Items> {
    intake queue;
    parker own;
    plain<int> alive{1};
    // 1: leave, whatever is queued; as run_loop_state::stop_asked_.
    atomic<int> stop_asked{0};

    void execute(int i) {
        if (!queue.push(this->make(i), true)) return;
        MODEL_CHECK(alive.get() == 1);
        own.unpark();
        queue.roused();
    }
    void stop() {
        queue.begin_to_rouse();
        stop_asked.store(1, memory_order_release);
        MODEL_CHECK(alive.get() == 1);
        own.unpark();
        queue.roused();
    }
    template <typename GoesOn>
    void serve(GoesOn goes_on) {
        queue.attend();
        while (goes_on()) {
            if (const auto h = queue.take()) {
                this->run(h);
                continue;
            }
            if (!queue.rest()) continue;
            own.park_until(parker::never);
            queue.attend();
        }
        queue.wait_for_rousers();
        alive.set(0);
    }
    virtual void other(unsigned index) = 0;
    void thread(unsigned index) override {
        if (index == 0) {
            serve([this] { return this->runs < Items && stop_asked.load(memory_order_acquire) == 0; });
        } else {
            other(index - 1);
        }
    }
};

struct worker_of_one_poster : of_worker<1, 2> {
    void other(unsigned) override {
        execute(0);
        execute(1);
    }
    void after() override {
        of_worker::after();
        MODEL_CHECK(came_before(0, 1));
    }
};
struct worker_of_two_posters : of_worker<2, 2> {
    void other(unsigned index) override { execute(static_cast<int>(index)); }
};
/// Each thread waits for the other one.
struct ping : of_worker<1, 2> {
    void other(unsigned) override {
        execute(0);
        while (ended.load(memory_order_acquire) < 1) coflux::detail::cpu_pause();
        execute(1);
    }
};
struct stopped : of_worker<1, 1> {
    void other(unsigned) override { stop(); }
    void after() override {}
};

/// More than it has room for: one grows it while another pushes or the taker takes.
struct grows : of_items<3, 18> {
    static constexpr int first = 15;
    intake queue;

    void before() override {
        for (int i = 0; i < first; ++i) (void)queue.push(make(i), false);
    }
    void thread(unsigned index) override {
        if (index == 0) {
            if (const auto h = queue.take()) run(h);
        } else if (index == 1) {
            (void)queue.push(make(first), false);
            (void)queue.push(make(first + 1), false);
        } else {
            (void)queue.push(make(first + 2), false);
        }
    }
    void after() override {
        while (const auto h = queue.take()) run(h);
        MODEL_CHECK(queue.rest());
        of_items::after();
        for (int i = 0; i < first; ++i) MODEL_CHECK(order[i] == i);
        MODEL_CHECK(came_before(first, first + 1));
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(
        count, arguments, "intake", "what other threads give to a serial executor, and how it rests",
        {
            sampled<handle_dies>("handle_dies", "a strand's handle dies with what is queued, or after its turn"),
            sampled<turns_of_two_threads>("turns_of_two_threads", "a strand's turn goes to rest beside the next one"),
            sampled<two_posters>("two_posters", "one of two posters has the strand's turn posted"),
            sampled<worker_of_one_poster>("worker_of_one_poster", "a worker looks, rests, parks, is roused"),
            sampled<worker_of_two_posters>("worker_of_two_posters", "one of two posters rouses the worker"),
            sampled<ping>("ping", "a worker is roused again and again, and ends after the last time"),
            sampled<stopped>("stopped", "a loop ends while the call that stopped it returns"),
            sampled<grows>("grows", "the queue grows while others push and take"),
        });
}
