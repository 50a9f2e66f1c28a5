// Coroutines of the library on model threads: the executors that they run on, and what holds in each interleaving.
#pragma once

#include <coroutine>
#include <cstddef>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/thread/transfer.hpp>
#include <coflux/core/make_environment.hpp>

#include "core/detail/wait/stop_walk.hpp"

#include "../../support/model.hpp"
#include "model_memory.hpp"

namespace coflux::model {

/// An executor that model threads serve. A posted coroutine is run by one of those that call run_one(), in any order. A
/// post orders what came before it before what is posted, and nothing else: the bookkeeping is not atomic and belongs
/// to the model.
class bag_executor {
public:
    bag_executor() = default;
    bag_executor(const bag_executor&) = delete;
    bag_executor& operator=(const bag_executor&) = delete;

    void execute(std::coroutine_handle<> h) noexcept {
        if (posted_ == most) std::abort();  // a scenario that is too large
        const std::size_t mine = posted_++;
        places_[mine].handle = h;
        places_[mine].sync.store(1, detail::memory_order_release);
        places_[mine].ready = true;
    }
    /// Runs one of those that were posted; false if there is none.
    bool run_one() noexcept {
        for (std::size_t i = 0; i != posted_; ++i) {
            place& p = places_[i];
            if (!p.ready) continue;
            p.ready = false;
            // Else what was posted one after the other would run one after the other, and rarely meet.
            wait_a_while(24);
            (void)p.sync.exchange(2, detail::memory_order_acquire);
            detail::run(p.handle);
            return true;
        }
        return false;
    }

private:
    static constexpr std::size_t most = 24;
    struct place {
        std::coroutine_handle<> handle;
        detail::atomic<int> sync{0};
        bool ready = false;
    };
    place places_[most];
    std::size_t posted_ = 0;
};

/// Serves `executors` until done() says so.
template <typename Done, typename... Executors>
void serve(Done done, Executors&... executors) noexcept {
    while (!done()) {
        if (!(executors.run_one() || ...)) detail::cpu_pause();
    }
}

struct begins_memory {
    begins_memory() noexcept { begin_memory(); }
};

/// The counts of stops begin before the threads: each of these may be the first that uses them.
struct begins_stops {
    begins_stops() {
        (void)detail::stop_requests.load(detail::memory_order_relaxed);
        (void)detail::standing_stops.load(detail::memory_order_relaxed);
        (void)detail::effort_of_stops.steps.load(detail::memory_order_relaxed);
        (void)detail::effort_of_stops.looks.load(detail::memory_order_relaxed);
    }
};

/// A scenario of coroutines: Derived::run(i) is what thread i does, and Derived::holds() looks at what came out of it.
/// Nothing is left alive.
template <typename Derived, unsigned Threads>
struct coroutine_scenario : scenario<Threads>, begins_memory, begins_stops {
    void thread(unsigned i) override {
        detail::this_thread = {};
        static_cast<Derived&>(*this).run(i);
    }
    void after() override {
        static_cast<Derived&>(*this).holds();
        MODEL_CHECK(living_blocks() == 0);  // no frame and no record is left
    }
    void holds() {}
};

/// The form of most scenarios: a root on a pool that all threads serve. Thread 0 makes it, and holds its handle to the
/// end.
struct root_on_pool {
    bag_executor pool;
    bool over = false;

    /// One step of a thread that serves; false if there was nothing to do.
    virtual bool run_one() noexcept { return pool.run_one(); }

    /// `make(env)` gives the task; `meanwhile(task, env)` is what thread 0 does besides.
    template <typename Make, typename Meanwhile>
    void run_root(Make make, Meanwhile meanwhile) {
        const void* made = nullptr;
        std::size_t bytes = 0;
        {
            auto env = make_environment(pool);
            made = &env;
            bytes = sizeof env;
            auto root = make(env);
            meanwhile(root, env);
            serve([&] { return root.done(); }, *this);
        }
        forget(made, bytes);  // it is gone, and its last use must have come before
        over = true;
    }
    template <typename Make>
    void run_root(Make make) {
        run_root(make, [](auto&, auto&) {});
    }
    void help() {
        serve([this] { return over; }, *this);
    }

protected:
    ~root_on_pool() = default;
};

}  // namespace coflux::model
