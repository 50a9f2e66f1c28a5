// expect: event_times() comes before the first partitioner of a flow
#include <chrono>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
    const auto time = [](int value) { return std::chrono::sys_seconds(std::chrono::seconds(value)); };
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::event_times(time) |
                                           coflux::stream::to_one() | coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to_one() |
                                           coflux::stream::event_times(time) | coflux::stream::to(sink));
#endif
}
