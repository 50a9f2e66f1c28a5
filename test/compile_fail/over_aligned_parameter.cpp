// expect: a coroutine's parameters cannot be aligned to more than 64 bytes
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
constexpr int alignment = 64;
#else
constexpr int alignment = 128;
#endif
struct alignas(alignment) wide {};

coflux::fork<int, coflux::noop_executor> one(coflux::environment&, wide) {
    co_return 1;
}
