// Operations that need a thread of a blocking pool, where the process cannot have one.
#include <cstdlib>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/address_limit.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"

namespace {

using coflux::as_result;
using coflux::environment;
using worker = coflux::worker_executor;

coflux::task<int, worker> asks_for_results(environment&, coflux::borrowed<coflux::blocking_pool> none) {
    const auto opened = co_await as_result(coflux::file::open("/dev/null", {.pool = &*none}));
    if (opened || opened.error() != std::errc::resource_unavailable_try_again) co_return 1;
    const auto started = co_await as_result(coflux::process::spawn({"true"}, {.pool = &*none}));
    if (started || started.error() != std::errc::resource_unavailable_try_again) co_return 2;
    try {
        (void)co_await coflux::file::open("/dev/null", {.pool = &*none});
        co_return 3;
    } catch (const std::system_error& e) {
        if (std::string(e.what()).find("has no thread, and cannot have one") == std::string::npos) co_return 4;
    }
    if (none->counters().threads != 0) co_return 5;
    coflux_test::lift_the_limit();
    const auto after = co_await as_result(coflux::file::open("/dev/null", {.pool = &*none}));
    co_return after ? 0 : 6;
}

[[noreturn]] void has_no_thread() {
    coflux_test::die_rather_than_hang();
    worker one;
    auto env = coflux::make_environment(one);
    coflux::blocking_pool none({.name = "none"});
    coflux_test::limit_addresses_to(coflux_test::less_than_a_stack);
    std::exit(asks_for_results(env, coflux::borrowed(none)).get());
}
TEST(no_thread, is_the_error_in_the_result_of_a_file_and_of_a_process) {
    if (coflux_test::sanitized) GTEST_SKIP() << "a sanitizer needs the addresses";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(has_no_thread(), testing::ExitedWithCode(0), "");
}

}  // namespace
