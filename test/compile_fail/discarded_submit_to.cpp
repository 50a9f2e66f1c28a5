// expect-warning: nothing is submitted until this is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::shard> root(coflux::environment&, coflux::shard_group* shards) {
#ifdef COFLUX_GOOD
    co_await shards->submit_to(0, [] {});
#else
    shards->submit_to(0, [] {});
    co_return;
#endif
}
