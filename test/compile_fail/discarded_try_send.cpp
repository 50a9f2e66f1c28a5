// expect-warning: it was not sent
#include <coflux/coflux.hpp>

void f(coflux::mpsc_sender<int>& tx) {
#ifdef COFLUX_GOOD
    if (!tx.try_send(1)) tx.close();
#else
    tx.try_send(1);
#endif
}
