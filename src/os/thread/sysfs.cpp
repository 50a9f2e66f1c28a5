#include "sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace coflux::detail::os {
namespace {

constexpr unsigned most_in_a_list = 1U << 16;  // more processors than any system counts: the text is no list

/// Takes a number off the front.
bool take(std::string_view& text, unsigned& number) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

}  // namespace

std::optional<std::vector<unsigned>> list_of(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    std::vector<unsigned> all;
    while (!text.empty()) {
        unsigned first = 0;
        if (!take(text, first)) return std::nullopt;
        unsigned last = first;
        if (!text.empty() && text.front() == '-') {
            text.remove_prefix(1);
            if (!take(text, last)) return std::nullopt;
        }
        if (last < first || last >= most_in_a_list) return std::nullopt;
        for (unsigned n = first; n <= last; ++n) all.push_back(n);
        if (text.empty()) break;
        if (text.front() != ',') return std::nullopt;
        text.remove_prefix(1);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::optional<std::string> line_in(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return std::nullopt;
    return line;
}

std::optional<std::vector<unsigned>> list_in(const std::string& path) {
    const auto line = line_in(path);
    return line ? list_of(*line) : std::nullopt;
}

std::optional<unsigned long long> number_in(const std::string& path) {
    const auto line = line_in(path);
    if (!line) return std::nullopt;
    unsigned long long number = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), number);
    if (error != std::errc()) return std::nullopt;
    switch (end == line->data() + line->size() ? 0 : *end) {
    case 'K': return number << 10U;
    case 'M': return number << 20U;
    case 'G': return number << 30U;
    default: return number;
    }
}

std::vector<unsigned> numbered_in(const std::string& folder, std::string_view prefix) {
    std::vector<unsigned> all;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        std::string_view rest = name;
        if (rest.substr(0, prefix.size()) != prefix) continue;
        rest.remove_prefix(prefix.size());
        unsigned number = 0;
        if (take(rest, number) && rest.empty()) all.push_back(number);
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace coflux::detail::os
