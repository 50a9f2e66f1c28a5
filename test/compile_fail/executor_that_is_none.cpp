// expect: the second argument of fork is not an executor
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
using runs_on = coflux::noop_executor;
#else
struct runs_on {};
#endif

coflux::fork<int, runs_on> one(coflux::environment&) {
    co_return 1;
}
