// expect: map_reduce reduces what map gives: use invoke_on_all
#include <coflux/coflux.hpp>

coflux::task<int, coflux::shard> root(coflux::environment&, coflux::sharded<int>* all) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_return co_await all->map_reduce(here, [](int& n) { return n; }, 0, [](int a, int b) { return a + b; });
#else
    co_return co_await all->map_reduce(here, [](int& n) { ++n; }, 0, [](int a, int b) { return a + b; });
#endif
}
