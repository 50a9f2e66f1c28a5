// The laws of mutexes: ours keeps them, and those that break one are found out.
#include <coflux/testing/conformance/mutex_suite.hpp>

#include <chrono>
#include <coroutine>
#include <deque>
#include <mutex>
#include <source_location>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "subjects.hpp"

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_mutex {

using coflux_test::fresh;

/// A semaphore of one is a mutex that is unlocked by hand.
class one_permit {
public:
    auto lock() noexcept { return permits_.acquire(); }
    bool try_lock() noexcept { return permits_.try_acquire(); }
    void unlock() noexcept { permits_.release(); }

private:
    coflux::semaphore permits_{1};
};

/// As it would be written without knowledge of Coflux. Its act when it is unlocked is a parameter.
enum class fault { none, last_first, forgets_one, lets_two_in };
template <fault Fault>
class foreign_mutex {
public:
    auto lock() noexcept {
        struct awaiter {
            foreign_mutex& of;
            bool await_ready() const noexcept { return false; }
            bool await_suspend(std::coroutine_handle<> h) {
                const std::lock_guard<std::mutex> guard(of.lock_);
                if (!of.taken_ || (Fault == fault::lets_two_in && of.waiters_.size() == 1)) {
                    of.taken_ = true;
                    return false;
                }
                of.waiters_.push_back(h);
                return true;
            }
            void await_resume() const noexcept {}
        };
        return awaiter{*this};
    }
    bool try_lock() noexcept {
        const std::lock_guard<std::mutex> guard(lock_);
        return !std::exchange(taken_, true);
    }
    void unlock() noexcept {
        std::coroutine_handle<> next;
        {
            const std::lock_guard<std::mutex> guard(lock_);
            if (Fault == fault::forgets_one && waiters_.size() == 2) waiters_.pop_front();
            if (waiters_.empty()) {
                taken_ = false;
                return;
            }
            if (Fault == fault::last_first) {
                next = waiters_.back();
                waiters_.pop_back();
            } else {
                next = waiters_.front();
                waiters_.pop_front();
            }
        }
        next.resume();
    }

private:
    std::mutex lock_;
    bool taken_ = false;
    std::deque<std::coroutine_handle<>> waiters_;
};

/// Runs its waiter in the unlock, as only code can that has the handle of the coroutine.
class impatient {
    struct awaiter {
        impatient& of;
        coflux::detail::promise_base& p;
        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<>) const {
            if (!std::exchange(of.taken_, true)) return false;
            (void)p.begin_suspend();
            p.clear_current();
            of.waiters_.push_back(p.handle());
            return true;
        }
        void await_resume() const noexcept { coflux::detail::this_thread.current = &p; }
    };
    struct request {
        impatient& of;
        awaiter await_in(coflux::detail::promise_base& p, std::source_location) const noexcept {
            return awaiter{of, p};
        }
    };

public:
    request lock() noexcept { return {*this}; }
    void unlock() noexcept {
        taken_ = !waiters_.empty();
        if (!taken_) return;
        const std::coroutine_handle<> next = waiters_.front();
        waiters_.pop_front();
        coflux::detail::run_aside(next);
    }

private:
    bool taken_ = false;
    std::deque<std::coroutine_handle<>> waiters_;
};

/// try_lock() says what it should not.
class too_kind : public one_permit {
public:
    bool try_lock() noexcept { return one_permit::try_lock() || true; }
};

}  // namespace conformance_of_mutex

namespace coflux::testing {

using namespace conformance_of_mutex;
using our_mutexes = ::testing::Types<fresh<mutex>, fresh<one_permit>, fresh<foreign_mutex<fault::none>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, mutex_conformance, our_mutexes);

}  // namespace coflux::testing

namespace conformance_of_mutex {

template <typename M>
std::string broken_by() {
    coflux::testing::conformance_options options;
    options.patience = std::chrono::milliseconds(50);
    options.many = 100;
    std::string laws;
    for (const auto& v : coflux::testing::check_mutex(fresh<M>{}, options)) laws += v.law + ' ';
    return laws;
}

TEST(mutex_laws, find_out_one_that_serves_the_last_first) {
    EXPECT_EQ(broken_by<foreign_mutex<fault::last_first>>(), "serves_in_the_order_of_asking ");
}
TEST(mutex_laws, find_out_one_that_forgets_a_waiter) {
    EXPECT_NE(broken_by<foreign_mutex<fault::forgets_one>>().find("lets_in_one_at_a_time"), std::string::npos);
}
TEST(mutex_laws, find_out_one_that_lets_two_in) {
    EXPECT_NE(broken_by<foreign_mutex<fault::lets_two_in>>().find("lets_in_one_at_a_time"), std::string::npos);
}
TEST(mutex_laws, find_out_one_that_runs_a_waiter_in_the_unlock_and_one_that_hears_no_stop) {
    EXPECT_EQ(broken_by<impatient>(), "runs_no_waiter_in_unlock forgets_a_stopped_waiter ");
}
TEST(mutex_laws, find_out_one_that_says_that_a_taken_lock_is_free) {
    EXPECT_EQ(broken_by<too_kind>(), "tries_truly tries_truly ");
}

}  // namespace conformance_of_mutex
