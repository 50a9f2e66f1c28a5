// expect-warning: nothing is generated until it is awaited
#include <coflux/coflux.hpp>

coflux::call<void> skip_one(coflux::environment&, coflux::async_generator<int>& of) {
#ifdef COFLUX_GOOD
    (void)co_await of.next();
#else
    of.next();
#endif
    co_return;
}
