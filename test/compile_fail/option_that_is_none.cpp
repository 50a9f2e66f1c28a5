// expect: coflux: make_environment takes executors, a std::pmr::memory_resource*, a deadline
#include <coflux/coflux.hpp>

void makes() {
#ifdef COFLUX_GOOD
    auto env = coflux::make_environment(coflux::noop_executor{});
#else
    auto env = coflux::make_environment(7);
#endif
}
