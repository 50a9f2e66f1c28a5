// expect: as_result() of what gives a std::error_code could not tell the value from an error: await it plainly
#include <system_error>

#include <coflux/coflux.hpp>

coflux::call<std::error_code> asks(coflux::environment&) {
    co_return std::error_code();
}

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    (void)co_await asks(here);
#else
    (void)co_await coflux::as_result(asks(here));
#endif
}
