// Makers that several of these tests hand to a suite.
#pragma once

#include <coflux/executor/run_loop.hpp>
#include <coflux/executor/strand.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/executor/worker.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux_test {

template <typename Subject>
struct fresh {
    Subject operator()() const { return Subject(); }
};

/// An executor with the world that it lives in.
struct simulated {
    static constexpr bool one_thread_only = true;
    coflux::testing::random_chooser random{7};
    coflux::testing::simulation sim{random};
    coflux::testing::sim_executor on{sim};

    coflux::testing::sim_executor& executor() noexcept { return on; }
    void drive() { sim.run(); }
};

/// A priority of a pool, with the pool.
template <coflux::priority Level>
struct priority_of_pool {
    coflux::thread_pool_executor threads{2};
    coflux::prioritised<Level> on = threads.at<Level>();

    auto& executor() noexcept { return on; }
};

/// Executors that run one coroutine at a time, with those below them.
struct strand_of_pool {
    coflux::thread_pool_executor threads{2};
    coflux::strand<coflux::thread_pool_executor> on{threads};

    auto& executor() noexcept { return on; }
};
struct strand_of_priority {
    priority_of_pool<coflux::priority::high> below;
    coflux::strand<coflux::prioritised<coflux::priority::high>> on{below.on};

    auto& executor() noexcept { return on; }
};
struct strand_of_strand {
    strand_of_pool below;
    coflux::strand<coflux::strand<coflux::thread_pool_executor>> on{below.on};

    auto& executor() noexcept { return on; }
};
struct strand_of_worker {
    coflux::worker_executor worker;
    coflux::strand<coflux::worker_executor> on{worker};

    auto& executor() noexcept { return on; }
};
struct worker_of_group {
    coflux::worker_group<2> group;
    coflux::worker_group<2>::worker<1> on = group.get<1>();

    auto& executor() noexcept { return on; }
};
struct driven_loop {
    coflux::run_loop loop;

    coflux::run_loop& executor() noexcept { return loop; }
    void drive() {
        while (loop.poll() != 0) {}
    }
};
struct strand_of_loop {
    coflux::run_loop loop;
    coflux::strand<coflux::run_loop> on{loop};

    auto& executor() noexcept { return on; }
    void drive() {
        while (loop.poll() != 0) {}
    }
};
struct strand_of_simulated {
    simulated below;
    coflux::strand<coflux::testing::sim_executor> on{below.on};
    static constexpr bool one_thread_only = true;

    auto& executor() noexcept { return on; }
    void drive() { below.drive(); }
};

}  // namespace coflux_test
