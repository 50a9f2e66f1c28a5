// A pinned pool: where its thieves look first.
#include <coflux/executor/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <latch>
#include <string>
#include <thread>

#include <pthread.h>
#include <sched.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "watchdog.hpp"

namespace {

using pool = coflux::thread_pool_executor;

constexpr int forks_each = 16;

struct shared {
    std::latch all_here{3};
    std::atomic<int> makers_ready{0};
    std::array<int, 2 * forks_each> maker{};  // of the forks, in the order in which they ran
    std::atomic<int> ran{0};
};

int number_of_worker() {
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::string text = name;
    return std::stoi(text.substr(text.find('-') + 1));
}

void wait_until(std::atomic<int>& value, int wanted) {
    for (int now = value.load(); now != wanted; now = value.load()) value.wait(now);
}

coflux::fork<void, pool> runs(coflux::environment&, shared* all, int maker) {
    all->maker[static_cast<std::size_t>(all->ran.load())] = maker;
    ++all->ran;
    all->ran.notify_all();
    co_return;
}

/// One on each worker. Workers 0 and 1 leave forks in their queues and block until all have run.
coflux::task<void, pool> on_a_worker(coflux::environment&, shared* all) {
    auto&& here = co_await coflux::context();
    all->all_here.arrive_and_wait();
    const int number = number_of_worker();
    if (number == 2) {
        wait_until(all->makers_ready, 2);
    } else {
        for (int i = 0; i < forks_each; ++i) runs(here, all, number).attach();
        ++all->makers_ready;
        all->makers_ready.notify_all();
        wait_until(all->ran, 2 * forks_each);
    }
}

void may_use(unsigned one, unsigned other) {
    cpu_set_t both;
    CPU_ZERO(&both);
    CPU_SET(one, &both);
    CPU_SET(other, &both);
    ASSERT_EQ(sched_setaffinity(0, sizeof both, &both), 0);
}

// Three workers on two processors: the third is where the first is, and steals all that
// one has before it goes to the other.
TEST(pinned_thread_pool, steals_from_near_workers_first) {
    const coflux::topology& machine = coflux::topology::of_this_process();
    const unsigned first = machine.binding_order().front();
    unsigned far = first;
    for (const auto& p : machine.processors()) {
        if (machine.distance(first, p.number) > machine.distance(first, far)) far = p.number;
    }
    if (far == first) GTEST_SKIP() << "one core";
    const coflux_test::watchdog guard("a thief with two victims");
    shared all;
    std::thread([&] {
        may_use(first, far);
        // With free pops the thief would take what the far one has shared before what is private to the near one.
        pool p(coflux::thread_pool_options{
            .threads = 3, .name = "near", .pin = true, .pops = coflux::pop_order::by_owner});
        auto env = coflux::make_environment(p);
        auto a = on_a_worker(env, &all);
        auto b = on_a_worker(env, &all);
        auto c = on_a_worker(env, &all);
        a.join();
        b.join();
        c.join();
    }).join();
    std::array<int, 2 * forks_each> wanted{};
    std::fill(wanted.begin() + forks_each, wanted.end(), 1);
    EXPECT_EQ(all.maker, wanted);
}

}  // namespace
