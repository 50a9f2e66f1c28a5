// expect: ask result.has_value(), and then *result
#include <chrono>

#include <coflux/coflux.hpp>

coflux::call<int> asks(coflux::environment& here, coflux::call<bool> (*is_new)(coflux::environment&)) {
    const auto result = co_await coflux::timeout(coflux::as_result(is_new(here)), std::chrono::seconds(1));
#ifdef COFLUX_GOOD
    if (result.has_value() && *result) co_return 1;
#else
    if (result) co_return 1;
#endif
    co_return 0;
}
