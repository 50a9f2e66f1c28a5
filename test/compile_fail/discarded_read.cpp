// expect-warning: nothing is read until this is awaited: co_await it
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::tcp_stream stream;
    std::byte one{};
#ifdef COFLUX_GOOD
    (void)co_await stream.read_some(std::span(&one, 1));
#else
    stream.read_some(std::span(&one, 1));
    co_return;
#endif
}
