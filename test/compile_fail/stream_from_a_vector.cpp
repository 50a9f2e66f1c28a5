// expect: coflux: from() takes a stream::source, with read() and partition_name()
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_sink<int> sink;
    std::vector<int> numbers{1, 2};
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(coflux::stream::memory_source(numbers)) |
                                           coflux::stream::to(sink));
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(sink));
#endif
}
