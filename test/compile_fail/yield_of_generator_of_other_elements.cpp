// expect: coflux: co_yield of a generator needs one with the same elements: write co_yield coflux::elements_of(sub)
#include <coflux/coflux.hpp>

coflux::generator<int> sub() {
    co_yield 1;
}

coflux::generator<long> elements() {
#ifdef COFLUX_GOOD
    co_yield coflux::elements_of(sub());
#else
    co_yield sub();
#endif
}
