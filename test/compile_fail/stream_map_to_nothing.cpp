// expect: coflux: the function of map() gives the value that goes on; tap(f) is for one that gives none
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::tap([](int) {}) |
                                           coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::map([](int) {}) |
                                           coflux::stream::to(sink));
#endif
}
