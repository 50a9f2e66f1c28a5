// GoogleTest for the kit: its failures are GoogleTest's, and the body of a test may be a coroutine, under many
// schedules.
#pragma once

#include <source_location>
#include <string>
#include <type_traits>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <coflux/core/environment.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/testing/conformance/violation.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/manual_executor.hpp>
#include <coflux/testing/report.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux::testing {
namespace detail {

inline void fail_in_gtest(const char* message, const std::source_location& where) {
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << message;
}
inline bool gtest_has_failed() noexcept {
    return ::testing::Test::HasFailure();
}
[[maybe_unused]] inline const bool gtest_is_used = (use_test_framework({&fail_in_gtest, &gtest_has_failed}), true);

/// While it lives, what fails on this thread is kept in `failures` and fails nothing.
class failures_of_a_run {
public:
    explicit failures_of_a_run(std::string& failures)
        : failures_(failures),
          intercept_(::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results_) {
        failures_.clear();
    }
    failures_of_a_run(const failures_of_a_run&) = delete;
    failures_of_a_run& operator=(const failures_of_a_run&) = delete;
    ~failures_of_a_run() {
        for (int i = 0; i < results_.size(); ++i) {
            const ::testing::TestPartResult& r = results_.GetTestPartResult(i);
            if (!r.failed()) continue;
            if (!failures_.empty()) failures_ += '\n';
            if (r.file_name() != nullptr)
                failures_ += std::string(r.file_name()) + ':' + std::to_string(r.line_number()) + ": ";
            failures_ += r.message();
        }
    }

private:
    std::string& failures_;
    ::testing::TestPartResultArray results_;
    ::testing::ScopedFakeTestPartResultReporter intercept_;  // dies first
};

}  // namespace detail

/// Fails the running test with each violation.
inline void expect_none(const violations& found, std::source_location where = std::source_location::current()) {
    if (!found.empty()) report_failure("broken laws:\n" + to_string(found), where);
}

/// Runs a test's body in one simulation after the other, each with another schedule (explore.hpp). A schedule in which
/// a check fails, or something is thrown, or nothing goes on, is made small; the test then fails with what failed in
/// it, and how to replay it.
inline void run_test_body(task<void, sim_executor> (*body)(environment&), explore_options options = {},
                          std::source_location where = std::source_location::current()) {
    std::string failures;
    options.verdict = [&] { return failures; };
    const exploration result = explore(options, [&](simulation& in) {
        const detail::failures_of_a_run kept(failures);
        sim_executor on(in);
        auto env = make_environment(on);
        body(env).get();
    });
    if (!result.ok()) report_failure(result.report(), where);
}
/// Runs a test's body once, on an executor of type `E`.
template <executor E>
void run_test_body(task<void, E> (*body)(environment&)) {
    E on;
    auto env = make_environment(on);
    if constexpr (std::is_same_v<E, manual_executor>) {
        on.run(body(env));
    } else {
        body(env).get();
    }
}

}  // namespace coflux::testing

/// A test whose body is a coroutine on `executor`, run once: `CO_TEST_ON(cache, fills, coflux::thread_pool_executor) {
/// … }`.
#define CO_TEST_ON(suite, name, executor)                                                      \
    static coflux::task<void, executor> coflux_body_of_##suite##_##name(coflux::environment&); \
    TEST(suite, name) {                                                                        \
        coflux::testing::run_test_body(&coflux_body_of_##suite##_##name);                      \
    }                                                                                          \
    static coflux::task<void, executor> coflux_body_of_##suite##_##name(coflux::environment&)

/// A test whose body is a coroutine in a simulation, run under many schedules: `CO_TEST(cache, fills) { … }`.
///
/// Its environment is `co_await coflux::context()`, its executor coflux::testing::sim_executor, its time virtual.
/// EXPECT_… checks as ever; ASSERT_… does not compile in a coroutine: CO_ASSERT_… is for that.
/// The first run is FIFO, the later ones have seeds; COFLUX_RUNS=n says how many (200), COFLUX_SEED=n and
/// COFLUX_SCHEDULE=… make one.
#define CO_TEST(suite, name) CO_TEST_ON(suite, name, coflux::testing::sim_executor)

#define COFLUX_CO_ASSERT(result)                                     \
    GTEST_AMBIGUOUS_ELSE_BLOCKER_                                    \
    if (const ::testing::AssertionResult coflux_result = (result)) { \
    } else                                                           \
        co_return GTEST_MESSAGE_(coflux_result.failure_message(), ::testing::TestPartResult::kFatalFailure)

/// Ends a coroutine of type void with a failure of the test unless the check holds; a message may follow by `<<`.
#define CO_ASSERT_TRUE(condition)                                                  \
    COFLUX_CO_ASSERT(static_cast<bool>(condition) ? ::testing::AssertionSuccess()  \
                                                  : ::testing::AssertionFailure()  \
                                                        << "Value of: " #condition \
                                                           "\n  Actual: false\nExpected: true")
#define CO_ASSERT_FALSE(condition)                                                  \
    COFLUX_CO_ASSERT(!static_cast<bool>(condition) ? ::testing::AssertionSuccess()  \
                                                   : ::testing::AssertionFailure()  \
                                                         << "Value of: " #condition \
                                                            "\n  Actual: true\nExpected: false")
#define CO_ASSERT_EQ(a, b) COFLUX_CO_ASSERT(::testing::internal::EqHelper::Compare(#a, #b, a, b))
#define CO_ASSERT_NE(a, b) COFLUX_CO_ASSERT(::testing::internal::CmpHelperNE(#a, #b, a, b))
#define CO_ASSERT_LT(a, b) COFLUX_CO_ASSERT(::testing::internal::CmpHelperLT(#a, #b, a, b))
#define CO_ASSERT_LE(a, b) COFLUX_CO_ASSERT(::testing::internal::CmpHelperLE(#a, #b, a, b))
#define CO_ASSERT_GT(a, b) COFLUX_CO_ASSERT(::testing::internal::CmpHelperGT(#a, #b, a, b))
#define CO_ASSERT_GE(a, b) COFLUX_CO_ASSERT(::testing::internal::CmpHelperGE(#a, #b, a, b))
