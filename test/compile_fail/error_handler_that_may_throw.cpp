// expect: coflux: the handler of errors is a function or a lambda without captures that is noexcept
#include <coflux/coflux.hpp>

void makes() {
    auto env = coflux::make_environment();
#ifdef COFLUX_GOOD
    env.on_unobserved_error([](const std::exception_ptr&) noexcept {});
#else
    env.on_unobserved_error([](const std::exception_ptr&) {});
#endif
}
