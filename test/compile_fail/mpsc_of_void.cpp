// expect: coflux: a queue carries objects that move and end without throwing
#include <coflux/coflux.hpp>

void makes() {
#ifdef COFLUX_GOOD
    auto [to, from] = coflux::make_mpsc<int>(3);
#else
    auto [to, from] = coflux::make_mpsc<void>(3);
#endif
}
