#include "inspect/stall/running_chain.hpp"

#include <cstring>
#include <iterator>

#include "inspect/layout.hpp"
#include "inspect/place_text.hpp"
#include "os/process/own_memory.hpp"

namespace coflux::detail {
namespace {

constexpr const debug_layout& at = coflux_debug_layout;

template <typename T>
T load(const char* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

}  // namespace

std::size_t running_places(const thread_state* of, std::uint64_t* places, std::size_t most) noexcept {
    std::uint64_t next = 0;
    const os::memory_piece current{reinterpret_cast<std::uint64_t>(of) + at.thread_current, sizeof next};
    if (os::read_own_memory(&current, 1, &next) != sizeof next) return 0;
    std::size_t count = 0;
    while (next != 0 && count != most) {
        // The environment, and the control in front of its frame: an environment object has none.
        char copy[256];
        const os::memory_piece pieces[]{{next, at.environment_size},
                                        {next - at.promise - at.control_size, at.control_size}};
        const std::size_t size = os::read_own_memory(pieces, 2, copy);
        if (size < at.environment_size) break;
        next = load<std::uint64_t>(copy + at.parent) & ~std::uint64_t{at.parent_tags};
        if ((load<std::uint32_t>(copy + at.marks) & at.mark_object) != 0) continue;
        const char* const control = copy + at.environment_size;
        const bool is_known = size == std::size_t{at.environment_size} + at.control_size &&
                              (load<std::uint32_t>(control + at.word) & at.word_has_error) == 0;
        places[count++] = is_known ? load<std::uint64_t>(control + at.place) : 0;
    }
    return count;
}

std::vector<std::string> running_chain(const thread_state* of) {
    std::uint64_t places[64];
    std::vector<std::string> chain;
    const std::size_t count = running_places(of, places, std::size(places));
    for (std::size_t i = 0; i < count; ++i) chain.push_back(text_of_place(places[i]));
    return chain;
}

}  // namespace coflux::detail
