// expect-warning: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::tcp_stream stream;
#ifdef COFLUX_GOOD
    (void)co_await coflux::as_result(stream.write_all("x"));
#else
    coflux::as_result(stream.write_all("x"));
    co_return;
#endif
}
