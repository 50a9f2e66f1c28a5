// expect: a fork or task must own its parameters: take them by value, or say coflux::borrowed<T>; references belong in a call
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::fork<int, coflux::noop_executor> twice(coflux::environment&, coflux::borrowed<const int> x) {
    co_return 2 * *x;
}
#else
coflux::fork<int, coflux::noop_executor> twice(coflux::environment&, const int& x) {
    co_return 2 * x;
}
#endif
