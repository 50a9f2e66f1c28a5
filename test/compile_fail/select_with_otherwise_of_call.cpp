// expect: a select with otherwise does not wait, so its other cases are operations of channels
#include <coflux/coflux.hpp>

coflux::call<int> one(coflux::environment&) {
    co_return 1;
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::channel<int[1]> ch;
#ifdef COFLUX_GOOD
    (void)co_await coflux::select(one(here), ch.receive());
#else
    (void)co_await coflux::select(one(here), ch.receive(), coflux::otherwise);
#endif
}
