// expect: a number has no unit: write push(value, 5ms), or 5s, with `using namespace std::chrono_literals`
#include <chrono>

#include <coflux/coflux.hpp>

bool puts(coflux::delay_queue<int>& due) {
#ifdef COFLUX_GOOD
    return bool(due.push(1, std::chrono::milliseconds(5)));
#else
    return bool(due.push(1, 5));
#endif
}
