#include <coflux/stream/csv.hpp>
#include <coflux/stream/parse.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace coflux::stream {
namespace {

[[noreturn]] void fail_field(std::size_t field, std::string_view why) {
    throw bad_text({}, 0, "field " + std::to_string(field) + ": " + std::string(why));
}

/// So many bytes a character has that begins with `lead`, and what the byte behind it may be; 0: none begins so.
struct utf8_form {
    std::size_t size;
    unsigned char least;
    unsigned char most;
};
utf8_form form_of(unsigned char lead) noexcept {
    if (lead < 0x80) return {1, 0, 0};
    if (lead < 0xc2) return {0, 0, 0};
    if (lead < 0xe0) return {2, 0x80, 0xbf};
    if (lead == 0xe0) return {3, 0xa0, 0xbf};
    if (lead == 0xed) return {3, 0x80, 0x9f};
    if (lead < 0xf0) return {3, 0x80, 0xbf};
    if (lead == 0xf0) return {4, 0x90, 0xbf};
    if (lead < 0xf4) return {4, 0x80, 0xbf};
    return {lead == 0xf4 ? 4U : 0U, 0x80, 0x8f};
}

}  // namespace

namespace detail {

void check_nesting(std::string_view json) {
    constexpr std::size_t most = 512;
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (c == '"') {
            in_string = !in_string;
        } else if (in_string) {
            if (c == '\\') ++i;
        } else if (c == '[' || c == '{') {
            if (++depth > most)
                throw bad_text({}, 0, "byte " + std::to_string(i) + ": values stand in each other more than 512 times");
        } else if ((c == ']' || c == '}') && depth != 0) {
            --depth;
        }
    }
}

}  // namespace detail

std::size_t end_of_utf8(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (std::size_t at = 0; at != text.size();) {
        const utf8_form form = form_of(byte(at));
        if (form.size == 0 || form.size > text.size() - at) return at;
        if (form.size > 1 && (byte(at + 1) < form.least || byte(at + 1) > form.most)) return at;
        for (std::size_t i = 2; i < form.size; ++i) {
            if (byte(at + i) < 0x80 || byte(at + i) > 0xbf) return at;
        }
        at += form.size;
    }
    return text.size();
}

std::string utf8::operator()(std::string_view text) const {
    if (const std::size_t end = end_of_utf8(text); end != text.size())
        throw bad_text({}, 0, "byte " + std::to_string(end) + " is not UTF-8");
    return std::string(text);
}

std::vector<std::string> csv_fields::operator()(std::string_view record) const {
    std::vector<std::string> fields;
    for (std::size_t at = 0;;) {
        std::string& field = fields.emplace_back();
        if (at != record.size() && record[at] == '"') {
            const auto further = std::ranges::count(record.substr(0, at), '\n');
            for (++at;; ++at) {
                const std::size_t quote = record.find('"', at);
                if (quote == std::string_view::npos)
                    fail_field(fields.size(), further == 0 ? "its quote never closes"
                                                           : "its quote, in line " + std::to_string(further + 1) +
                                                                 " of the record, never closes");
                field.append(record, at, quote - at);
                at = quote + 1;
                if (at == record.size() || record[at] != '"') break;
                field += '"';
            }
            if (at != record.size() && record[at] != separator_)
                fail_field(fields.size(), "something is between its closing quote and the separator");
        } else {
            const std::size_t end = std::min(record.find(separator_, at), record.size());
            field.assign(record, at, end - at);
            if (field.find('"') != std::string::npos)
                fail_field(fields.size(), "it has a quote, and does not begin with one");
            at = end;
        }
        if (at == record.size()) return fields;
        ++at;
    }
}

std::string csv_line(std::span<const std::string> fields, char separator) {
    const std::array<char, 4> special{separator, '"', '\n', '\r'};
    std::string line;
    for (const std::string& field : fields) {
        if (&field != fields.data()) line += separator;
        const bool is_lone = field.empty() && fields.size() == 1;
        if (!is_lone && field.find_first_of(special.data(), 0, special.size()) == std::string::npos) {
            line += field;
            continue;
        }
        line += '"';
        for (const char c : field) {
            line += c;
            if (c == '"') line += c;
        }
        line += '"';
    }
    return line;
}

}  // namespace coflux::stream
