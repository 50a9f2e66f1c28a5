#include <array>

#include <coflux/coflux.hpp>

#include "linearizability/objects/channel_scene.hpp"
#include "linearizability/objects/objects.hpp"
#include "linearizability/objects/select_scene.hpp"

namespace coflux_test::linearizability {

std::span<const object> channel_objects() noexcept {
    static constexpr std::array<object, 4> all{{
        {"channel_of_one", &play<channel_scene<coflux::channel<int[1]>>>},
        {"channel_of_two", &play<channel_scene<coflux::channel<int[2]>>>},
        {"rendezvous", &play<channel_scene<coflux::channel<int[]>>>},
        {"select", &play<select_scene>},
    }};
    return all;
}

}  // namespace coflux_test::linearizability
