// expect: a lambda with captures cannot be a fork or task: the captures die before the coroutine does; pass them as parameters
#include <coflux/coflux.hpp>

void start(coflux::environment& env, int x) {
#ifdef COFLUX_GOOD
    auto twice = [](coflux::environment&, int value) -> coflux::fork<int, coflux::noop_executor> {
        co_return 2 * value;
    };
    twice(env, x).attach();
#else
    auto twice = [x](coflux::environment&) -> coflux::fork<int, coflux::noop_executor> { co_return 2 * x; };
    twice(env).attach();
#endif
}
