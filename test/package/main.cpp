// Each consumer builds it: the program of the README's kind, against an installed or embedded Coflux.
#include <coflux/coflux.hpp>

#include <utility>

coflux::fork<int, coflux::thread_pool_executor> twice(auto&& env, int x) {
    co_return 2 * x;
}

coflux::task<int, coflux::thread_pool_executor> sum(auto&& env) {
    auto&& here = co_await coflux::context();
    auto a = twice(here, 1);
    auto b = twice(here, 2);
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    co_return x + y;
}

int main() {
    coflux::thread_pool_executor pool{2};
    auto env = coflux::make_environment(pool);
    return sum(env).get() - 6;
}
