// expect-warning: for_each_concurrent does nothing until it is awaited: co_await it
#include <vector>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    std::vector<int> numbers{1, 2};
#ifdef COFLUX_GOOD
    co_await coflux::for_each_concurrent(numbers, 1, [](int& n) { n = 0; });
#else
    coflux::for_each_concurrent(numbers, 1, [](int& n) { n = 0; });
    co_return;
#endif
}
