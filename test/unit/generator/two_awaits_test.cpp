// Several awaits in one expression. Where results are taken late (COFLUX_LATE_RESULTS), all are completed before the first
// result that is no object of a class is taken; where that throws, the element that the other awaits got is never looked at.
#include <coflux/generator/async_generator.hpp>

#include <stdexcept>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"

namespace {

using coflux::async_generator;
using coflux_test::manual_executor;

async_generator<int> count(auto&&, int last) {
    for (int i = 0; i < last; ++i) co_yield i;
}
coflux::fork<int, manual_executor> fails(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("first");
}
coflux::call<int> adds_an_element(coflux::environment&, async_generator<int>& from) {
    coflux::environment& here = co_await coflux::context();
    auto first = fails(here);
    co_return co_await std::move(first) << *co_await from.next();
}
coflux::task<int, manual_executor> adds_and_goes_on(coflux::environment&) {
    coflux::environment& here = co_await coflux::context();
    auto numbers = count(here, 3);
    bool failed = false;
    try {
        (void)co_await adds_an_element(here, numbers);
    } catch (const std::runtime_error&) {
        failed = true;
    }
    EXPECT_TRUE(failed);
    int sum = 0;
    while (const int* const x = co_await numbers.next()) sum += *x;
    co_return sum;
}

TEST(two_awaits, of_which_the_first_fails_let_a_generator_go_on) {
    manual_executor by_hand;
    auto env = coflux::make_environment(by_hand);
    auto t = adds_and_goes_on(env);
    by_hand.run_all();
    EXPECT_EQ(t.get(), 3) << "clang has not asked for the first, which is 0";
}

}  // namespace
