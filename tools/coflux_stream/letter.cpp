#include "letter.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <coflux/stream/parse.hpp>
#include <nlohmann/json.hpp>

namespace coflux_stream {
namespace {

using nlohmann::json;

std::string bytes_of_base64(std::string_view text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text.size() % 4 != 0) throw std::runtime_error("its base64 is cut off");
    while (text.ends_with('=')) text.remove_suffix(1);
    std::string bytes;
    std::uint32_t held = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) throw std::runtime_error("its base64 has a character that is no digit");
        held = held << 6 | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes += static_cast<char>(held >> bits & 0xff);
    }
    return bytes;
}

/// `name`, or the base64 of it.
std::string bytes_of(const json& letter, const std::string& name) {
    if (const auto text = letter.find(name); text != letter.end()) return text->get<std::string>();
    return bytes_of_base64(letter.at(name + "_base64").get<std::string>());
}

coflux::stream::dead_letter letter_of(const json& from) {
    coflux::stream::dead_letter letter;
    from.at("job").get_to(letter.job);
    from.at("stage").get_to(letter.stage);
    from.at("error").get_to(letter.error);
    from.at("attempts").get_to(letter.attempts);
    from.at("partition").get_to(letter.partition);
    from.at("next").get_to(letter.next);
    if (const json& time = from.at("time"); !time.is_null()) {
        letter.time = coflux::stream::event_time(std::chrono::nanoseconds(time.get<std::int64_t>()));
    }
    for (const json& header : from.at("headers")) {
        const json& value = header.at(1);
        letter.original.headers.emplace_back(header.at(0).get<std::string>(),
                                             value.is_object() ? bytes_of_base64(value.at("base64").get<std::string>())
                                                               : value.get<std::string>());
    }
    letter.original.key = bytes_of(from, "key");
    letter.original.value = bytes_of(from, "value");
    return letter;
}

/// Whether a terminal may be given the character that begins `text`.
bool is_plain(std::string_view text) noexcept {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte < 0x80) return byte >= 0x20 && byte != 0x7f;
    return byte != 0xc2 || static_cast<unsigned char>(text[1]) >= 0xa0;  // the controls of ISO 6429, in two bytes
}

}  // namespace

coflux::stream::dead_letter read_letter(std::string_view line) {
    try {
        return letter_of(json::parse(line));
    } catch (const json::exception& e) {
        // Its text begins with its own name in brackets.
        const std::string_view why = e.what();
        const std::size_t end = why.find("] ");
        throw std::runtime_error(std::string(why.substr(end == std::string_view::npos ? 0 : end + 2)));
    }
}

std::string shown(std::string_view bytes) {
    std::string text;
    const auto escape = [&text](char c) {
        std::array<char, 5> escaped{};
        std::snprintf(escaped.data(), escaped.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        text += escaped.data();
    };
    while (!bytes.empty()) {
        const std::string_view good = bytes.substr(0, coflux::stream::end_of_utf8(bytes));
        for (std::size_t i = 0; i != good.size(); ++i) {
            if (good[i] == '\\') {
                text += "\\\\";
            } else if (good[i] == '\n') {
                text += "\\n";
            } else if (good[i] == '\t') {
                text += "\\t";
            } else if (good[i] == '\r') {
                text += "\\r";
            } else if (static_cast<unsigned char>(good[i]) >> 6 == 2 || is_plain(good.substr(i))) {
                text += good[i];  // also what continues a character
            } else {
                escape(good[i]);
                if (static_cast<unsigned char>(good[i]) == 0xc2) escape(good[++i]);
            }
        }
        bytes.remove_prefix(good.size());
        if (bytes.empty()) break;
        escape(bytes.front());
        bytes.remove_prefix(1);
    }
    return text;
}

std::string shown(coflux::stream::event_time time) {
    if (time == coflux::stream::no_time) return "-";
    using namespace std::chrono;
    // By hand, because floor() of the first second of all times would be before them.
    const std::int64_t count = time.time_since_epoch().count();
    const std::int64_t part = (count % 1'000'000'000 + 1'000'000'000) % 1'000'000'000;
    const sys_seconds at{seconds(count / 1'000'000'000 - (count < 0 && part != 0 ? 1 : 0))};
    const auto day = floor<days>(at);
    const year_month_day date(day);
    const hh_mm_ss clock(at - day);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%09lldZ", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()), static_cast<long long>(part));
    return text.data();
}

}  // namespace coflux_stream
