// expect: coflux: a flow goes through stages: map(f), filter(f), tap(f) or flat_map<U>(f) say what a function does
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) |
                                           coflux::stream::map([](int n) { return n + 1; }) | coflux::stream::to(sink));
#else
    co_await coflux::stream::run(
        here, coflux::stream::from(numbers) | [](int n) { return n + 1; } | coflux::stream::to(sink));
#endif
}
