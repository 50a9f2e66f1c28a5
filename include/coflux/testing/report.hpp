// Where the kit says that a test has failed: it knows no test framework, and asks the one that registered.
#pragma once

#include <source_location>
#include <string>

namespace coflux::testing {

/// The kit's needs of a test framework. `<coflux/testing/gtest.hpp>` registers GoogleTest.
struct test_framework {
    /// Records a failure of the running test and returns.
    void (*fail)(const char* message, const std::source_location& where);
    /// True if a check of the running test has failed so far.
    bool (*has_failed)() noexcept;
};

/// Registers a framework and returns the one before. Without one, and with members that are nullptr, a failure is
/// printed to stderr and ends the process.
///
/// Threads: any, before tests run.
test_framework use_test_framework(test_framework framework) noexcept;

/// Says that the running test has failed, and where.
void report_failure(const std::string& message, std::source_location where = std::source_location::current());

/// True if the framework has recorded a failure of the running test.
[[nodiscard]] bool test_has_failed() noexcept;

}  // namespace coflux::testing
