// expect: coflux: the result of this coroutine cannot be made of what this co_return gives
#include <string>

#include <coflux/coflux.hpp>

coflux::task<int, coflux::noop_executor> root(coflux::environment&) {
#ifdef COFLUX_GOOD
    co_return 1;
#else
    co_return std::string("one");
#endif
}
