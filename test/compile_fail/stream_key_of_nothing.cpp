// expect: coflux: by_key() needs a key that has a hash and can be compared
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::by_key([](int n) { return n; }) |
                                           coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::by_key([](int) {}) |
                                           coflux::stream::to(sink));
#endif
}
