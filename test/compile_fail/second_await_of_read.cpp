// expect: this handle can be awaited once
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::tcp_stream stream;
    std::byte one{};
#ifdef COFLUX_GOOD
    (void)co_await stream.read_some(std::span(&one, 1));
#else
    auto read = stream.read_some(std::span(&one, 1));
    (void)co_await read;
#endif
}
