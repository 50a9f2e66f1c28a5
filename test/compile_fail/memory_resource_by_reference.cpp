// expect: coflux: a memory resource is given by its address
#include <memory_resource>

#include <coflux/coflux.hpp>

void makes() {
    std::pmr::monotonic_buffer_resource memory;
#ifdef COFLUX_GOOD
    auto env = coflux::make_environment(&memory);
#else
    auto env = coflux::make_environment(memory);
#endif
}
