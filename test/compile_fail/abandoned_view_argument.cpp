// expect: what a stop abandons runs on when the coroutine is gone, so its arguments must own what they show: pass a std::string or std::vector in place of a view
#include <string>
#include <string_view>

#include <coflux/coflux.hpp>

coflux::task<std::size_t, coflux::noop_executor> root(coflux::environment&, std::string name) {
    const auto size_of = [](const auto& text) { return text.size(); };
#ifdef COFLUX_GOOD
    co_return co_await coflux::blocking(coflux::abandon_on_stop, size_of, name);
#else
    co_return co_await coflux::blocking(coflux::abandon_on_stop, size_of, std::string_view(name));
#endif
}
