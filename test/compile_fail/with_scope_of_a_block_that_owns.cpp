// expect: coflux: g++ destroys the captures of a lambda that is written inside co_await twice: name a block that captures by value
#include <coflux/coflux.hpp>

#include <string>
#include <utility>

coflux::task<int> root(coflux::environment&, std::string text) {
    auto&& here = co_await coflux::context();
#ifdef COFLUX_GOOD
    auto block = [text = std::move(text)](auto&) -> coflux::call<int> { co_return static_cast<int>(text.size()); };
    co_return co_await coflux::with_scope(here, block);
#else
    co_return co_await coflux::with_scope(
        here, [text = std::move(text)](auto&) -> coflux::call<int> { co_return static_cast<int>(text.size()); });
#endif
}
