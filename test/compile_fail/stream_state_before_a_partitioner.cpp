// expect: a stage with a state comes behind a partitioner, which says whose state it is
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sums;
    const auto add = [](int& sum, int value, const auto& emit) { emit(sum += value); };
    const auto itself = [](int value) { return value; };
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::by_key(itself) |
                                           coflux::stream::fold<int, int>(add) | coflux::stream::to(sums));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::fold<int, int>(add) |
                                           coflux::stream::by_key(itself) | coflux::stream::to(sums));
#endif
}
