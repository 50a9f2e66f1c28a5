// expect: coflux: job::on_error is stream::fail_job{}, stream::skip_record{} or stream::dead_letters(sink)
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sink;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(sink),
                                 coflux::stream::job{.on_error = coflux::stream::skip_record()});
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(sink),
                                 coflux::stream::job{.on_error = [](int) {}});
#endif
}
