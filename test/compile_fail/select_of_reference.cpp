// expect: coflux: a case of select gives a value, not a reference: await it in a call that gives its address
#include <coflux/coflux.hpp>

coflux::fork<int&> lends(coflux::environment&, coflux::borrowed<int> x) {
    co_return *x;
}
coflux::call<int*> address(coflux::fork<int&> of) {
    co_return &co_await std::move(of);
}

coflux::task<void> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    int x = 0;
#ifdef COFLUX_GOOD
    (void)co_await coflux::select(address(lends(here, coflux::borrowed(x))));
#else
    (void)co_await coflux::select(lends(here, coflux::borrowed(x)));
#endif
}
