#include "inspect/place_text.hpp"

#include <algorithm>

#include "core/detail/readable_name.hpp"
#include "os/process/own_memory.hpp"

namespace coflux::detail {

std::string checked_text(std::uint64_t address) {
    std::string text;
    char piece[64];
    while (address != 0 && text.size() < 4096) {
        // Up to the end of a line of the cache: memory may end behind it.
        const os::memory_piece from{address, sizeof piece - address % sizeof piece};
        const std::size_t size = os::read_own_memory(&from, 1, piece);
        const std::size_t used = static_cast<std::size_t>(std::find(piece, piece + size, '\0') - piece);
        const bool printable = std::all_of(piece, piece + used, [](char c) { return c >= ' ' && c != '\x7f'; });
        if (size == 0 || !printable) return {};
        text.append(piece, used);
        if (used != size) return text;
        address += size;
    }
    return {};
}

place_text checked_place(std::uint64_t address) {
    struct {
        std::uint64_t file;
        std::uint64_t function;
        std::uint32_t line;
        std::uint32_t column;
    } words;
    const os::memory_piece piece{address, sizeof words};
    if (address == 0 || os::read_own_memory(&piece, 1, &words) != sizeof words || words.line == 0) return {};
    const std::string file = checked_text(words.file);
    const std::string function = checked_text(words.function);
    if (file.empty() || function.empty()) return {};
    return {readable_name(function).c_str(), file + ':' + std::to_string(words.line)};
}

std::string text_of_place(std::uint64_t address) {
    const place_text place = checked_place(address);
    return place.function.empty() ? "a coroutine whose place is not known" : place.function + " at " + place.at;
}

}  // namespace coflux::detail
