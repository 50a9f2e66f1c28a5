#include <coflux/io/backend.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "../../../src/io/uring/ring.hpp"
#include "connected.hpp"

namespace {

using coflux::io_backend;
using coflux::io_backend_in_use;

bool is_uring_forced() {
    const char* const forced = std::getenv("COFLUX_IO");
    return forced != nullptr && std::string_view(forced) == "uring";
}

/// From now on the system answers `error` to what would make an io_uring.
void refuse_io_uring(int error) {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        std::_Exit(2);
}

/// The back end of a further run of all these tests. Nothing is chosen yet.
class asked_for_in_environment : public testing::Environment {
    void SetUp() override {
        using namespace coflux::detail;
        // As the profile of a container does.
        if (std::getenv("COFLUX_TEST_REFUSES_IO_URING") != nullptr) refuse_io_uring(EPERM);
        // Where io_uring is forced and refused none of the tests can say anything.
        if (is_uring_forced() && ring::probe(ring_rung::deferred).error != 0)
            GTEST_SKIP() << "the system refuses io_uring";
    }
};
const auto* const registered = testing::AddGlobalTestEnvironment(new asked_for_in_environment);

coflux::task<int, coflux::worker_executor> echoes_one(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto p = co_await coflux_test::connected(here);
    std::byte one{};
    (void)co_await coflux::timeout(p.near.read_some(std::span(&one, 1)), std::chrono::milliseconds(1));
    co_await p.far.write_all("x");
    co_await p.near.read_exactly(std::span(&one, 1));
    co_return one == std::byte{'x'} ? 1 : 0;
}

class io_backend_death : public testing::Test {
protected:
    // In a process of its own, which has chosen nothing yet.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    static bool says(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
    [[noreturn]] static void end(bool right) { std::_Exit(right ? 7 : 1); }

    [[noreturn]] static void chooses_epoll_where_refused(int error) {
        unsetenv("COFLUX_IO");
        unsetenv("COFLUX_IO_RING");
        refuse_io_uring(error);
        const auto& used = io_backend_in_use();
        coflux::worker_executor on;
        auto env = coflux::make_environment(on);
        const bool works = echoes_one(env).get() == 1;
        const std::string why = "the system refuses io_uring: io_uring_setup: " + std::system_category().message(error);
        const bool tells_why = says(used.reason, why) && says(used.reason, "seccomp") == (error == EPERM);
        end(works && used.backend == io_backend::epoll && used.flags.empty() && tells_why);
    }
    [[noreturn]] static void forces_what_is_refused() {
        setenv("COFLUX_IO", "uring", 1);
        unsetenv("COFLUX_IO_RING");
        refuse_io_uring(EPERM);
        coflux::worker_executor on;
        auto env = coflux::make_environment(on);
        try {
            (void)echoes_one(env).get();
        } catch (const std::system_error& e) {
            end(e.code() == std::errc::operation_not_permitted && says(e.what(), "COFLUX_IO=uring") &&
                says(e.what(), "io_uring_setup: ") && says(e.what(), "seccomp"));
        }
        end(false);
    }
    [[noreturn]] static void forces_epoll() {
        setenv("COFLUX_IO", "epoll", 1);
        const auto& used = io_backend_in_use();
        end(used.backend == io_backend::epoll && says(used.reason, "COFLUX_IO=epoll"));
    }
    [[noreturn]] static void forces_nonsense() {
        setenv("COFLUX_IO", "kqueue", 1);
        try {
            (void)io_backend_in_use();
        } catch (const std::invalid_argument& e) {
            end(says(e.what(), "'kqueue'"));
        }
        end(false);
    }
};

TEST_F(io_backend_death, is_epoll_where_a_container_forbids_io_uring) {
    EXPECT_EXIT(chooses_epoll_where_refused(EPERM), testing::ExitedWithCode(7), "");
}
TEST_F(io_backend_death, is_epoll_where_the_kernel_has_no_io_uring) {
    EXPECT_EXIT(chooses_epoll_where_refused(ENOSYS), testing::ExitedWithCode(7), "");
}
TEST_F(io_backend_death, is_epoll_where_the_kernel_knows_no_set_up) {
    EXPECT_EXIT(chooses_epoll_where_refused(EINVAL), testing::ExitedWithCode(7), "");
}
TEST_F(io_backend_death, says_why_io_uring_cannot_be_forced) {
    EXPECT_EXIT(forces_what_is_refused(), testing::ExitedWithCode(7), "");
}
TEST_F(io_backend_death, is_epoll_where_that_is_forced) {
    EXPECT_EXIT(forces_epoll(), testing::ExitedWithCode(7), "");
}
TEST_F(io_backend_death, is_not_what_it_does_not_know) {
    EXPECT_EXIT(forces_nonsense(), testing::ExitedWithCode(7), "");
}

TEST(io_backend, says_what_it_is_and_why) {
    const auto& used = io_backend_in_use();
    EXPECT_EQ(&used, &io_backend_in_use());
    EXPECT_FALSE(used.reason.empty());
    EXPECT_EQ(used.backend == io_backend::uring, !used.flags.empty());
    if (is_uring_forced()) {
        EXPECT_EQ(used.backend, io_backend::uring);
    }
}

/// So that a run for an older set-up does not test the newest.
TEST(io_backend, has_the_set_up_that_the_environment_asks_for) {
    const char* const asked = std::getenv("COFLUX_IO_RING");
    const std::string_view rung = asked != nullptr ? asked : "";
    const auto& used = io_backend_in_use();
    if (used.backend != io_backend::uring) GTEST_SKIP() << "this process has no ring: " << used.reason;
    if (rung == "plain") {
        EXPECT_EQ(used.flags, "none");
    } else if (rung == "cooperative") {
        EXPECT_EQ(used.flags, "COOP_TASKRUN");
    } else {
        using namespace coflux::detail;
        EXPECT_EQ(used.flags, name_of(ring::probe(ring_rung::deferred).rung));
    }
}

}  // namespace
