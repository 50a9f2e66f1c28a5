#include <coflux/coflux.hpp>

#include <cstdio>

using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> twice(coflux::environment&, int x) {
    co_return 2 * x;
}

coflux::task<int, pool> sum(coflux::environment&) {
    auto&& here = co_await coflux::context();  // this coroutine, as environment of its children
    auto a = twice(here, 1);                   // starts now, on the pool
    auto b = twice(here, 2);
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    co_return x + y;
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    std::printf("%d\n", sum(env).get());
}
