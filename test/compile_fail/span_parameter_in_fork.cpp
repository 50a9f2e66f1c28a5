// expect: a fork or task must own its parameters: take them by value, or say coflux::borrowed<T>; references belong in a call
#include <span>

#include <coflux/coflux.hpp>

// The good twin is a call, whose caller is suspended while it uses what it was lent.
#ifdef COFLUX_GOOD
coflux::call<int> first(coflux::environment&, std::span<const int> x) {
    co_return x.front();
}
#else
coflux::fork<int, coflux::noop_executor> first(coflux::environment&, std::span<const int> x) {
    co_return x.front();
}
#endif
