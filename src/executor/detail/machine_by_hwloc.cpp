// The same as machine_parts.cpp, by hwloc.
#include "machine_parts.hpp"

#if defined(COFLUX_HAS_HWLOC)
#    include <memory>
#    include <type_traits>

#    include <hwloc.h>
#endif

namespace coflux::detail {

#if defined(COFLUX_HAS_HWLOC)

namespace {

struct end_machine {
    void operator()(hwloc_topology_t machine) const noexcept { hwloc_topology_destroy(machine); }
};
using machine_ptr = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, end_machine>;

machine_ptr load() {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return nullptr;
    machine_ptr machine(made);
    if (hwloc_topology_load(machine.get()) != 0) return nullptr;
    return machine;
}

std::vector<unsigned> numbers_of(hwloc_const_cpuset_t set) {
    std::vector<unsigned> all;
    for (int n = hwloc_bitmap_first(set); n >= 0; n = hwloc_bitmap_next(set, n))
        all.push_back(static_cast<unsigned>(n));
    return all;
}

/// 0 where the machine does not number it.
unsigned number_of(hwloc_obj_t o) noexcept {
    return o == nullptr || o->os_index == HWLOC_UNKNOWN_INDEX ? 0 : o->os_index;
}

}  // namespace

bool has_hwloc() noexcept {
    return true;
}

machine_parts parts_by_hwloc() {
    machine_parts parts;
    const machine_ptr machine = load();
    if (machine == nullptr) return parts;
    const hwloc_topology_t t = machine.get();
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, o)) != nullptr;) {
        topology::processor p{.number = o->os_index, .core = o->os_index};
        const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, o);
        if (core != nullptr) p.core = static_cast<unsigned>(hwloc_bitmap_first(core->cpuset));
        p.package = number_of(hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_PACKAGE, o));
        const int node = o->nodeset != nullptr ? hwloc_bitmap_first(o->nodeset) : -1;
        p.node = node < 0 ? 0 : static_cast<unsigned>(node);
        parts.processors.push_back(p);
        for (hwloc_obj_t c = o->parent; c != nullptr; c = c->parent) {
            if (!hwloc_obj_type_is_dcache(c->type)) continue;
            parts.caches.push_back({c->attr->cache.depth, static_cast<std::size_t>(c->attr->cache.size),
                                    c->attr->cache.linesize, numbers_of(c->cpuset)});
        }
    }
    return parts;
}

#else

bool has_hwloc() noexcept {
    return false;
}
machine_parts parts_by_hwloc() {
    return {};
}

#endif

}  // namespace coflux::detail
