// expect: coflux: tcp_stream::connect() takes an endpoint and no environment: write connect(endpoint::ip("127.0.0.1", 80))
#include <coflux/coflux.hpp>

coflux::call<void> asks(coflux::environment&) {
#ifdef COFLUX_GOOD
    const auto peer = co_await coflux::tcp_stream::connect(coflux::endpoint::ip("127.0.0.1", 80));
#else
    const auto peer = co_await coflux::tcp_stream::connect("127.0.0.1", 80);
#endif
}
