// expect: coflux: a queue carries objects that move and end without throwing
#include <coflux/coflux.hpp>

void makes() {
#ifdef COFLUX_GOOD
    auto [to, from] = coflux::make_oneshot<int>();
#else
    auto [to, from] = coflux::make_oneshot<int&>();
#endif
}
