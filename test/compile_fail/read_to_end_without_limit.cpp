// expect: coflux: without a limit the peer chooses how much memory it takes: write read_to_end(here, from, into, 1 << 20)
#include <cstddef>
#include <string>

#include <coflux/coflux.hpp>

coflux::call<std::size_t> reads(coflux::environment& here, coflux::tcp_stream& from, std::string& into) {
#ifdef COFLUX_GOOD
    co_return co_await coflux::read_to_end(here, from, into, 1 << 20);
#else
    co_return co_await coflux::read_to_end(here, from, into);
#endif
}
