// A select that a stopped case stops, beside cases that have not begun.
#include <coflux/channel/select.hpp>

#include <chrono>
#include <cstddef>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using bounded = coflux::channel<int[1]>;

coflux::call<int> yields(coflux::environment&) {
    co_await coflux::yield();
    co_return 1;
}

coflux::call<void> selects(coflux::environment&, std::size_t k, borrowed<bounded> ch) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    if (k == 0) {
        (void)co_await coflux::select(yields(here), yields(sub));
    } else if (k == 1) {
        (void)co_await coflux::select(yields(sub), yields(sub), ch->receive());
    } else {
        (void)co_await coflux::select(yields(sub), ch->receive(), coflux::sleep_for(std::chrono::nanoseconds(0)));
    }
}

coflux::task<bool, pool> is_stopped(coflux::environment&, std::size_t k) {
    auto&& here = co_await coflux::context();
    bounded ch;
    for (std::size_t i = 2; i < k; ++i) {  // so that the next select begins with another case
        (void)co_await coflux::select(ch.receive(), coflux::otherwise);
    }
    auto stopped = coflux::make_environment(here);
    stopped.request_stop();
    const auto end = co_await coflux::as_outcome(selects(stopped, k, borrowed(ch)));
    co_await stopped.join();
    co_return end.is_stopped();
}

/// The environment objects of the coroutine are joined before the cases die. One of them counts what was made in it for
/// a case.
TEST(select_unbegun, is_not_waited_for_by_an_environment_object_that_the_stop_joins) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    for (std::size_t k = 0; k != 6; ++k) EXPECT_TRUE(is_stopped(env, k).get()) << k;
}

}  // namespace
