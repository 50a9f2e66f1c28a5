#include <coflux/core/on_stop_request.hpp>

#include <atomic>
#include <coroutine>
#include <stdexcept>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/gate.hpp"
#include "support/iterations.hpp"
#include "support/left_await.hpp"

namespace {

using coflux_test::manual_executor;
using coflux_test::stage;
using noop = coflux::noop_executor;
using pool = coflux::thread_pool_executor;

/// A foreign operation: completes once, with a value, or as cancelled. Cancelling it before it begins counts, too.
class operation {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> h) noexcept {
        begun_ = true;
        void* none = nullptr;
        return state_.compare_exchange_strong(none, h.address());
    }
    int await_resume() const noexcept { return result_.load(); }

    void complete(int result) noexcept {
        int none = 0;
        if (!result_.compare_exchange_strong(none, result)) return;
        void* const waiting = state_.exchange(this);
        if (waiting != nullptr) std::coroutine_handle<>::from_address(waiting).resume();
    }
    [[nodiscard]] bool begun() const noexcept { return begun_; }

private:
    std::atomic<void*> state_{nullptr};
    std::atomic<int> result_{0};
    bool begun_ = false;
};

constexpr int cancelled = -1;

template <typename E>
coflux::fork<int, E> awaits(coflux::environment&, coflux::borrowed<operation> op, int* calls) {
    const int result = co_await coflux::on_stop_request(op.get(), [op, calls]() noexcept {
        ++*calls;
        op->complete(cancelled);
    });
    co_return result;
}

TEST(on_stop_request, calls_nothing_when_the_operation_completes_by_itself) {
    stage<manual_executor> s;
    operation op;
    int calls = 0;
    auto root = [](coflux::environment&, coflux::borrowed<operation> o, int* n) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        co_return co_await awaits<manual_executor>(here, o, n);
    }(s.env, coflux::borrowed(op), &calls);
    s.drive();
    op.complete(5);
    s.drive();
    EXPECT_EQ(root.get(), 5);
    EXPECT_EQ(calls, 0);
}

TEST(on_stop_request, tells_the_operation_whose_result_then_counts) {
    stage<manual_executor> s;
    operation op;
    int calls = 0;
    const auto root = [](coflux::environment&, coflux::borrowed<operation> o,
                         int* n) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = awaits<manual_executor>(here, o, n);
        co_await coflux::yield();
        f.request_stop();
        EXPECT_EQ(*n, 1);
        f.request_stop();
        EXPECT_EQ(*n, 1) << "once";
        co_return co_await std::move(f);
    };
    EXPECT_EQ(s.run(root(s.env, coflux::borrowed(op), &calls)), cancelled);
}

TEST(on_stop_request, is_a_stop_point_before_the_operation_begins) {
    stage<manual_executor> s;
    operation op;
    int calls = 0;
    auto root = [](coflux::environment&, coflux::borrowed<operation> o, int* n) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        co_return co_await awaits<manual_executor>(here, o, n);
    }(s.env, coflux::borrowed(op), &calls);
    s.env.request_stop();
    s.drive();
    EXPECT_THROW((void)root.get(), coflux::task_stopped);
    EXPECT_FALSE(op.begun());
    EXPECT_EQ(calls, 0);
}

TEST(on_stop_request, works_for_a_coroutine_without_an_executor) {
    stage<noop> s;
    operation op;
    int calls = 0;
    const auto root = [](coflux::environment&, coflux::borrowed<operation> o, int* n) -> coflux::task<int, noop> {
        auto&& here = co_await coflux::context();
        auto f = awaits<noop>(here, o, n);
        f.request_stop();
        co_return co_await std::move(f);
    };
    EXPECT_EQ(s.run(root(s.env, coflux::borrowed(op), &calls)), cancelled);
    EXPECT_EQ(calls, 1);
}

/// A foreign operation that cannot begin.
struct impossible {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("it cannot begin"); }
    void await_resume() const noexcept {}
};

TEST(on_stop_request, leaves_nothing_when_the_operation_cannot_begin) {
    stage<manual_executor> s;
    auto root = [](coflux::environment&) -> coflux::task<int, manual_executor> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&) -> coflux::fork<int, manual_executor> {
            auto&& mine = co_await coflux::context();
            const auto tries = [](coflux::environment&, int* failures) -> coflux::call<void> {
                impossible op;
                try {
                    co_await coflux::on_stop_request(op, []() noexcept {});
                } catch (const std::runtime_error&) {
                    ++*failures;
                }
            };
            int failures = 0;
            for (int i = 0; i < 2; ++i) co_await tries(mine, &failures);
            co_await coflux::yield();
            co_await coflux::yield();
            co_return failures;
        }(here);
        co_await coflux::yield();
        f.request_stop();  // a sanitizer sees it look at awaiters that are gone
        const auto o = co_await coflux::as_outcome(std::move(f));
        co_return o.is_stopped() ? 1 : 0;
    }(s.env);
    s.drive();
    EXPECT_EQ(root.get(), 1);
}

TEST(on_stop_request, calls_back_for_all_before_one_is_resumed_in_place) {
    stage<noop> s;
    operation first;
    operation second;
    coflux_test::gate g;
    int calls = 0;
    auto root = [](coflux::environment&, coflux::borrowed<operation> a, coflux::borrowed<operation> b,
                   coflux::borrowed<coflux_test::gate> go, int* n) -> coflux::task<int, noop> {
        auto&& here = co_await coflux::context();
        auto x = awaits<noop>(here, a, n);
        auto y = awaits<noop>(here, b, n);
        co_await go->wait();  // from here on a loop runs it
        x.request_stop();
        y.request_stop();
        co_return co_await std::move(x) + co_await std::move(y);
    }(s.env, coflux::borrowed(first), coflux::borrowed(second), coflux::borrowed(g), &calls);
    g.open();
    EXPECT_EQ(root.get(), 2 * cancelled);
    EXPECT_EQ(calls, 2);
}

TEST(on_stop_request, one_that_is_resumed_in_place_completes_another_that_is_stopped) {
    stage<noop> s;
    operation first;
    operation second;
    int calls = 0;
    const auto root = [](coflux::environment&, coflux::borrowed<operation> a, coflux::borrowed<operation> b,
                         int* n) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        auto x = awaits<noop>(sub, b, n);
        auto y = [](coflux::environment&, coflux::borrowed<operation> mine, coflux::borrowed<operation> other,
                    int* called) -> coflux::fork<void, noop> {
            (void)co_await coflux::on_stop_request(mine.get(), [p = &mine.get(), called]() noexcept {
                ++*called;
                p->complete(cancelled);
            });
            other->complete(7);
        }(sub, a, b, n);
        sub.request_stop();
        EXPECT_EQ(*n, 2);
        EXPECT_EQ(co_await std::move(x), cancelled);
        co_await std::move(y);
        co_await sub.join();
    };
    s.run(root(s.env, coflux::borrowed(first), coflux::borrowed(second), &calls));
}

TEST(on_stop_request, an_operation_that_completes_at_once_while_a_coroutine_waits_for_the_loop) {
    stage<noop> s;
    coflux_test::foreign_event event;
    coflux_test::gate g;
    auto root = [](coflux::environment&, coflux::borrowed<coflux_test::foreign_event> e,
                   coflux::borrowed<coflux_test::gate> go) -> coflux::task<int, noop> {
        struct at_once {
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<> h) const noexcept { h.resume(); }
            int await_resume() const noexcept { return 3; }
        };
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&, coflux::borrowed<coflux_test::foreign_event> in) -> coflux::fork<void, noop> {
            co_await in.get();
        }(here, e);
        co_await go->wait();
        e->set();
        at_once op;
        const int result = co_await coflux::on_stop_request(op, []() noexcept {});
        co_await std::move(f);
        co_return result;
    }(s.env, coflux::borrowed(event), coflux::borrowed(g));
    g.open();
    EXPECT_EQ(root.get(), 3);
}

// A sanitizer sees links that are used twice.
TEST(on_stop_request, one_that_was_stopped_does_not_touch_its_neighbours_in_the_record) {
    stage<manual_executor> s;
    operation op;
    coflux_test::gate g;
    const auto root = [](coflux::environment&, coflux::borrowed<operation> o,
                         coflux::borrowed<coflux_test::gate> in) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        // Published after the callee's wait, in the same record: that of the root.
        auto beside = [](coflux::environment&, coflux::borrowed<coflux::environment> of,
                         coflux::borrowed<coflux_test::gate> waits) -> coflux::fork<void, manual_executor> {
            const auto passes = [](coflux::environment&, coflux_test::gate& gate) -> coflux::call<void> {
                co_await gate.wait();
            };
            co_await passes(*of, *waits);
        }(here, coflux::borrowed(here), in);
        const auto callee = [](coflux::environment&, operation& waits, coflux_test::gate& other) -> coflux::call<void> {
            auto&& mine = co_await coflux::context();
            auto stopper = [](coflux::environment&, coflux::borrowed<coflux::environment> of,
                              coflux::borrowed<coflux_test::gate> opened) -> coflux::fork<void, manual_executor> {
                while (!opened->has_waiter()) co_await coflux::yield();
                opened->open();
                // The neighbour is queued before the callee, and has not taken itself out of the record.
                of->request_stop();
            }(mine, coflux::borrowed(mine), coflux::borrowed(other));
            (void)co_await coflux::on_stop_request(waits, [p = &waits]() noexcept { p->complete(cancelled); });
            co_await std::move(stopper);
        };
        const auto outcome = co_await coflux::as_outcome(callee(here, *o, *in));
        EXPECT_TRUE(outcome.has_value()) << "the operation completed, and nothing waited after it";
        co_await std::move(beside);
    };
    s.run(root(s.env, coflux::borrowed(op), coflux::borrowed(g)));
}

/// As awaits(), but that it never resumes from the await.
coflux::fork<int, pool> leaves(coflux::environment&, coflux::borrowed<operation> op, int* calls) {
    co_await coflux_test::left(coflux::on_stop_request(op.get(), [op, calls]() noexcept {
        ++*calls;
        op->complete(cancelled);
    }));
    co_return 0;
}

/// `f` makes a fork that awaits an operation, which a stop and a completion end at the same time.
void expect_to_meet_the_completion(coflux::fork<int, pool> (*makes)(coflux::environment&, coflux::borrowed<operation>,
                                                                    int*),
                                   bool fails) {
    stage<pool> s;
    const auto root = [](coflux::environment&, auto make, bool expected) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < coflux_test::repetitions(20'000); ++i) {
            operation op;
            int calls = 0;
            auto f = make(here, coflux::borrowed(op), &calls);
            auto completer = [](coflux::environment&, coflux::borrowed<operation> o) -> coflux::fork<void, pool> {
                o->complete(5);
                co_return;
            }(here, coflux::borrowed(op));
            f.request_stop();
            const auto o = co_await coflux::as_outcome(std::move(f));
            EXPECT_TRUE(o.has_error() == expected || o.is_stopped());
            co_await std::move(completer);
            EXPECT_LE(calls, 1);
        }
    };
    s.run(root(s.env, makes, fails));
}

TEST(on_stop_request, meets_the_completion_on_two_threads) {
    expect_to_meet_the_completion(&awaits<pool>, false);
}

TEST(on_stop_request, meets_the_completion_of_an_await_that_is_left) {
    if (!COFLUX_LATE_RESULTS) GTEST_SKIP() << "each await is resumed from";
    expect_to_meet_the_completion(&leaves, true);
}

}  // namespace
