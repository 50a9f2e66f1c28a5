// expect: coflux: tcp_stream::connect() takes an endpoint and no environment
// expect: or for a host by its name coflux::connect_to(here, names, "example.org", 80) with a coflux::resolver names
#include <coflux/coflux.hpp>

coflux::call<void> asks(coflux::environment& here, coflux::resolver& names) {
#ifdef COFLUX_GOOD
    const auto peer = co_await coflux::connect_to(here, names, "localhost", 80);
#else
    const auto peer = co_await coflux::tcp_stream::connect(here, "localhost", 80);
#endif
}
