// expect: coflux: g++ destroys the captures of a lambda that is written inside co_await twice: name the handler
#include <coflux/coflux.hpp>

#include <string>

coflux::call<void> serves(coflux::environment&, coflux::tcp_listener& at, std::string greeting) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto handler = [greeting](coflux::environment&, coflux::tcp_stream peer) -> coflux::call<void> {
        co_await peer.write_all(greeting);
    };
    (void)co_await coflux::serve(here, at, handler);
#else
    (void)co_await coflux::serve(here, at,
                                 [greeting](coflux::environment&, coflux::tcp_stream peer) -> coflux::call<void> {
                                     co_await peer.write_all(greeting);
                                 });
#endif
}
