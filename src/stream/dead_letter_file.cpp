#include <coflux/stream/dead_letter_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/stream/parse.hpp>

namespace coflux::stream {
namespace {

void put_character(std::string& to, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
        to.append(1, '\\').append(1, c);
    } else if (byte < 0x20) {
        to.append("\\u00").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    } else {
        to += c;
    }
}
void put_text(std::string& to, std::string_view text) {
    to += '"';
    for (;;) {
        const std::size_t end = end_of_utf8(text);
        for (const char c : text.substr(0, end)) put_character(to, c);
        if (end == text.size()) break;
        to += "\\ufffd";
        text.remove_prefix(end + 1);
    }
    to += '"';
}
void put_base64(std::string& to, std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    to += '"';
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
        std::uint32_t three = 0;
        for (std::size_t i = 0; i != 3; ++i) {
            three = three << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
        }
        for (std::size_t i = 0; i != 4; ++i) to += i <= bytes.size() ? digits[three >> (18 - 6 * i) & 63] : '=';
    }
    to += '"';
}
void put_member(std::string& to, std::string_view name, std::string_view text) {
    to.append(",\"").append(name).append("\":");
    put_text(to, text);
}
void put_bytes(std::string& to, std::string_view name, std::string_view bytes) {
    if (end_of_utf8(bytes) == bytes.size()) return put_member(to, name, bytes);
    to.append(",\"").append(name).append("_base64\":");
    put_base64(to, bytes);
}
void put_headers(std::string& to, const original& of) {
    to += ",\"headers\":[";
    for (const auto& [name, value] : of.headers) {
        if (to.back() != '[') to += ',';
        to += '[';
        put_text(to, name);
        to += ',';
        if (end_of_utf8(value) == value.size()) {
            put_text(to, value);
        } else {
            to += "{\"base64\":";
            put_base64(to, value);
            to += '}';
        }
        to += ']';
    }
    to += ']';
}

}  // namespace

std::string json_line(const dead_letter& letter) {
    std::string line = "{\"job\":";
    put_text(line, letter.job);
    put_member(line, "stage", letter.stage);
    put_member(line, "error", letter.error);
    line.append(",\"attempts\":").append(std::to_string(letter.attempts));
    put_member(line, "partition", letter.partition);
    line.append(",\"next\":").append(std::to_string(letter.next)).append(",\"time\":");
    line += letter.time == no_time ? "null" : std::to_string(letter.time.time_since_epoch().count());
    put_headers(line, letter.original);
    put_bytes(line, "key", letter.original.key);
    put_bytes(line, "value", letter.original.value);
    return line + '}';
}

call<void> dead_letter_file::write(environment&, std::span<record<dead_letter>> letters) {
    auto& here = co_await context();
    std::vector<record<std::string>> lines;
    lines.reserve(letters.size());
    for (const record<dead_letter>& each : letters) {
        lines.push_back({json_line(each.value), each.time, each.next, each.partition, each.slot, {}});
    }
    co_await to_.write(here, lines);
}

}  // namespace coflux::stream
