// Failures of the test that the kit reports, caught so that a test can look at it.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include <coflux/testing/report.hpp>

namespace coflux_test {

/// While it lives, failures are kept here and fail nothing.
class reported_failures {
public:
    reported_failures() : before_(coflux::testing::use_test_framework({&keep, &has_failed})) {
        kept().clear();
        places().clear();
    }
    ~reported_failures() { coflux::testing::use_test_framework(before_); }
    reported_failures(const reported_failures&) = delete;
    reported_failures& operator=(const reported_failures&) = delete;

    [[nodiscard]] const std::vector<std::string>& messages() const noexcept { return kept(); }
    [[nodiscard]] const std::vector<std::uint_least32_t>& lines() const noexcept { return places(); }

private:
    static std::vector<std::string>& kept() {
        static std::vector<std::string> messages;
        return messages;
    }
    static std::vector<std::uint_least32_t>& places() {
        static std::vector<std::uint_least32_t> lines;
        return lines;
    }
    static void keep(const char* message, const std::source_location& where) {
        kept().emplace_back(message);
        places().push_back(where.line());
    }
    static bool has_failed() noexcept { return !kept().empty(); }

    coflux::testing::test_framework before_;
};

}  // namespace coflux_test
