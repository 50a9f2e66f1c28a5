// A block that is stopped while an operation that it gives a call of its scope begins: the call uses the block's frame.
#include <coflux/scope/with_scope.hpp>

#include <chrono>
#include <cstddef>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::call<int> stops_all_and_goes_on(coflux::environment&, coflux::environment& all, int& ends) {
    all.request_stop();
    co_await coflux::shielded(coflux::sleep_for(1ms));
    co_return ++ends;
}

coflux::call<void> block(coflux::task_scope& scope, coflux::environment& all, std::size_t k, int& ended) {
    int ends = 0;
    struct tells {
        const int& ends;
        int& ended;
        ~tells() { ended = ends; }
    } const last{ends, ended};
    if (k == 0) {
        (void)co_await coflux::timeout(stops_all_and_goes_on(scope, all, ends), 1h);
    } else if (k == 1) {
        (void)co_await coflux::when_all(stops_all_and_goes_on(scope, all, ends));
    } else if (k == 2) {
        (void)co_await coflux::when_all_outcomes(stops_all_and_goes_on(scope, all, ends));
    } else if (k == 3) {
        (void)co_await coflux::when_any(stops_all_and_goes_on(scope, all, ends), coflux::sleep_for(1h));
    } else {
        (void)co_await coflux::select(stops_all_and_goes_on(scope, all, ends), coflux::sleep_for(1h));
    }
}

coflux::fork<void, pool> has_a_scope(coflux::environment&, borrowed<coflux::environment> all, std::size_t k,
                                     borrowed<int> ended) {
    auto&& here = co_await coflux::context();
    const auto blocks = [&](coflux::task_scope& scope) { return block(scope, *all, k, *ended); };
    co_await coflux::with_scope(here, blocks);
}

coflux::task<int, pool> ends_before_the_block(coflux::environment&, std::size_t k) {
    auto&& here = co_await coflux::context();
    auto all = coflux::make_environment(here);
    int ended = 0;
    (void)co_await coflux::as_outcome(has_a_scope(all, borrowed<coflux::environment>(all), k, borrowed(ended)));
    co_await all.join();
    co_return ended;
}

TEST(with_scope_stopped, a_call_of_the_scope_ends_before_the_block_that_gave_it_to_an_operation) {
    pool threads{1};
    auto env = coflux::make_environment(threads);
    for (std::size_t k = 0; k != 5; ++k) EXPECT_EQ(ends_before_the_block(env, k).get(), 1) << k;
}

}  // namespace
