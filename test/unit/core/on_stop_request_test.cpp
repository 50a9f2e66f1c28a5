#include <coflux/core/on_stop_request.hpp>

#include <atomic>
#include <coroutine>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/iterations.hpp"

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

TEST(on_stop_request, meets_the_completion_on_two_threads) {
    stage<pool> s;
    const auto root = [](coflux::environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        for (std::size_t i = 0; i < coflux_test::repetitions(20'000); ++i) {
            operation op;
            int calls = 0;
            auto f = awaits<pool>(here, coflux::borrowed(op), &calls);
            auto completer = [](coflux::environment&, coflux::borrowed<operation> o) -> coflux::fork<void, pool> {
                o->complete(5);
                co_return;
            }(here, coflux::borrowed(op));
            f.request_stop();
            const auto o = co_await coflux::as_outcome(std::move(f));
            EXPECT_FALSE(o.has_error());
            co_await std::move(completer);
            EXPECT_LE(calls, 1);
        }
    };
    s.run(root(s.env));
}

}  // namespace
