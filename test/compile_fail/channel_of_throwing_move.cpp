// expect: a channel's values must be objects that move and die without throwing: send a std::unique_ptr of it
#include <memory>

#include <coflux/coflux.hpp>

struct throws_when_moved {
    throws_when_moved() = default;
    throws_when_moved(throws_when_moved&&) noexcept(false) {}
};

void makes() {
#ifdef COFLUX_GOOD
    coflux::channel<std::unique_ptr<throws_when_moved>[2]> ch;
#else
    coflux::channel<throws_when_moved[2]> ch;
#endif
    ch.close();
}
