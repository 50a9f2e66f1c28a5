// expect: coflux: a container cannot keep a call, which is awaited in the expression that makes it
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

coflux::call<int> called(coflux::environment&, int i) {
    co_return i;
}
coflux::fork<int, coflux::noop_executor> forked(coflux::environment&, int i) {
    co_return i;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    std::vector<coflux::fork<int, coflux::noop_executor>> numbers;
    for (int i = 0; i != 3; ++i) numbers.push_back(forked(here, i));
    (void)co_await coflux::when_all(std::move(numbers));
#else
    std::vector<coflux::call<int>> numbers;
    for (int i = 0; i != 3; ++i) numbers.push_back(called(here, i));
#endif
}
