// expect: coflux: copy() reads from a byte_source: from a file by a file_reader
#include <cstdint>

#include <coflux/coflux.hpp>

coflux::call<std::uint64_t> sends(coflux::environment& here, coflux::file& f, coflux::tcp_stream& to) {
#ifdef COFLUX_GOOD
    coflux::file_reader from(f);
    co_return co_await coflux::copy(here, from, to);
#else
    co_return co_await coflux::copy(here, f, to);
#endif
}
