// expect: coflux: the function of event_times() takes the flow's value as const T& or T, and gives a std::chrono::sys_time
#include <chrono>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::event_times([](int n) {
                                           return std::chrono::sys_seconds(std::chrono::seconds(n));
                                       }) | coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::event_times([](int n) {
                                           return n;
                                       }) | coflux::stream::to(sink));
#endif
}
