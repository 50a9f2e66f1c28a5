// expect: a coroutine needs an environment: make `auto&& env` or `coflux::environment& env` its first parameter
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::fork<int, coflux::noop_executor> twice(coflux::environment&, int x) {
    co_return 2 * x;
}
#else
coflux::fork<int, coflux::noop_executor> twice(int x) {
    co_return 2 * x;
}
#endif
