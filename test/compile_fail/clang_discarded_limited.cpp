// expect-warning: the limit may have cut the operation off: look at timed_out()
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::bounded_channel<int, 1> values;
#ifdef COFLUX_GOOD
    if ((co_await coflux::timeout(values.receive(), std::chrono::seconds(1))).timed_out()) co_return;
#else
    co_await coflux::timeout(values.receive(), std::chrono::seconds(1));
#endif
}
