#include <coflux/inspect/dump_on_signal.hpp>

#include <atomic>
#include <csignal>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using on_signal = coflux::inspect::dump_on_signal;
using pool = coflux::thread_pool_executor;

class dump_on_signal : public ::testing::Test {
protected:
    dump_on_signal() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
    ~dump_on_signal() override {
        close(ends[0]);
        close(ends[1]);
    }

    /// Until there is `wanted` in it. The test's own limit ends a wait that is in vain.
    void read_until(const std::string& wanted) {
        char piece[4096];
        while (text.find(wanted) == std::string::npos) {
            const ssize_t got = read(ends[0], piece, sizeof piece);
            ASSERT_GT(got, 0);
            text.append(piece, static_cast<std::size_t>(got));
        }
        text.erase(0, text.find(wanted) + wanted.size());
    }
    bool is_empty() {
        pollfd one{ends[0], POLLIN, 0};
        return poll(&one, 1, 0) == 0;
    }

    int ends[2] = {-1, -1};
    std::string text;
};

TEST_F(dump_on_signal, writes_one_each_time) {
    const on_signal on_user(SIGUSR1, ends[1]);
    EXPECT_TRUE(is_empty());
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(raise(SIGUSR1), 0);
        read_until("coflux: ");
        read_until("coroutine");
    }
}

coflux::task<void, pool> blocks_its_worker(coflux::environment&, std::atomic<bool>* begun, std::atomic<bool>* may_end) {
    *begun = true;
    while (!*may_end) usleep(100);
    co_return;
}

TEST_F(dump_on_signal, writes_one_while_all_workers_are_stuck) {
    pool one(1);
    auto env = coflux::make_environment(one);
    std::atomic<bool> begun{false}, may_end{false};
    auto root = blocks_its_worker(env, &begun, &may_end);
    while (!begun) usleep(100);
    {
        const on_signal on_user(SIGUSR1, ends[1], {.format = coflux::inspect::format::tree});
        ASSERT_EQ(raise(SIGUSR1), 0);
        read_until("coflux: ");
    }
    may_end = true;
    root.get();
}

TEST_F(dump_on_signal, gives_the_signal_back) {
    static std::atomic<int> seen{0};
    struct sigaction mine = {}, before = {};
    mine.sa_handler = [](int) { ++seen; };
    ASSERT_EQ(sigaction(SIGUSR2, &mine, &before), 0);
    { const on_signal on_user(SIGUSR2, ends[1]); }
    raise(SIGUSR2);
    EXPECT_EQ(seen, 1);
    EXPECT_TRUE(is_empty());
    sigaction(SIGUSR2, &before, nullptr);
}

TEST_F(dump_on_signal, is_refused_where_it_cannot_be) {
    const on_signal first(SIGUSR1, ends[1]);
    try {
        const on_signal second(SIGUSR1, ends[1]);
        FAIL() << "two of one signal";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::device_or_resource_busy);
        EXPECT_NE(std::string(e.what()).find("coflux: dump_on_signal: signal 10"), std::string::npos) << e.what();
    }
    for (const int wrong : {SIGKILL, SIGSEGV, 0, -1, 1000})
        EXPECT_THROW(on_signal(wrong, ends[1]), std::system_error) << wrong;
}

}  // namespace
