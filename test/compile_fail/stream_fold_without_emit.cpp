// expect: coflux: the function of fold<State, U>() takes State&, the flow's value as const T& or T
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(
        here, coflux::stream::from(numbers) | coflux::stream::to_one() |
                  coflux::stream::fold<int, int>([](int& sum, int n, const auto& emit) { emit(sum += n); }) |
                  coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to_one() |
                                           coflux::stream::fold<int, int>([](int& sum, int n) { sum += n; }) |
                                           coflux::stream::to(sink));
#endif
}
