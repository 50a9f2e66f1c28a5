// A library that has a pool of its own, for a program that knows nothing of Coflux.
#include <chrono>

#include <coflux/coflux.hpp>

namespace {

using pool = coflux::thread_pool_executor;
using namespace std::chrono_literals;

coflux::fork<long, pool> fib(coflux::environment&, int n) {
    if (n < 2) co_return n;
    auto&& here = co_await coflux::context();
    auto a = fib(here, n - 1);
    const long b = co_await fib(here, n - 2);
    co_return co_await std::move(a) + b;
}
coflux::fork<int, pool> waits(coflux::environment&) {
    co_await coflux::sleep_for(1h);
    co_return 0;
}
coflux::task<long, pool> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const long leaves = co_await fib(here, 15);
    const bool in_time = (co_await coflux::timeout(waits(here), 1ms)).has_value();
    co_return in_time ? -1 : leaves;
}

}  // namespace

extern "C" long compute() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    return root(env).get();
}
