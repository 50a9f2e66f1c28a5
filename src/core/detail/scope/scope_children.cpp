#include "core/detail/scope/scope_children.hpp"

namespace coflux::detail {

void scope_children::list(environment& e, frame_control& child) noexcept {
    environment_object& o = object(e);
    const adaptive_guard guard(o.children_lock_);
    o.children_list_.push_front(links_of(child));
}

void scope_children::unlist(environment& e, frame_control& child) noexcept {
    environment_object& o = object(e);
    const adaptive_guard guard(o.children_lock_);
    o.children_list_.remove(links_of(child));
}

}  // namespace coflux::detail
