// expect: coflux: blocking(f) calls f without arguments: write blocking([&] { return f(x); })
#include <coflux/coflux.hpp>

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
    const auto twice = [](int x) { return 2 * x; };
#ifdef COFLUX_GOOD
    const auto call = [&] { return twice(3); };
    co_return co_await coflux::blocking(call);
#else
    co_return co_await coflux::blocking(twice);
#endif
}
