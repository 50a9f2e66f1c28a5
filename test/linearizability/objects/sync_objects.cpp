#include <array>

#include <coflux/coflux.hpp>

#include "linearizability/objects/auto_reset_event_scene.hpp"
#include "linearizability/objects/mutex_scene.hpp"
#include "linearizability/objects/objects.hpp"
#include "linearizability/objects/semaphore_scene.hpp"
#include "linearizability/objects/shared_mutex_scene.hpp"

namespace coflux_test::linearizability {

std::span<const object> sync_objects() noexcept {
    static constexpr std::array<object, 4> all{{
        {"mutex", &play<mutex_scene<coflux::mutex>>},
        {"shared_mutex", &play<shared_mutex_scene>},
        {"semaphore", &play<semaphore_scene<coflux::semaphore>>},
        {"auto_reset_event", &play<auto_reset_event_scene>},
    }};
    return all;
}

}  // namespace coflux_test::linearizability
