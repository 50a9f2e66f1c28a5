// expect: coflux: the elements of a generator are objects, or references to objects
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::generator<int> elements();
#else
coflux::generator<void> elements();
#endif

bool none() {
    auto all = elements();
    return all.begin() == all.end();
}
