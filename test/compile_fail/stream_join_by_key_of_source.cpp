// expect: coflux: a join behind by_key_of_source() finds no pair
#include <chrono>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_source others(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
    const auto pairs =
        coflux::stream::join(coflux::stream::tumbling(std::chrono::seconds(1)), [](int a, int) { return a; });
#ifdef COFLUX_GOOD
    const auto by = coflux::stream::by_key([](const auto&) { return 1; });
#else
    const auto by = coflux::stream::by_key_of_source([](const auto&) { return 1; });
#endif
    co_await coflux::stream::run(here, coflux::stream::from(coflux::stream::merge(numbers, others)) | by | pairs |
                                           coflux::stream::to(sink));
}
