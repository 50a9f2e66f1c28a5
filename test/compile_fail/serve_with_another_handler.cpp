// expect: coflux: the handler of serve takes the connection by value
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
using connection = coflux::tcp_stream;
#else
using connection = int;
#endif
coflux::call<void> handles(coflux::environment&, connection) {
    co_return;
}
coflux::call<void> serves(coflux::environment&, coflux::tcp_listener& at) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::serve(here, at, handles);
}
