// expect-warning: nothing is submitted until this is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::shard> root(coflux::environment&, coflux::sharded<int>* all) {
#ifdef COFLUX_GOOD
    co_await all->invoke_on(0, [](int& n) { ++n; });
#else
    all->invoke_on(0, [](int& n) { ++n; });
    co_return;
#endif
}
