// expect: a lambda with captures cannot be a fork or task: the captures die before the coroutine does; pass them as parameters
#include <coflux/coflux.hpp>

int run(int x) {
    auto env = coflux::make_environment(coflux::noop_executor{});
#ifdef COFLUX_GOOD
    return [](auto&&, int value) -> coflux::task<int, coflux::noop_executor> { co_return 2 * value; }(env, x).get();
#else
    return [&x](auto&&) -> coflux::task<int, coflux::noop_executor> { co_return 2 * x; }(env).get();
#endif
}
