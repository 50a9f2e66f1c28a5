// expect: this handle can be awaited once
#include <coflux/coflux.hpp>

coflux::task<int, coflux::shard> root(coflux::environment&, coflux::shard_group* shards) {
#ifdef COFLUX_GOOD
    co_return co_await shards->submit_to(0, [] { return 1; });
#else
    auto asked = shards->submit_to(0, [] { return 1; });
    co_return co_await asked;
#endif
}
