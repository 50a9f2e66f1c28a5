// expect: coflux: an environment that is const cannot own children
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
#else
coflux::fork<int, coflux::noop_executor> one(const coflux::environment&) {
#endif
    co_return 1;
}
