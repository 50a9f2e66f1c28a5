// An error of accept(2) that lasts.
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

/// From now on accept4(2) of this thread answers `error`. False: the system allows no filter.
bool refuse_accept(int error) {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_accept4, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

coflux::task<std::error_code> accepts_one(coflux::environment&, coflux::tcp_listener* at) {
    const auto got = co_await coflux::as_result(at->accept());
    co_return got ? std::error_code() : got.error();
}

/// An accept that the system makes, and ends with the same error each time.
class ends_in_an_error : public coflux::detail::accept_awaiter {
public:
    using accept_awaiter::accept_awaiter;
    bool await_ready() noexcept {
        io_operation& op = *this;
        for (given_ = 1; given_ < 1000 && !op.take(-ENETDOWN); ++given_) {}
        return true;
    }
    int await_resume() {
        EXPECT_EQ(resume_with_result().error(), std::errc::network_down);
        return given_;
    }

private:
    int given_ = 0;
};
coflux::task<int> is_told_after(coflux::environment&, coflux::detail::descriptor_handle* on) {
    co_return co_await coflux::detail::request<ends_in_an_error, coflux::detail::descriptor_handle&>(*on);
}
TEST(accept_error, that_lasts_where_the_system_accepts_is_told_after_as_many_as_where_it_is_asked) {
    coflux::detail::descriptor_handle socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), {});
    auto env = coflux::make_environment();
    EXPECT_EQ(is_told_after(env, &socket).get(), 16);
}

TEST(accept_error, that_lasts_is_told_and_does_not_keep_the_thread) {
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    std::error_code code;
    bool filtered = false;
    std::thread thread([&] {
        filtered = refuse_accept(ENETDOWN);
        if (!filtered) return;
        auto env = coflux::make_environment();
        code = accepts_one(env, &listener).get();
    });
    thread.join();
    if (!filtered) GTEST_SKIP() << "the system allows no filter of calls";
    EXPECT_EQ(code, std::errc::network_down);
}

}  // namespace
