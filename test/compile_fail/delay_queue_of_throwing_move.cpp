// expect: a delay_queue's values must be objects that move and die without throwing: put in a std::unique_ptr of it
#include <memory>

#include <coflux/coflux.hpp>

struct throws_when_moved {
    throws_when_moved() = default;
    throws_when_moved(throws_when_moved&&) noexcept(false) {}
};

void makes() {
#ifdef COFLUX_GOOD
    coflux::delay_queue<std::unique_ptr<throws_when_moved>> q;
#else
    coflux::delay_queue<throws_when_moved> q;
#endif
    q.close();
}
