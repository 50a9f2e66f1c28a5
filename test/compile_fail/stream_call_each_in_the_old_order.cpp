// expect: coflux: the number comes first, then the function: write call_each(16, f)
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

void doubles(std::vector<int> numbers) {
    coflux::stream::memory_source source(std::move(numbers));
    coflux::stream::memory_sink<int> sink;
    auto twice = [](coflux::environment&, int n) -> coflux::call<int> { co_return 2 * n; };
#ifdef COFLUX_GOOD
    (void)(coflux::stream::from(source) | coflux::stream::call_each(16, twice) | coflux::stream::to(sink));
#else
    (void)(coflux::stream::from(source) | coflux::stream::call_each(twice, 16) | coflux::stream::to(sink));
#endif
}
