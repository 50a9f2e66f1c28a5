// The error of a look-up: the answer of the resolver is one thing, a lack of the system another.
#include <coflux/io/resolver.hpp>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <netdb.h>
#include <sys/syscall.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../../../src/os/net/name_lookup.hpp"
#include "support/forbidden_calls.hpp"
#include "support/no_hang.hpp"

namespace {

using coflux::resolver_errc;
using coflux::detail::os::error_of_lookup;
using coflux_test::forbidden_call;
using worker = coflux::worker_executor;

TEST(resolver_errors, have_a_number_for_an_error_of_the_system_without_one) {
    EXPECT_EQ(error_of_lookup(EAI_SYSTEM, EACCES).of_system, EACCES);
    EXPECT_EQ(error_of_lookup(EAI_SYSTEM, 0).of_system, EIO);
}

TEST(resolver_errors, are_of_the_system_where_it_lacked_something_whatever_the_resolver_says) {
    for (const int code : {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM}) {
        for (const int lack : {EMFILE, ENFILE, ENOMEM, ENOBUFS}) EXPECT_EQ(error_of_lookup(code, lack).of_system, lack);
    }
}

TEST(resolver_errors, are_of_the_resolver_where_a_step_on_its_way_failed) {
    for (const int code : {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_MEMORY}) {
        for (const int left_behind : {0, ENOENT, EAGAIN, ECONNREFUSED, ENETUNREACH}) {
            EXPECT_EQ(error_of_lookup(code, left_behind).of_system, 0);
            EXPECT_EQ(error_of_lookup(code, left_behind).code, code);
        }
    }
    using coflux::resolver_category;
    EXPECT_EQ(std::error_code(EAI_NONAME, resolver_category()), resolver_errc::not_found);
    EXPECT_EQ(std::error_code(EAI_AGAIN, resolver_category()), resolver_errc::try_again);
    EXPECT_EQ(std::error_code(EAI_MEMORY, resolver_category()), std::errc::not_enough_memory);
}

/// The error of the first look-up of its process, where these calls fail.
coflux::task<std::error_code, worker> looks_up_without(coflux::environment&, std::vector<forbidden_call> calls) {
    auto&& here = co_await coflux::context();
    coflux::resolver names;
    for (const forbidden_call& c : calls) coflux_test::forbid(c);  // also on the thread that looks up
    try {
        (void)co_await names.resolve(here, "localhost", 80);
    } catch (const std::system_error& e) {
        co_return e.code();
    }
    co_return std::error_code();
}
/// Exits with 7 where it says so, and not that there is no such host.
[[noreturn]] void looks_up(const std::vector<forbidden_call>& without, std::errc expected) {
    coflux_test::die_rather_than_hang();
    worker on;
    auto env = coflux::make_environment(on);
    const std::error_code told = looks_up_without(env, without).get();
    if (!told) std::_Exit(1);
    if (told == resolver_errc::not_found || told == resolver_errc::try_again) std::_Exit(2);
    std::_Exit(told == expected ? 7 : 3);
}

class resolver_errors_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// glibc says EAI_NONAME then: it could not read how names are looked up.
TEST_F(resolver_errors_death, of_a_process_without_descriptors_are_no_answer_about_the_host) {
    EXPECT_EXIT(looks_up({{SYS_openat, EMFILE}, {SYS_socket, EMFILE}}, std::errc::too_many_files_open),
                testing::ExitedWithCode(7), "");
    EXPECT_EXIT(looks_up({{SYS_openat, ENFILE}, {SYS_socket, ENFILE}}, std::errc::too_many_files_open_in_system),
                testing::ExitedWithCode(7), "");
}
TEST_F(resolver_errors_death, of_a_process_without_a_thread_are_no_answer_about_the_host) {
    EXPECT_EXIT(looks_up({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}}, std::errc::resource_unavailable_try_again),
                testing::ExitedWithCode(7), "");
}

}  // namespace
