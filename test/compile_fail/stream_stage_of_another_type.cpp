// expect: coflux: the function of filter() takes the flow's value as const T& or T, and gives a bool
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::filter([](int n) {
                                           return n > 1;
                                       }) | coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) |
                                           coflux::stream::filter([](const std::vector<int>& n) { return n.empty(); }) |
                                           coflux::stream::to(sink));
#endif
}
