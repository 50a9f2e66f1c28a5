// expect: coflux: copy() uses its streams by reference: give each a name
#include <cstdint>

#include <coflux/coflux.hpp>

coflux::call<std::uint64_t> sends(coflux::environment& here, coflux::file& f, coflux::tcp_stream& to) {
#ifdef COFLUX_GOOD
    coflux::file_reader from(f);
    co_return co_await coflux::copy(here, from, to);
#else
    co_return co_await coflux::copy(here, coflux::file_reader(f), to);
#endif
}
