// expect: a fork or task must own its parameters: take them by value, or say coflux::borrowed<T>; references belong in a call
#include <cstddef>
#include <string>
#include <string_view>

#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
using text = std::string;
#else
using text = std::string_view;
#endif

coflux::task<std::size_t, coflux::noop_executor> length(auto&&, text t) {
    co_return t.size();
}

std::size_t run() {
    auto env = coflux::make_environment(coflux::noop_executor{});
    return length(env, text("four")).get();
}
