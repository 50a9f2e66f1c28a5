#include <coflux/testing/report.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace coflux::testing {
namespace {

test_framework in_use{nullptr, nullptr};  // written before tests run

}  // namespace

test_framework use_test_framework(test_framework framework) noexcept {
    return std::exchange(in_use, framework);
}

void report_failure(const std::string& message, std::source_location where) {
    if (in_use.fail != nullptr) return in_use.fail(message.c_str(), where);
    std::fprintf(stderr, "coflux: %s\n  at %s:%u\n", message.c_str(), where.file_name(),
                 static_cast<unsigned>(where.line()));
    std::fflush(stderr);
    std::abort();
}

bool test_has_failed() noexcept {
    return in_use.has_failed != nullptr && in_use.has_failed();
}

}  // namespace coflux::testing
