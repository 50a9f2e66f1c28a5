// expect-warning: nodiscard
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::tcp_stream stream;
#ifdef COFLUX_GOOD
    (void)co_await coflux::as_result(stream.write_all("x"));
#else
    co_await coflux::as_result(stream.write_all("x"));
#endif
}
