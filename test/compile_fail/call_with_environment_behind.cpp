// expect: the environment of a call is its first parameter: put it in front, or leave it out
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::call<int> twice(int x) {
    co_return 2 * x;
}
#else
coflux::call<int> twice(int x, coflux::environment&) {
    co_return 2 * x;
}
#endif
