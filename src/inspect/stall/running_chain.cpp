#include "inspect/stall/running_chain.hpp"

#include <cstdint>

#include "inspect/layout.hpp"
#include "inspect/place_text.hpp"
#include "os/process/own_memory.hpp"

namespace coflux::detail {
namespace {

constexpr const debug_layout& at = coflux_debug_layout;
constexpr std::size_t longest = 64;

template <typename T>
T read(std::uint64_t from) noexcept {
    T value{};
    const os::memory_piece piece{from, sizeof value};
    return os::read_own_memory(&piece, 1, &value) == sizeof value ? value : T{};
}

}  // namespace

std::vector<std::string> running_chain(const thread_state* of) {
    std::vector<std::string> chain;
    auto next = read<std::uint64_t>(reinterpret_cast<std::uint64_t>(of) + at.thread_current);
    for (; next != 0 && chain.size() < longest;
         next = read<std::uint64_t>(next + at.parent) & ~std::uint64_t{at.parent_tags}) {
        if ((read<std::uint32_t>(next + at.marks) & at.mark_object) != 0) continue;
        const std::uint64_t control = next - at.promise - at.control_size;
        const bool failed = (read<std::uint32_t>(control + at.word) & at.word_has_error) != 0;
        const place_text place = failed ? place_text() : checked_place(read<std::uint64_t>(control + at.place));
        chain.push_back(place.function.empty() ? "a coroutine whose place is not known"
                                               : place.function + " at " + place.at);
    }
    return chain;
}

}  // namespace coflux::detail
