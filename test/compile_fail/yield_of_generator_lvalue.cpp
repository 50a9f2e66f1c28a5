// expect: coflux: co_yield of a generator takes it over: write co_yield std::move(sub)
#include <utility>

#include <coflux/coflux.hpp>

coflux::generator<int> sub() {
    co_yield 1;
}

coflux::generator<int> elements() {
    auto kept = sub();
#ifdef COFLUX_GOOD
    co_yield std::move(kept);
#else
    co_yield kept;
#endif
}
