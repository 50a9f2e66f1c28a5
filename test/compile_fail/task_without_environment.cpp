// expect: only a call may leave its environment out, because its awaiter gives it one: make `auto&& env` or
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::call<int> twice(int x) {
    co_return 2 * x;
}
#else
coflux::task<int, coflux::noop_executor> twice(int x) {
    co_return 2 * x;
}
#endif
