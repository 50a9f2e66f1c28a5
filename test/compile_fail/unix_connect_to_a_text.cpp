// expect: coflux: unix_stream::connect() takes an endpoint and no environment: write connect(endpoint::local("/run/x.socket"))
#include <coflux/coflux.hpp>

coflux::call<void> asks(coflux::environment&) {
#ifdef COFLUX_GOOD
    const auto peer = co_await coflux::unix_stream::connect(coflux::endpoint::local("/run/x.socket"));
#else
    const auto peer = co_await coflux::unix_stream::connect("/run/x.socket");
#endif
}
