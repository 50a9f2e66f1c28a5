// expect-warning: never begins
#include <coflux/coflux.hpp>

coflux::generator<int> numbers() {
    co_yield 1;
}

int sum() {
    int total = 0;
#ifdef COFLUX_GOOD
    for (int n : numbers()) total += n;
#else
    numbers();
#endif
    return total;
}
