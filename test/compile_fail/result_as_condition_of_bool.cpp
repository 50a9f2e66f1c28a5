// expect: ask result.has_value(), and then *result
#include <coflux/coflux.hpp>

coflux::call<int> asks(coflux::environment& here, coflux::call<bool> (*is_new)(coflux::environment&)) {
#ifdef COFLUX_GOOD
    const auto result = co_await coflux::as_result(is_new(here));
    if (!result.has_value()) co_return 2;
    co_return *result ? 0 : 1;
#else
    if (co_await coflux::as_result(is_new(here))) co_return 0;
    co_return 1;
#endif
}
