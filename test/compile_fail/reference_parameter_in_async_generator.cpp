// expect: coflux: an async_generator must own its parameters
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::async_generator<int> lend(coflux::environment&, coflux::borrowed<int> from) {
    co_yield *from;
}
#else
coflux::async_generator<int> lend(coflux::environment&, int& from) {
    co_yield from;
}
#endif
