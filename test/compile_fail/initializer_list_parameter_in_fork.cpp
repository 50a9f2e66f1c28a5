// expect: references belong in a call, and so do views, as a std::span or a std::initializer_list
#include <initializer_list>
#include <numeric>

#include <coflux/coflux.hpp>

// The array of a braced list dies with the expression that has the braces: a call is awaited there.
#ifdef COFLUX_GOOD
coflux::call<int> adds(coflux::environment&, std::initializer_list<int> all) {
#else
coflux::fork<int, coflux::noop_executor> adds(coflux::environment&, std::initializer_list<int> all) {
#endif
    co_return std::accumulate(all.begin(), all.end(), 0);
}
