// expect: coflux: a join takes a std::variant of its left and its right values: merge(a, b) gives it
#include <chrono>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
    coflux::stream::memory_source others(std::vector<int>{1, 2});
    const auto add = [](int a, int b) { return a + b; };
    const auto pairs =
        coflux::stream::join(coflux::stream::within(std::chrono::seconds(0), std::chrono::seconds(5)), add);
    const auto key = [](const auto&) { return 0; };
    (void)others;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(coflux::stream::merge(numbers, others)) |
                                           coflux::stream::by_key(key) | pairs | coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::by_key(key) | pairs |
                                           coflux::stream::to(sink));
#endif
}
