#include "schedule_text.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <coflux/testing/replay_chooser.hpp>

namespace coflux::testing::detail {
namespace {

/// The longest line that still fits into a terminal, and is soon copied.
constexpr std::size_t longest_line = 2000;

/// FNV-1a: Fowler, Noll, Vo.
std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325U;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return h;
}

std::string in_hexadecimal(std::uint64_t number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    return {digits.data(), end};
}

}  // namespace

std::string schedule_variable(std::span<const decision> schedule) {
    std::string text = to_text(schedule);
    if (text.size() <= longest_line) return text;
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error) return text;
    const std::filesystem::path file = folder / ("coflux-schedule-" + in_hexadecimal(hash_of(text)) + ".txt");
    std::ofstream out(file, std::ios::trunc);
    out << text << '\n';
    out.close();
    return out ? '@' + file.string() : text;
}

std::optional<std::string> schedule_of_variable(std::string_view variable) {
    if (!variable.starts_with('@')) return std::string(variable);
    std::ifstream in(std::filesystem::path(variable.substr(1)));
    if (!in) return std::nullopt;
    std::string text(std::istreambuf_iterator<char>(in), {});
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace coflux::testing::detail
