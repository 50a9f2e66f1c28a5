// The common part of the programs of the reliability ladder: the same options, and a report of what they have done.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace coflux_test {

/// The report of a program of the ladder: one JSON object.
struct rung_report {
    std::string rung;
    std::string name;
    std::string what;
    std::uint64_t count = 0;
    std::string unit;
    double seconds = 0;
    bool passed = false;
    std::uint64_t seed = 0;

    /// False if the file cannot be written.
    [[nodiscard]] bool write(const std::string& file) const {
        std::ofstream out(file);
        out << "{\"rung\": \"" << rung << "\", \"name\": \"" << name << "\", \"what\": \"" << what
            << "\", \"count\": " << count << ", \"unit\": \"" << unit << "\", \"seconds\": " << seconds
            << ", \"result\": \"" << (passed ? "pass" : "fail") << "\", \"seed\": " << seed << "}\n";
        out.flush();
        if (!out) std::fprintf(stderr, "cannot write the report %s\n", file.c_str());
        return static_cast<bool>(out);
    }
};

/// The command line: `--name value` and `--name` alone. A mistake ends the process with status 2, `--help` with 0.
class rung_options {
public:
    rung_options(int argc, char** argv, std::string_view usage) : usage_(usage) {
        for (int i = 1; i < argc; ++i) given_.emplace_back(argv[i]);
        if (flag("--help") || flag("-h")) {
            std::fwrite(usage_.data(), 1, usage_.size(), stdout);
            std::exit(0);
        }
    }
    [[nodiscard]] bool flag(std::string_view name) {
        for (auto at = given_.begin(); at != given_.end(); ++at) {
            if (*at != name) continue;
            given_.erase(at);
            return true;
        }
        return false;
    }
    [[nodiscard]] std::string text(std::string_view name, std::string otherwise) {
        for (auto at = given_.begin(); at != given_.end(); ++at) {
            if (*at != name) continue;
            if (at + 1 == given_.end()) fail(std::string(name) + " needs a value");
            std::string value = *(at + 1);
            given_.erase(at, at + 2);
            return value;
        }
        return otherwise;
    }
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) {
        const std::string value = text(name, std::to_string(otherwise));
        std::uint64_t n = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
        if (error != std::errc() || end != value.data() + value.size())
            fail(std::string(name) + " needs a number, not '" + value + "'");
        return n;
    }
    /// After all options were asked for.
    void check() const {
        if (!given_.empty()) fail("unknown option '" + given_.front() + "'");
    }
    [[noreturn]] void fail(const std::string& why) const {
        std::fprintf(stderr, "%s\n%.*s", why.c_str(), static_cast<int>(usage_.size()), usage_.data());
        std::exit(2);
    }

private:
    std::string_view usage_;
    std::vector<std::string> given_;
};

}  // namespace coflux_test
