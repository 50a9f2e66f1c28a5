// The laws of executors: ours keep them, and those that break one are found out.
#include <coflux/testing/conformance/executor_suite.hpp>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/manual_executor.hpp>

#include "subjects.hpp"
#include "support/executors.hpp"

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_executor {

using coflux::testing::check_executor;
using coflux::testing::conformance_options;
using coflux::testing::manual_executor;
using coflux_test::fresh;
using coflux_test::simulated;

/// As examples/08_custom_executor.cpp: a loop that its owner runs.
class main_loop {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            queue_.push_back(h);
        }
        changed_.notify_one();
    }
    void run_all() {
        for (;;) {
            std::unique_lock<std::mutex> guard(lock_);
            if (queue_.empty()) return;
            const std::coroutine_handle<> next = queue_.front();
            queue_.pop_front();
            guard.unlock();
            next.resume();
        }
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> queue_;
};

struct pool_of_one {
    coflux::thread_pool_executor operator()() const { return coflux::thread_pool_executor(1); }
};
struct pool_of_three {
    coflux::thread_pool_executor operator()() const { return coflux::thread_pool_executor(3); }
};

}  // namespace conformance_of_executor

namespace coflux::testing {

using namespace conformance_of_executor;
using our_executors = ::testing::Types<pool_of_one, pool_of_three, fresh<manual_executor>, fresh<main_loop>,
                                       fresh<coflux_test::thread_executor>, fresh<simulated>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, executor_conformance, our_executors);

using our_priorities = ::testing::Types<fresh<coflux_test::priority_of_pool<coflux::priority::high>>,
                                        fresh<coflux_test::priority_of_pool<coflux::priority::low>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(priorities, executor_conformance, our_priorities);

using our_serial_executors = ::testing::Types<
    fresh<coflux::worker_executor>, fresh<coflux_test::worker_of_group>, fresh<coflux_test::driven_loop>,
    fresh<coflux_test::strand_of_pool>, fresh<coflux_test::strand_of_priority>, fresh<coflux_test::strand_of_strand>,
    fresh<coflux_test::strand_of_worker>, fresh<coflux_test::strand_of_loop>, fresh<coflux_test::strand_of_simulated>>;
INSTANTIATE_TYPED_TEST_SUITE_P(serial, executor_conformance, our_serial_executors);

}  // namespace coflux::testing

namespace conformance_of_executor {

/// Breaks one law each.
class inside_the_call {
public:
    void execute(std::coroutine_handle<> h) noexcept { h.resume(); }
    void run_all() {}
};
class on_the_stack : public manual_executor {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        // From within a coroutine: on a stack above that of that one, though not inside this call for long.
        manual_executor::execute(h);
        if (coflux::testing::detail::on_this_stack::here().resumed != 0) {
            const int calls = std::exchange(coflux::testing::detail::on_this_stack::here().in_execute, 0);
            run_all();
            coflux::testing::detail::on_this_stack::here().in_execute = calls;
        }
    }
};
class forgetful : public manual_executor {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        if (calls_.fetch_add(1) % 7 != 6) manual_executor::execute(h);
    }

private:
    std::atomic<int> calls_{0};
};
class twice : public manual_executor {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        manual_executor::execute(h);
        if (calls_.fetch_add(1) % 7 == 6) manual_executor::execute(h);
    }

private:
    std::atomic<int> calls_{0};
};
/// Drops what is queued when it dies.
class hasty_end {
public:
    hasty_end() : thread_([this] { serve(); }) {}
    ~hasty_end() {
        {
            const std::lock_guard<std::mutex> guard(lock_);
            ends_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    void execute(std::coroutine_handle<> h) noexcept {
        const std::lock_guard<std::mutex> guard(lock_);
        queue_.push_back(h);
        changed_.notify_one();
    }

private:
    void serve() {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            changed_.wait(guard, [this] { return ends_ || !queue_.empty(); });
            if (ends_) return;
            const std::coroutine_handle<> next = queue_.front();
            queue_.pop_front();
            guard.unlock();
            next.resume();
            guard.lock();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> queue_;
    bool ends_ = false;
    std::thread thread_;
};
/// All of them say that they are the same.
class all_alike : public manual_executor {
public:
    const void* identity() const noexcept { return nullptr; }
};
/// Loses each handle that another thread gives it.
class deaf : public manual_executor {
public:
    void execute(std::coroutine_handle<> h) noexcept {
        if (std::this_thread::get_id() == owner_) manual_executor::execute(h);
    }

private:
    std::thread::id owner_ = std::this_thread::get_id();
};

/// The laws that `Subject` breaks.
template <typename Subject>
std::string broken_by() {
    conformance_options options;
    options.patience = std::chrono::milliseconds(50);
    options.many = 300;
    options.rounds = 20;
    std::string laws;
    for (const auto& v : check_executor(fresh<Subject>{}, options)) laws += v.law + ' ';
    return laws;
}

TEST(executor_laws, find_out_one_that_resumes_inside_the_call) {
    EXPECT_NE(broken_by<inside_the_call>().find("resumes_later_and_from_a_plain_stack"), std::string::npos);
}
TEST(executor_laws, find_out_one_that_resumes_on_the_stack_of_a_coroutine) {
    EXPECT_EQ(broken_by<on_the_stack>(), "resumes_later_and_from_a_plain_stack ");
}
TEST(executor_laws, find_out_one_that_loses_handles) {
    EXPECT_NE(broken_by<forgetful>().find("resumes_each_handle_once"), std::string::npos);
}
TEST(executor_laws, find_out_one_that_resumes_twice) {
    EXPECT_NE(broken_by<twice>().find("resumes_each_handle_once"), std::string::npos);
}
TEST(executor_laws, find_out_one_that_drops_what_is_queued_when_it_dies) {
    EXPECT_EQ(broken_by<hasty_end>(), "resumes_what_is_queued_when_it_dies ");
}
TEST(executor_laws, find_out_one_that_cannot_be_distinguished) {
    EXPECT_EQ(broken_by<all_alike>(), "is_told_apart_from_another ");
}
TEST(executor_laws, find_out_one_that_hears_one_thread_only) {
    EXPECT_EQ(broken_by<deaf>(), "takes_handles_from_many_threads ");
}

}  // namespace conformance_of_executor
