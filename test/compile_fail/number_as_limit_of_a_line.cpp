// expect: coflux: the limit of a line is an option with a name: read_line(here, {.limit = 100})
#include <optional>
#include <string_view>

#include <coflux/coflux.hpp>

coflux::call<bool> reads(coflux::environment& here, coflux::buffered_reader<coflux::tcp_stream>& in) {
#ifdef COFLUX_GOOD
    co_return (co_await in.read_line(here, {.limit = 100})).has_value();
#else
    co_return (co_await in.read_line(here, 100)).has_value();
#endif
}
