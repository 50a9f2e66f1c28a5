// expect: what is submitted to a shard is called without arguments
#include <coflux/coflux.hpp>

coflux::task<int, coflux::shard> root(coflux::environment&, coflux::shard_group* shards) {
#ifdef COFLUX_GOOD
    co_return co_await shards->submit_to(0, [] { return 1; });
#else
    co_return co_await shards->submit_to(0, [](int n) { return n; });
#endif
}
