// No more than the other side allows: two requests at once, and one more each two milliseconds.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> asks(coflux::environment&, borrowed<coflux::rate_limiter> limit, int times) {
    for (int i = 0; i != times; ++i) {
        co_await limit->acquire();  // in the order in which they come; a stop gives the place back
        co_await coflux::yield();   // the request itself
    }
}

coflux::task<void, pool> asks_within_the_limit(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::rate_limiter limit(500, 1s, 2);
    const auto begin = coflux::clock::now();
    const auto ask = [&limit](coflux::task_scope& scope) -> coflux::call<void> {
        co_await coflux::when_all(asks(scope, borrowed(limit), 3), asks(scope, borrowed(limit), 4));
    };
    co_await coflux::with_scope(here, ask);
    const auto took = coflux::clock::now() - begin;
    std::printf("7 requests, %s\n", took < 10ms ? "too fast" : "none too early");

    // One that must not wait is refused instead.
    coflux::rate_limiter rare(1, 1h, 1);
    const bool first = rare.try_acquire();
    const bool second = rare.try_acquire();
    std::printf("%s, %s\n", first ? "taken" : "refused", second ? "taken" : "refused");

    // And one that waits no longer than it is worth.
    const bool in_time = co_await coflux::timeout(rare.acquire(), 1ms);
    std::printf("%s\n", in_time ? "taken" : "given up");
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    asks_within_the_limit(env).get();
}
