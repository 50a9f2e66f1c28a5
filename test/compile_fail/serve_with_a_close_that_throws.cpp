// expect: coflux: serve(here, listener, handler): listener.close() must be noexcept
#include <coflux/coflux.hpp>

struct listener {
    coflux::tcp_listener at{coflux::endpoint::loopback(0)};
    auto accept() { return at.accept(); }
#ifdef COFLUX_GOOD
    void close() noexcept { at.close(); }
#else
    void close() { at.close(); }
#endif
};
coflux::call<void> handles(coflux::environment&, coflux::tcp_stream) {
    co_return;
}
coflux::call<void> serves(coflux::environment&, listener& at) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::serve(here, at, handles);
}
