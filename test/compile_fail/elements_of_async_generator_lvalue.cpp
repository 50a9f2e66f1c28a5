// expect: coflux: co_yield elements_of() takes the generator over
#include <utility>

#include <coflux/coflux.hpp>

coflux::async_generator<int> sub(coflux::environment&) {
    co_yield 1;
}

coflux::async_generator<int> elements(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto kept = sub(here);
#ifdef COFLUX_GOOD
    co_yield coflux::elements_of(std::move(kept));
#else
    co_yield coflux::elements_of(kept);
#endif
}
