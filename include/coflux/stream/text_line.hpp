// text_line: a line of a text, and its place there.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace coflux::stream {

/// A line without its end, as it was read.
struct text_line {
    std::string text;
    std::uint64_t number = 0;           ///< in its file, from 1 on; 0: it has none
    const std::string* file = nullptr;  ///< the source's; nullptr: it has none
};

/// A text that is not what it should be. It says where: "orders.csv, line 7: …".
class bad_text : public std::runtime_error {
public:
    bad_text(std::string_view file, std::uint64_t line, std::string_view why)
        : std::runtime_error(text(file, line, why)),
          file_(file),
          line_(line) {}
    /// The text names file and line, where both are known.
    bad_text(const text_line& of, std::string_view why)
        : bad_text(of.file == nullptr ? std::string_view() : std::string_view(*of.file), of.number, why) {}

    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

private:
    static std::string text(std::string_view file, std::uint64_t line, std::string_view why) {
        std::string all = "coflux: ";
        if (!file.empty()) all.append(file).append(line == 0 ? ": " : ", ");
        if (line != 0) all.append("line ").append(std::to_string(line)).append(": ");
        return all.append(why);
    }

    std::string file_;
    std::uint64_t line_;
};

}  // namespace coflux::stream
