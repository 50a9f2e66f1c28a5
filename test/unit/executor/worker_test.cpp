#include <coflux/executor/worker.hpp>

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using coflux::worker_executor;
using coflux::worker_group;

coflux::fork<void, worker_executor> notes(coflux::environment&, std::vector<int>* order, int number) {
    order->push_back(number);
    co_return;
}
coflux::task<void, worker_executor> makes_three(coflux::environment&, std::vector<int>* order) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 3; ++i) notes(here, order, i).attach();
    order->push_back(-1);
}

TEST(worker, runs_what_its_coroutines_make_in_the_order_in_which_they_make_it) {
    worker_executor on;
    auto env = coflux::make_environment(on);
    std::vector<int> order;
    makes_three(env, &order).get();
    EXPECT_EQ(order, (std::vector<int>{-1, 0, 1, 2}));
}

using group = worker_group<2>;

template <std::size_t I>
coflux::fork<std::thread::id, group::worker<I>> where(coflux::environment&) {
    co_return std::this_thread::get_id();
}
coflux::task<void, group::worker<0>> looks_around(coflux::environment&) {
    auto&& here = co_await coflux::context();
    EXPECT_EQ(co_await where<0>(here), std::this_thread::get_id());
    EXPECT_NE(co_await where<1>(here), std::this_thread::get_id());
}

TEST(worker_group, runs_a_fork_on_the_worker_that_its_type_names) {
    group workers;
    auto env = coflux::make_environment(workers.get<0>(), workers.get<1>());
    looks_around(env).get();
}

}  // namespace
