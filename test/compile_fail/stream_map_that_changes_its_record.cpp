// expect: the function of map() takes the flow's value as const T& or T
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    const auto doubled = [](int value) { return 2 * value; };
#else
    const auto doubled = [](int& value) { return value *= 2; };
#endif
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::map(doubled) |
                                           coflux::stream::to(sink));
}
