// expect-warning: the value that has come is lost: use the result
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::delay_queue<int> due;
#ifdef COFLUX_GOOD
    while (auto value = co_await due.pop()) {}
#else
    co_await due.pop();
#endif
}
