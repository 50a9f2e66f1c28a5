// A child of POSIX fork() and its copies of what waits in its parent.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <support/iterations.hpp>

#include "connected.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

/// Death tests in the fast style are what the tests are about: a fork() of this process that goes on in the child.
class forked_death : public testing::Test {
    void SetUp() override {
#if COFLUX_TEST_TSAN
        GTEST_SKIP() << "ThreadSanitizer ends a child that makes threads";
#endif
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

/// One of each kind that can be waited for.
struct things {
    std::atomic<bool> all_wait{false};
    coflux::pipe_ends pipe = coflux::make_pipe();
    coflux::tcp_listener listener{coflux_test::own_loopback()};
    coflux::udp_socket socket{coflux_test::own_loopback()};
    coflux::signal_set signals{SIGUSR2};
    coflux::process helper;
};

template <typename E>
coflux::fork<void, E> accepts(environment&, things* of) {
    (void)co_await coflux::timeout(of->listener.accept(), 1h);
}
template <typename E>
coflux::fork<void, E> receives(environment&, things* of) {
    std::string two(2, ' ');
    (void)co_await coflux::timeout(of->socket.receive(bytes_of(two)), 1h);
}
template <typename E>
coflux::fork<void, E> waits_for_a_signal(environment&, things* of) {
    (void)co_await of->signals.next();
}
template <typename E>
coflux::fork<void, E> waits_for_the_end(environment&, things* of) {
    (void)co_await of->helper.wait();
}
/// Until the pipe has given what it waits for.
template <typename E>
coflux::task<std::string, E> waits_for_all(environment&, things* all) {
    auto&& here = co_await coflux::context();
    all->helper = co_await coflux::process::spawn({"sleep", "1000"});
    auto inside = coflux::make_environment(here);
    auto first = accepts<E>(inside, all);
    auto second = receives<E>(inside, all);
    auto third = waits_for_a_signal<E>(inside, all);
    auto fourth = waits_for_the_end<E>(inside, all);
    std::string two(2, ' ');
    all->all_wait = true;
    co_await all->pipe.reader.read_exactly(bytes_of(two));
    inside.request_stop();
    co_await inside.join();
    co_return two;
}

/// The parent waits on an E while `in_child` runs in a child, which ends with 7.
template <typename E, typename F>
void waits_beside_a_child(E on, F in_child) {
    auto env = coflux::make_environment(on);
    std::optional<things> all(std::in_place);
    auto waiting = waits_for_all<E>(env, &*all);
    while (!all->all_wait) std::this_thread::yield();
    std::this_thread::sleep_for(5ms);  // the last one, too
    EXPECT_EXIT(in_child(all), testing::ExitedWithCode(7), "");
    EXPECT_EQ(write(all->pipe.writer.native_handle(), "ab", 2), 2);
    EXPECT_EQ(waiting.get(), "ab") << "the parent goes on";
}

TEST_F(forked_death, a_child_may_destroy_what_its_parent_waits_for) {
    const auto destroys = [](std::optional<things>& all) {
        all.reset();
        std::_Exit(7);
    };
    waits_beside_a_child(worker(), destroys);
    waits_beside_a_child(pool(2), destroys);
}

coflux::task<void, worker> uses(environment&, things* all) {
    std::string two(2, ' ');
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE((co_await coflux::timeout(all->pipe.reader.read_some(bytes_of(two)), 1ms)).has_value());
        EXPECT_FALSE((co_await coflux::timeout(all->listener.accept(), 1ms)).has_value());
        EXPECT_FALSE((co_await coflux::timeout(all->socket.receive(bytes_of(two)), 1ms)).has_value());
    }
}
TEST_F(forked_death, a_child_may_wait_for_the_same_on_a_worker_of_its_own) {
    const auto waits = [](std::optional<things>& all) {
        on_a_worker(uses, &*all);
        all.reset();
        std::_Exit(testing::Test::HasFailure() ? 1 : 7);
    };
    waits_beside_a_child(worker(), waits);
    waits_beside_a_child(pool(2), waits);
}

template <typename E>
coflux::task<int, E> sleeps(environment&) {
    co_await coflux::sleep_for(200ms);
    co_return 7;
}
TEST_F(forked_death, a_child_may_end_executors_that_coroutines_of_its_parent_sleep_on) {
    std::optional<worker> one(std::in_place);
    std::optional<coflux::shard_group> shards(std::in_place, 1U);
    std::optional<coflux::run_loop> loop(std::in_place);
    auto env = coflux::make_environment(*one, (*shards)[0], *loop);
    auto first = sleeps<worker>(env);
    auto second = sleeps<coflux::shard>(env);
    auto third = sleeps<coflux::run_loop>(env);
    (void)loop->poll();
    std::this_thread::sleep_for(5ms);  // the others sleep, too
    EXPECT_EXIT(
        {
            one.reset();
            shards.reset();
            loop.reset();
            std::_Exit(7);
        },
        testing::ExitedWithCode(7), "");
    EXPECT_EQ(first.get() + second.get(), 14) << "the parent's are as they were";
    while (!third.done()) (void)loop->run_one();
    EXPECT_EQ(third.get(), 7);
}

coflux::task<int, worker> gives_three(environment&) {
    co_return 3;
}
/// The name of a thread that is not there may be that of a new one.
TEST_F(forked_death, a_child_may_end_an_executor_of_its_parent_beside_one_of_its_own) {
    std::optional<worker> of_parent(std::in_place);
    EXPECT_EXIT(
        {
            std::optional<worker> own(std::in_place);
            auto env = coflux::make_environment(*own);
            const int three = gives_three(env).get();
            of_parent.reset();
            const int again = gives_three(env).get();
            own.reset();
            std::_Exit(three + again + 1);
        },
        testing::ExitedWithCode(7), "");
}

coflux::task<void, worker> forks_here(environment&, std::optional<worker>* of_parent) {
    EXPECT_EXIT(
        {
            of_parent->reset();
            std::_Exit(7);
        },
        testing::ExitedWithCode(7), "");
    co_return;
}
TEST_F(forked_death, a_child_of_a_worker_may_end_that_worker) {
    std::optional<worker> on(std::in_place);
    auto env = coflux::make_environment(*on);
    forks_here(env, &on).get();
}

TEST_F(forked_death, a_child_may_end_a_loop_that_its_parent_runs_and_not_run_it) {
    std::optional<coflux::run_loop> loop(std::in_place);
    std::thread runs([&] { (void)loop->run(); });
    auto env = coflux::make_environment(*loop);
    sleeps<coflux::run_loop>(env).get();  // it runs
    EXPECT_EXIT(
        {
            loop.reset();
            std::_Exit(7);
        },
        testing::ExitedWithCode(7), "");
    EXPECT_DEATH((void)loop->poll(), "a run_loop that was made before fork\\(\\) is run in the child");
    loop->stop();
    runs.join();
}

}  // namespace
