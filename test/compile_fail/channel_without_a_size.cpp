// expect: coflux: a channel says how many values it holds
#include <coflux/coflux.hpp>

void makes() {
#ifdef COFLUX_GOOD
    coflux::channel<int[1]> ch;
#else
    coflux::channel<int> ch;
#endif
}
