// expect: coflux: the block of a with_scope is a coroutine that returns a coflux::call
#include <coflux/coflux.hpp>

coflux::task<int> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    co_return co_await coflux::with_scope(here, [](auto&) -> coflux::call<int> { co_return 1; });
#else
    co_return co_await coflux::with_scope(here, [](auto&) -> coflux::fork<int> { co_return 1; });
#endif
}
