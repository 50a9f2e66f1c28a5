// expect: put the limit outside of it: timeout(as_result(x), d)
#include <chrono>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::tcp_stream stream;
    std::byte one{};
#ifdef COFLUX_GOOD
    (void)co_await coflux::timeout(coflux::as_result(stream.read_some(std::span(&one, 1))), std::chrono::seconds(1));
#else
    (void)co_await coflux::as_result(coflux::timeout(stream.read_some(std::span(&one, 1)), std::chrono::seconds(1)));
#endif
}
