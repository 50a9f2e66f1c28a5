// expect: function
// expect: view
#include <memory>

#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
using result = std::shared_ptr<int>;
#else
using result = std::unique_ptr<int>;
#endif

coflux::fork<result, coflux::noop_executor> made(coflux::environment&) {
    co_return result();
}

coflux::task<bool, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto f = made(here);
    const auto& value = co_await f.view();
    co_return value == nullptr;
}
