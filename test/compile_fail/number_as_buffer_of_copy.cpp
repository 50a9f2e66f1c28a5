// expect: coflux: the size of the buffer is an option with a name: copy(here, from, to, {.buffer_size = 4096})
#include <cstdint>

#include <coflux/coflux.hpp>

coflux::call<std::uint64_t> sends(coflux::environment& here, coflux::tcp_stream& from, coflux::tcp_stream& to) {
#ifdef COFLUX_GOOD
    co_return co_await coflux::copy(here, from, to, {.buffer_size = 4096});
#else
    co_return co_await coflux::copy(here, from, to, 4096);
#endif
}
