// expect: coflux: a queue carries objects that move and end without throwing
#include <coflux/coflux.hpp>

struct value {
    value() = default;
#ifdef COFLUX_GOOD
    value(value&&) noexcept {}
#else
    value(value&&) {}
#endif
};

void make() {
    auto [tx, rx] = coflux::make_unbounded_mpsc<value>();
    (void)tx.send(value());
}
