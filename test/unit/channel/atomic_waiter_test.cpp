#include <coflux/channel/detail/atomic_waiter.hpp>

#include <coroutine>
#include <cstdint>
#include <source_location>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::detail::promise_base;
using coflux_test::manual_executor;
using coflux_test::stage;

/// Waits while the word is 0, with something that happens after the wait was published and before it begins.
struct one_word {
    static constexpr std::uintptr_t idle = 0;
    static constexpr std::uintptr_t waiting = 1;
    static constexpr std::uintptr_t marked = 2;
    static constexpr std::uintptr_t changed = 4;

    coflux::detail::atomic<std::uintptr_t> word{idle};
    std::uintptr_t after_publication = idle;
    bool stops = false;
    bool changes = false;

    class [[nodiscard]] awaiter : coflux::detail::atomic_waiter {
    public:
        awaiter(promise_base& p, one_word& of) noexcept : atomic_waiter(p), of_(of) {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
            use_word(of_.word, idle, waiting);
            return coflux::detail::wait_by(*this, [this]() noexcept {
                if (of_.stops) coroutine().request_stop();
                of_.after_publication = of_.word.load();
                if (of_.changes) of_.word.store(changed);
                return enter();
            });
        }
        void await_resume() noexcept { resumed(); }

    private:
        one_word& of_;
    };
    awaiter await_in(promise_base& p, std::source_location) noexcept { return awaiter(p, *this); }
};

coflux::task<void, manual_executor> waits(coflux::environment&, borrowed<one_word> w) {
    co_await *w;
}

TEST(atomic_waiter, leaves_the_operation_in_the_word_and_suspends) {
    stage<manual_executor> s;
    one_word w;
    auto t = waits(s.env, borrowed(w));
    s.drive();
    EXPECT_FALSE(t.done());
    EXPECT_EQ(w.word.load(), one_word::waiting);
    t.request_stop();
    EXPECT_EQ(w.word.load(), one_word::idle) << "the stop takes the wait";
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(atomic_waiter, marks_the_word_where_a_stop_comes_before_the_wait_and_then_stops) {
    stage<manual_executor> s;
    one_word w;
    w.stops = true;
    auto t = waits(s.env, borrowed(w));
    s.drive();
    EXPECT_EQ(w.after_publication, one_word::marked);
    ASSERT_TRUE(t.done());
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(atomic_waiter, takes_a_mark_that_another_wait_left_for_nothing) {
    stage<manual_executor> s;
    one_word w;
    w.word.store(one_word::marked);
    auto t = waits(s.env, borrowed(w));
    s.drive();
    EXPECT_FALSE(t.done());
    EXPECT_EQ(w.word.load(), one_word::waiting);
    t.request_stop();
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
}

TEST(atomic_waiter, does_not_wait_where_the_word_has_changed) {
    stage<manual_executor> s;
    one_word w;
    w.changes = true;
    auto t = waits(s.env, borrowed(w));
    s.drive();
    ASSERT_TRUE(t.done());
    t.get();
    EXPECT_EQ(w.word.load(), one_word::changed);
}

}  // namespace
