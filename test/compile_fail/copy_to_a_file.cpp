// expect: coflux: copy() writes to a byte_sink or a whole_sink: to a file by a file_writer
#include <cstdint>

#include <coflux/coflux.hpp>

coflux::call<std::uint64_t> keeps(coflux::environment& here, coflux::tcp_stream& from, coflux::file& f) {
#ifdef COFLUX_GOOD
    coflux::file_writer to(f);
    co_return co_await coflux::copy(here, from, to, {.buffer_size = 4096});
#else
    co_return co_await coflux::copy(here, from, f, {.buffer_size = 4096});
#endif
}
